package docker

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"
	"time"

	"cabra-run/sandbox"
)

func TestSmoke(t *testing.T) {
	for _, tr := range []string{"bind", "archive"} {
		t.Run(tr, func(t *testing.T) {
			ctx := context.Background()
			e, err := New(ctx, Options{StateDir: t.TempDir(), Transport: tr})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			info, err := e.Info(ctx)
			t.Logf("%+v %v", info, err)
			t0 := time.Now()
			lap := func(what string) { t.Logf("%s %v", what, time.Since(t0)); t0 = time.Now() }
			b, err := e.Create(ctx, sandbox.Spec{
				Image:   os.Getenv("IMG"),
				Command: []string{"/bin/sh", "-c", "echo hello; echo err >&2; env; cat; echo bye"},
				Env:     []string{"A=b"},
				Guest:   true, Home: true, Workspace: map[string][]byte{"solution.py": []byte("x"), "a/b.py": []byte("y")},
			})
			if err != nil {
				t.Fatal(err)
			}
			lap("create")
			defer func() { t.Log(b.Remove(ctx)); lap("remove") }()
			if err := b.Start(ctx); err != nil {
				t.Fatal(err)
			}
			lap("start")
			var out, errb bytes.Buffer
			p, err := b.Exec(ctx, sandbox.Command{Args: []string{"/bin/sh", "-c", "id; env; pwd; cat; ls -lan / /workspace /home/agent /tmp /dev/shm /dev; cat /proc/mounts /etc/resolv.conf; ulimit -a; cat /proc/self/cgroup; echo hi > /workspace/new; ln -s /etc/passwd /workspace/link; sleep 100 & exit 3"}, Env: []string{"PATH=/usr/bin:/bin", "X=y"},
				Dir: "/workspace", Stdin: bytes.NewReader([]byte("from stdin\n")), Stdout: &out, Stderr: &errb})
			if err != nil {
				t.Fatal(err)
			}
			code, err := p.Wait(ctx)
			lap("exec")
			t.Logf("code %d %v\n%s\n%s", code, err, out.String(), errb.String())
			u, err := b.Usage(ctx)
			t.Logf("%+v %v", u, err)
			lap("usage")
			b.Stdio().Write([]byte("in\n"))
			b.Stdio().Close()
			all, err := io.ReadAll(b.Stdio())
			t.Logf("%q %v %q", all, err, b.Stderr())
			x, err := b.Wait(ctx)
			t.Logf("%+v %v", x, err)
			lap("wait")
			t.Log(b.Kill(ctx))
			lap("kill")
			dst, _ := os.OpenRoot(t.TempDir())
			c, err := b.Collect(ctx, dst, sandbox.CollectLimits{})
			lap("collect")
			t.Logf("%+v %v", c, err)
		})
	}
}
