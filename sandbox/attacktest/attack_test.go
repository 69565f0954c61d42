package attacktest_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"cabra-run/sandbox"
	"cabra-run/sandbox/relay"
)

// heapLimit is what one attempt may cost the orchestrator.
const heapLimit = 64 << 20

// neighbour is another box that asks its host all the time. The result checks
// that it was answered throughout and still is.
func (f firing) neighbour(t *testing.T) (check func()) {
	t.Helper()
	b := f.box(t, sandbox.Limits{})
	var out safeBuffer
	b.start(t, &out, "python3", "keep_asking.py")
	return func() {
		t.Helper()
		b.serves(t)
		lines := out.String()
		if !strings.Contains(lines, "answered") || strings.Contains(lines, "failed") {
			t.Errorf("the box beside the attacked one got these answers: %q", lines)
		}
		if err := b.conn.Err(); err != nil {
			t.Errorf("the box beside the attacked one lost its stream: %v", err)
		}
	}
}

func checkHeap(t *testing.T, grown func() int64) {
	t.Helper()
	n := grown()
	t.Logf("heap +%d KiB", n>>10)
	if n > heapLimit {
		t.Errorf("the attack cost the host %d bytes of heap, more than %d", n, heapLimit)
	}
}

func TestPIDOneIsOutOfReach(t *testing.T) {
	f := newFiring(t)
	b := f.box(t, sandbox.Limits{})
	out, code := b.run(t, "python3", "pid1.py")
	if code != 0 || strings.Contains(out, "BREACH") || !strings.Contains(out, "tried everything") {
		t.Errorf("exit code %d, output:\n%s", code, out)
	}
	b.serves(t)
	if s := b.conn.Stats(); b.conn.Err() != nil || s.Opened > 10 {
		t.Errorf("after the attack the stream has %+v, %v", s, b.conn.Err())
	}
}

func TestConnectionsByTheThousand(t *testing.T) {
	f := newFiring(t)
	check := f.neighbour(t)
	b := f.box(t, sandbox.Limits{})
	heap := watchHeap(t)
	if out, code := b.run(t, "python3", "connect.py", "crowd"); code != 0 || out != "done\n" {
		t.Errorf("exit code %d, output %q", code, out)
	}
	checkHeap(t, heap)
	b.serves(t)
	check()
}

// Requests without end are answered and dropped, or they are too much for the
// stream and end the box. Both are right.
func TestRequestsWithoutEnd(t *testing.T) {
	f := newFiring(t)
	check := f.neighbour(t)
	b := f.box(t, sandbox.Limits{})
	heap := watchHeap(t)
	out, code := b.run(t, "python3", "connect.py", "endless")
	checkHeap(t, heap)
	switch err := b.conn.Err(); {
	case err != nil && !errors.Is(err, relay.ErrProtocol):
		t.Errorf("the stream ended: %v", err)
	case err != nil:
		t.Logf("the stream ended: %v", err)
	case code != 0 || out != "done\n":
		t.Errorf("exit code %d, output %q", code, out)
	default:
		b.serves(t)
	}
	check()
}

// limitedWriter takes so much output, as an orchestrator would.
type limitedWriter struct{ left int }

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("too much output")
	}
	return len(p), nil
}

func TestOutputWithoutEnd(t *testing.T) {
	f := newFiring(t)
	check := f.neighbour(t)
	b := f.box(t, sandbox.Limits{})
	heap := watchHeap(t)
	flood := b.start(t, &limitedWriter{left: 64 << 20}, "sh", "-c", "yes & yes >&2 & exec yes")
	killed := make(chan error, 1)
	go func() {
		_, err := flood.Wait(context.Background())
		killed <- err
	}()
	b.serves(t)
	end(t, b)
	select {
	case <-killed:
	case <-time.After(patience):
		t.Error("the flood's end is not noticed")
	}
	checkHeap(t, heap)
	b.serves(t)
	check()
}

// end ends the guest as an attempt does.
func end(t *testing.T, b *box) {
	t.Helper()
	err := sandbox.EndGuest(bounded(t), b, sandbox.Ending{
		Signal: relay.SignalCommand("TERM"), Grace: time.Second, Kill: relay.KillCommand(),
		Pids: sandbox.DefaultLimits().Pids,
	})
	if err != nil {
		t.Errorf("ending the guest: %v", err)
	}
}

func TestForkBombs(t *testing.T) {
	f := newFiring(t)
	bomb := []string{"python3", "forkbomb.py"}
	tests := []struct {
		name string
		argv []string
	}{
		{"eager", append(bomb, "--spin")},
		{"patient", bomb},
		{"within a guest's limit", relay.GuestCommand(192, append(bomb, "--spin"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			check := f.neighbour(t)
			b := f.box(t, sandbox.Limits{})
			heap := watchHeap(t)
			b.start(t, nil, test.argv...)
			b.full(t, 180)
			begin := time.Now()
			end(t, b)
			t.Logf("ended in %v", time.Since(begin))
			checkHeap(t, heap)
			if trace := b.trace(t); trace != "{\"type\": \"last words\"}\n" {
				t.Errorf("the trace is %q", trace)
			}
			b.serves(t)
			check()
		})
	}
}

// full waits until the box has that many processes.
func (b *box) full(t *testing.T, pids int64) {
	t.Helper()
	ctx := bounded(t)
	for {
		u, err := b.Usage(ctx)
		if err == nil && u.Pids >= pids {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the bomb has %d processes: %v", u.Pids, err)
		}
	}
}

// trace reads the file trace.jsonl from the box's home.
func (b *box) trace(t *testing.T) string {
	t.Helper()
	var archive bytes.Buffer
	argv := relay.ArchiveCommand(sandbox.HomeDir, relay.ArchiveBounds{Only: []string{"trace.jsonl"}})
	code, err := b.start(t, &archive, argv...).Wait(bounded(t))
	if err != nil || code != 0 {
		t.Fatalf("archiving: exit code %d, %v, %q", code, err, archive.String())
	}
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := sandbox.ReadTar(&archive, root, sandbox.CollectLimits{}); err != nil {
		t.Fatal(err)
	}
	text, err := root.ReadFile("trace.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A balloon in an agent's own memory kills the agent, not the relay.
func TestMemoryBalloon(t *testing.T) {
	f := newFiring(t)
	check := f.neighbour(t)
	b := f.box(t, sandbox.Limits{MemoryBytes: 256 << 20})
	heap := watchHeap(t)
	argv := relay.GuestCommand(192, []string{"python3", "balloon.py", "heap"})
	if out, code := b.run(t, argv...); code != 137 {
		t.Errorf("the balloon ends with %d, want 137; output %q", code, out)
	}
	b.serves(t)
	checkHeap(t, heap)
	check()
}

// A balloon in files cannot be killed, so everything else is, in the end PID 1.
// Whichever way it goes, the host learns it.
func TestMemoryBalloonOfFiles(t *testing.T) {
	f := newFiring(t)
	check := f.neighbour(t)
	b := f.box(t, sandbox.Limits{MemoryBytes: 64 << 20})
	heap := watchHeap(t)
	b.start(t, nil, "sh", "-c", "while :; do python3 balloon.py files; done")
	b.outOfMemory(t)
	checkHeap(t, heap)
	select {
	case <-b.conn.Done():
		exit, err := b.Wait(bounded(t))
		t.Logf("PID 1 died: %+v, %v; the stream says %v", exit, err, b.conn.Err())
		if !errors.Is(b.conn.Err(), relay.ErrEnded) || err != nil || !exit.OOMKilled {
			t.Errorf("the death of PID 1 is reported as %v and %+v, %v", b.conn.Err(), exit, err)
		}
	default:
		t.Log("PID 1 lives")
		end(t, b)
	}
	check()
}

// outOfMemory waits until the kernel has killed some of the box's processes, or
// PID 1 has gone.
func (b *box) outOfMemory(t *testing.T) {
	t.Helper()
	ctx := bounded(t)
	for {
		u, err := b.Usage(ctx)
		if err == nil && u.OOMKills >= 5 {
			return
		}
		select {
		case <-b.conn.Done():
			return
		case <-ctx.Done():
			t.Fatalf("the kernel has killed %d processes: %v", u.OOMKills, err)
		default:
		}
	}
}

func TestOrphansAreReaped(t *testing.T) {
	b := newFiring(t).box(t, sandbox.Limits{})
	if out, code := b.run(t, "python3", "orphans.py"); code != 0 || out != "zombies 0\n" {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

// When the host closes its end, or dies, the box ends by itself.
func TestBoxEndsWithItsHost(t *testing.T) {
	b := newFiring(t).box(t, sandbox.Limits{})
	b.start(t, nil, "sleep", "1000")
	b.conn.Close()
	exit, err := b.Wait(bounded(t))
	if err != nil || exit.Code != 0 {
		t.Errorf("the box ends with %+v, %v", exit, err)
	}
}

// What if PID 1 were taken over after all: a program of the attacker's has
// the stream to the host.
func TestTakenOverRelay(t *testing.T) {
	f := newFiring(t)
	tests := []struct{ attack, want string }{
		{"pings", "ping"}, {"openings", "at once"}, {"garbage", ""}, {"data", ""},
	}
	for _, test := range tests {
		t.Run(test.attack, func(t *testing.T) {
			check := f.neighbour(t)
			heap := watchHeap(t)
			if err := f.takeover(t, test.attack); !errors.Is(err, relay.ErrProtocol) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the stream ended with %v, want ErrProtocol and %q", err, test.want)
			}
			checkHeap(t, heap)
			check()
		})
	}
}

// takeover runs a box whose PID 1 is the attack, and returns why the stream to
// it ended: while it was accepted, when the attack was quick, or later.
func (f firing) takeover(t *testing.T, attack string) error {
	t.Helper()
	ctx := bounded(t)
	b, err := f.engine.Create(ctx, sandbox.Spec{
		Image: f.image, Command: []string{"python3", sandbox.WorkspaceDir + "/takeover.py", attack},
		Env: guestEnv, Workspace: scripts(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, b) })
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	conn, err := relay.Accept(ctx, b.Stdio(), relay.Bounds{})
	if err != nil {
		return err
	}
	defer conn.Close()
	server := &http.Server{Handler: http.HandlerFunc(echo)}
	defer server.Close()
	server.Serve(conn)
	select {
	case <-conn.Done():
	case <-time.After(patience):
		t.Fatal("the attack goes on")
	}
	return conn.Err()
}

// The program's path in images is the one that the engines' contract names.
func TestRelayPath(t *testing.T) {
	if relay.Path != sandbox.RelayPath {
		t.Errorf("relay.Path is %q, sandbox.RelayPath %q", relay.Path, sandbox.RelayPath)
	}
}
