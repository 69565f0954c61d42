package sandbox_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cabra-run/sandbox"
)

// endBox is a box whose commands play a script: one exit code, or fault, after
// the other.
type endBox struct {
	sandbox.Box // the other methods are not called
	plays       []play
	calls       []string
	cancel      context.CancelFunc // called when nothing is left to play
}

type play struct {
	code  int
	fault sandbox.FaultKind
	hangs bool
}

func (b *endBox) Exec(_ context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	b.calls = append(b.calls, strings.Join(cmd.Args, " "))
	if len(b.plays) == 0 {
		b.cancel()
		return play{code: 1}, nil
	}
	p := b.plays[0]
	b.plays = b.plays[1:]
	if p.fault != "" {
		return nil, &sandbox.Fault{Op: "starting command", Kind: p.fault, Err: errors.New("played")}
	}
	return p, nil
}

func (b *endBox) SetPids(_ context.Context, n int64) error {
	b.calls = append(b.calls, "pids "+time.Duration(n).String())
	return nil
}

func (p play) Wait(ctx context.Context) (int, error) {
	if p.hangs {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return p.code, nil
}

func TestEndGuest(t *testing.T) {
	ok := play{}
	failed := play{code: 2}
	tests := []struct {
		name   string
		exited bool
		plays  []play
		calls  []string
		fault  sandbox.FaultKind
		err    error
	}{
		{name: "asked in vain, then killed", plays: []play{ok, ok}, calls: []string{"ask", "kill"}},
		{name: "has ended by itself", exited: true, plays: []play{ok}, calls: []string{"kill"}},
		{name: "cannot be asked", plays: []play{{fault: sandbox.FaultTimeout}, ok}, calls: []string{"ask", "kill"}},
		{name: "asking fails", plays: []play{failed, ok}, calls: []string{"ask", "kill"}},
		{name: "asking hangs", plays: []play{{hangs: true}, ok}, calls: []string{"ask", "kill"}},
		{name: "no room to kill in", exited: true, plays: []play{failed, {fault: sandbox.FaultEngine}, failed, ok},
			calls: []string{"kill", "pids 132ns", "kill", "pids 164ns", "kill", "pids 228ns", "kill"}},
		{name: "the box has stopped", exited: true, plays: []play{{fault: sandbox.FaultNotRunning}},
			calls: []string{"kill"}, fault: sandbox.FaultNotRunning},
		{name: "the box is gone", exited: true, plays: []play{{fault: sandbox.FaultGone}},
			calls: []string{"kill"}, fault: sandbox.FaultGone},
		{name: "no time left", exited: true, plays: []play{failed}, calls: []string{"kill", "pids 132ns", "kill"},
			err: context.Canceled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			exited := make(chan struct{})
			if test.exited {
				close(exited)
			}
			box := &endBox{plays: test.plays, cancel: cancel}
			err := sandbox.EndGuest(ctx, box, sandbox.Ending{
				Exited: exited, Signal: []string{"ask"}, Grace: time.Millisecond, Kill: []string{"kill"}, Pids: 100,
			})
			if !slices.Equal(box.calls, test.calls) {
				t.Errorf("calls %q, want %q", box.calls, test.calls)
			}
			switch {
			case test.fault != "":
				if !sandbox.IsFault(err, test.fault) {
					t.Errorf("error %v, want the fault %q", err, test.fault)
				}
			case test.err != nil:
				if !errors.Is(err, test.err) {
					t.Errorf("error %v, want %v", err, test.err)
				}
			case err != nil:
				t.Errorf("error %v", err)
			}
		})
	}
}
