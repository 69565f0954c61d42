package runner

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cabra-run/results"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
)

// deadConn is a model connection that has ended.
type deadConn struct{ net.Listener }

func (deadConn) Err() error { return io.EOF }

func (deadConn) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// hangingEngine never answers before the caller's deadline.
type hangingEngine struct{ sandbox.Engine }

func (hangingEngine) Info(ctx context.Context) (sandbox.Info, error) {
	<-ctx.Done()
	return sandbox.Info{}, ctx.Err()
}

// goodEngine is there.
type goodEngine struct{ sandbox.Engine }

func (goodEngine) Info(context.Context) (sandbox.Info, error) { return sandbox.Info{}, nil }

// deadBox is a box whose PID 1 has crashed; reading its files hangs.
type deadBox struct{ sandbox.Box }

func (deadBox) Kill(context.Context) error                 { return nil }
func (deadBox) Wait(context.Context) (sandbox.Exit, error) { return sandbox.Exit{Code: 2}, nil }

func (deadBox) Collect(ctx context.Context, _ *os.Root, _ sandbox.CollectLimits) (sandbox.Collection, error) {
	<-ctx.Done()
	return sandbox.Collection{}, ctx.Err()
}

// An engine that lets a deadline of ours pass is a fault of the engine; only
// the end of the sweep itself makes an attempt a cancelled one.
func TestDeadlineIsNoCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &attempt{sweep: &Sweep{Engine: hangingEngine{}}, conn: deadConn{}}
		a.connectionLost(t.Context())
		if j := judge(a.evidence); j.Outcome != results.InfraError {
			t.Errorf("the engine hangs: %+v", j)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		store, err := results.Create(t.TempDir(), results.Lock{Run: "toy"})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		a := &attempt{sweep: &Sweep{}, box: deadBox{}}
		if a.art, err = store.BeginArtefacts("k", 1); err != nil {
			t.Fatal(err)
		}
		defer a.art.Discard()
		a.collect(t.Context())
		if j := judge(a.evidence); j.Outcome != results.InfraError {
			t.Errorf("collecting hangs: %+v", j)
		}
	})
}

// When PID 1 dies, the end of the agent's program may be seen before that of
// the connection. It is the agent's class limit all the same.
func TestAgentEndSeenBeforeBoxEnd(t *testing.T) {
	exited := make(chan struct{})
	close(exited)
	a := &attempt{sweep: &Sweep{Engine: goodEngine{}}, conn: deadConn{}, box: deadBox{},
		exited: exited, exit: procEnd{code: 137}, started: time.Now()}
	a.ended(t.Context())
	a.end(t.Context())
	if j := judge(a.evidence); j.Outcome != results.Limit || j.LimitHit != LimitProtocol {
		t.Errorf("%+v", j)
	}
}

func TestGaveUp(t *testing.T) {
	server := &gateway.ProviderFailure{Kind: gateway.FailureServer, Status: 500}
	tests := []struct {
		name string
		s    gateway.Stats
		want bool
	}{
		{"nothing failed", gateway.Stats{Answers: 3}, false},
		{"budget used up", gateway.Stats{Exhausted: 1, LastError: server}, true},
		{"a request beside it was answered since", gateway.Stats{Exhausted: 1, Answers: 1}, false},
		{"a refused request after that", gateway.Stats{Exhausted: 1, Answers: 1,
			LastError: &gateway.ProviderFailure{Kind: gateway.FailureRequest, Status: 400, Permanent: true}}, false},
		{"scripted failures are meant for the agent", gateway.Stats{Exhausted: 1, LastError: server, Scripted: true}, false},
	}
	for _, tt := range tests {
		if got := gaveUp(tt.s); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// A request that is refused after others were answered is the agent's; without
// any answer the way we ask is wrong, which pauses the sweep in the end.
func TestRefusedRequest(t *testing.T) {
	refused := &gateway.ProviderFailure{Kind: gateway.FailureRequest, Status: 400, Message: "too long", Permanent: true}
	cut := &gateway.ProviderFailure{Kind: gateway.FailureCut, Message: "broke off"}
	for _, tt := range []struct {
		name   string
		s      gateway.Stats
		blamed bool // on the provider
	}{
		{"refused at once", gateway.Stats{LastError: refused}, true},
		{"refused after an answer", gateway.Stats{LastError: refused, Answers: 1}, false},
		{"cut after an answer", gateway.Stats{LastError: cut, Answers: 1}, true},
		{"no failure", gateway.Stats{Answers: 1}, false},
	} {
		a := &attempt{}
		a.failed(tt.s)
		if (a.evidence.Failure != nil) != tt.blamed {
			t.Errorf("%s: %v", tt.name, a.evidence.Failure)
		}
	}
}

// A request that was not sent because it could not be booked is our failure, not
// the provider's.
func TestUnbookedRequest(t *testing.T) {
	a := &attempt{}
	a.failed(gateway.Stats{StoreErr: errors.New("disk full"),
		LastError: &gateway.ProviderFailure{Kind: gateway.FailureTransport, Permanent: true, Message: "not sent"}})
	if j := judge(a.evidence); j.Outcome != results.InfraError || !strings.Contains(j.Reason, "disk full") {
		t.Errorf("%+v", j)
	}
}

// Comparing takes many times the memory of the texts, which an agent chooses.
func TestPatchOfHugeCode(t *testing.T) {
	starter := tasks.Files{"solution.py": "a = 1\n", "other.py": "b = 1\n"}
	code := tasks.Files{"solution.py": strings.Repeat("\n", 16<<20), "other.py": "b = 2\n"}
	got := string(patch(starter, code))
	if len(got) > 1000 || !strings.Contains(got, "solution.py\nnot compared: 16777216 bytes\n") || !strings.Contains(got, "+b = 2\n") {
		t.Errorf("%d bytes: %.300s", len(got), got)
	}
}

func TestDebts(t *testing.T) {
	var d debts
	if err := d.pay(func(results.Exchange) error { return errors.New("asked for nothing") }); err != nil {
		t.Fatal(err)
	}
	d.add(results.Exchange{Seq: 1})
	d.add(results.Exchange{Seq: 2})
	busy := errors.New("database is locked")
	err := d.pay(func(e results.Exchange) error {
		if e.Seq == 2 {
			return busy
		}
		return nil
	})
	if !errors.Is(err, busy) {
		t.Errorf("got %v", err)
	}
	var taken []int
	err = d.pay(func(e results.Exchange) error { taken = append(taken, e.Seq); return nil })
	if err != nil || len(taken) != 1 || taken[0] != 2 {
		t.Errorf("taken %v, %v: an exchange is recorded once", taken, err)
	}
}
