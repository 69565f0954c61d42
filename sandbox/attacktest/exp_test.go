package attacktest_test

import (
	"context"
	"testing"
	"time"

	"cabra-run/sandbox"
	"cabra-run/sandbox/relay"
)

func TestExperiment(t *testing.T) {
	f := newFiring(t)
	for _, spin := range []bool{false, true} {
		b := f.box(t, sandbox.Limits{})
		b.serves(t)
		var out safeBuffer
		args := []string{"python3", "forkbomb.py"}
		if spin {
			args = append(args, "--spin")
		}
		b.start(t, &out, args...)
		for {
			u, err := b.Usage(context.Background())
			if err == nil && u.Pids > 250 {
				break
			}
		}
		time.Sleep(time.Second)
		try := func(what string) bool {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			var o safeBuffer
			p, err := b.Exec(ctx, sandbox.Command{Args: relay.KillCommand(), Stderr: &o, Stdout: &o})
			code := -1
			if err == nil {
				code, err = p.Wait(ctx)
			}
			u, uerr := b.Usage(context.Background())
			t.Logf("spin %v %s: code %d err %v out %.300q after %v; pids %d mem %d %v; conn %v", spin, what, code, err, o.String(), time.Since(begin), u.Pids, u.MemoryBytes, uerr, b.conn.Err())
			return code == 0 && err == nil
		}
		done := try("no raise")
		for _, n := range []int64{256 + 32, 256 + 64, 512, 1024, 2048, 4096} {
			if done {
				break
			}
			begin := time.Now()
			if err := b.SetPids(context.Background(), n); err != nil {
				t.Log(err)
			}
			t.Logf("raise to %d took %v", n, time.Since(begin))
			done = try("raised")
		}
		t.Log("done", done)
		out2, code := b.run(t, relay.ArchiveCommand(sandbox.HomeDir, relay.ArchiveBounds{})...)
		t.Logf("archive %d bytes code %d", len(out2), code)
	}
}
