package faulttest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest/engineproxy"
)

// TestAttachBreaks cuts PID 1's streams in mid-conversation: the reader sees the
// end, PID 1 reads its own, and the box can be told from one that lives.
func TestAttachBreaks(t *testing.T) {
	e, p := troubled(t, docker.Options{}, 1)
	ctx := patient(t)
	b := started(t, e, testImage(t))
	if _, err := io.WriteString(b.Stdio(), "hello\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(b.Stdio(), make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if n := p.CutStreams("attach"); n != 1 {
		t.Fatalf("%d streams cut, want 1", n)
	}
	if rest, err := io.ReadAll(b.Stdio()); len(rest) > 0 {
		t.Errorf("read %q, %v after the cut", rest, err)
	}
	exit, err := b.Wait(ctx)
	if err != nil || exit.Code != 0 {
		t.Errorf("cat, whose input has ended: %+v, %v", exit, err)
	}
	_, err = run(ctx, b, "true")
	wantFault(t, "command", err, sandbox.FaultNotRunning)
	if err := collect(ctx, t, b); err != nil {
		t.Errorf("collecting after the break: %v", err)
	}
}

// TestWaitBreaks cuts the connection on which the engine was to tell of the
// end: the engine is asked again.
func TestWaitBreaks(t *testing.T) {
	e, p := troubled(t, docker.Options{}, 1)
	b := started(t, e, testImage(t))
	if n := p.CutStreams("wait"); n != 1 {
		t.Fatalf("%d streams cut, want 1", n)
	}
	if err := b.Stdio().Close(); err != nil {
		t.Fatal(err)
	}
	if exit, err := b.Wait(patient(t)); err != nil || exit.Code != 0 {
		t.Errorf("%+v, %v", exit, err)
	}
}

// TestCommandBreaks cuts a command's output in the middle of a frame: what was
// read until then is not taken for all of it.
func TestCommandBreaks(t *testing.T) {
	e, p := troubled(t, docker.Options{}, 1)
	ctx := patient(t)
	b := started(t, e, testImage(t))
	p.Script(engineproxy.Rule{Call: "exec attach", Most: 1, Fate: engineproxy.Cut, After: 100_001})
	var out bytes.Buffer
	cmd := shell("head -c 1000000 /dev/zero")
	cmd.Stdout = &out
	c, err := b.Exec(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	code, err := c.Wait(ctx)
	wantFault(t, "command", err, sandbox.FaultUnreachable)
	if out.Len() >= 1_000_000 || code == 0 {
		t.Errorf("code %d with %d bytes", code, out.Len())
	}
	if code, err := run(ctx, b, "exit 3"); err != nil || code != 3 {
		t.Errorf("the next command: %d, %v", code, err)
	}
}

// TestCommandSurvivesHiccups fails inspections of a running command.
func TestCommandSurvivesHiccups(t *testing.T) {
	for _, fate := range []engineproxy.Fate{engineproxy.Refuse, engineproxy.Drop, engineproxy.Lose} {
		e, p := troubled(t, docker.Options{}, 1)
		ctx := patient(t)
		b := started(t, e, testImage(t))
		p.Script(engineproxy.Rule{Call: "exec inspect", Most: 3, Fate: fate})
		if code, err := run(ctx, b, "exit 4"); err != nil || code != 4 {
			t.Errorf("%s: code %d, %v; want 4", fate, code, err)
		}
	}
}

// fill forks until it may not, and stays.
const fill = `
import os, time
try:
    while os.fork():
        pass
except OSError:
    print("full", flush=True)
time.sleep(1000)
`

// TestPidsExhausted fills a box with processes that nothing asks to end: a
// command that cannot start is no agent's exit, and raising the limit helps.
func TestPidsExhausted(t *testing.T) {
	e, _ := troubled(t, docker.Options{}, 1)
	ctx := patient(t)
	s := spec(testImage(t))
	s.Limits.Pids = 40
	b, err := e.Create(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Remove(ctx)
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	full, said := io.Pipe()
	filler := sandbox.Command{Args: []string{"/usr/bin/python3", "-c", fill}, Env: env, Stdout: said}
	if _, err := b.Exec(ctx, filler); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(full, make([]byte, len("full\n"))); err != nil {
		t.Fatal(err)
	}
	// The command itself is put in from outside, which no limit forbids; its
	// own children are what there is no room for.
	code, err := run(ctx, b, "/bin/sleep 0; exit 0")
	if err == nil && code == 0 {
		t.Error("a process starts in a full box")
	}
	anyFault(t, "command in a full box", err)
	if err := b.SetPids(ctx, 80); err != nil {
		t.Fatal(err)
	}
	if code, err := run(ctx, b, "/bin/sleep 0; exit 0"); err != nil || code != 0 {
		t.Errorf("with room: %d, %v", code, err)
	}
	u, err := b.Usage(ctx)
	if err != nil || u.PidsLimitHits == 0 {
		t.Errorf("usage %+v, %v; want a hit limit", u, err)
	}
	if err := b.Kill(ctx); err != nil {
		t.Errorf("killing a full box: %v", err)
	}
}

// TestOnePercent leads boxes through their lives while calls of every kind fail
// at random, without an answer, after it, or by the engine's word. Whatever
// fails is a fault, and at the end nothing is left.
func TestOnePercent(t *testing.T) {
	image := testImage(t)
	for _, transport := range []string{docker.TransportBind, docker.TransportArchive} {
		t.Run(transport, func(t *testing.T) {
			e, p := troubled(t, docker.Options{Transport: transport}, 7)
			for _, fate := range []engineproxy.Fate{engineproxy.Refuse, engineproxy.Drop, engineproxy.Lose} {
				p.Script(engineproxy.Rule{Share: 0.01, Fate: fate}) // three in a hundred
			}
			lives, faults := make(chan int), make(chan error, 100)
			var workers sync.WaitGroup
			for range 4 {
				workers.Go(func() {
					for range lives {
						if err := life(e, image); err != nil {
							faults <- err
						}
					}
				})
			}
			n := 24
			if os.Getenv("CABRA_TEST_TORTURE") != "" {
				n = 200
			}
			for i := range n {
				lives <- i
			}
			close(lives)
			workers.Wait()
			close(faults)
			failed := 0
			for err := range faults {
				failed++
				anyFault(t, "life of a box", err)
			}
			if len(p.Struck()) == 0 {
				t.Error("nothing was troubled")
			}
			p.Clear()
			if _, err := e.Reap(patient(t)); err != nil {
				t.Errorf("reaping: %v", err)
			}
			t.Logf("%d of %d lives failed; %d calls of %d troubled: %v", failed, n, len(p.Struck()), sum(p.Counts()), p.Struck())
			if failed > n/2 {
				t.Errorf("%d of %d lives failed", failed, n)
			}
		})
	}
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// life is what an attempt does with a box.
func life(e *docker.Engine, image string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b, err := e.Create(ctx, spec(image))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Remove(ctx)) }()
	if err := b.Start(ctx); err != nil {
		return err
	}
	if _, err := run(ctx, b, "echo changed > /workspace/solution.py"); err != nil {
		return err
	}
	if _, err := b.Usage(ctx); err != nil {
		return err
	}
	if err := b.SetPids(ctx, 300); err != nil {
		return err
	}
	if err := b.Kill(ctx); err != nil {
		return err
	}
	_, err = b.Wait(ctx)
	return err
}
