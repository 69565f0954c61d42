package docker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest"
)

// orphanEnv makes this test program an orchestrator that holds a box.
const orphanEnv = "CABRA_TEST_ORPHAN"

type orphanPlan struct{ StateDir, Transport, Image string }

func TestMain(m *testing.M) {
	if text := os.Getenv(orphanEnv); text != "" {
		if err := holdBox(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// holdBox starts a box, prints its ID, and waits to be killed.
func holdBox(text string) error {
	var p orphanPlan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	ctx := context.Background()
	e, err := docker.New(ctx, docker.Options{StateDir: p.StateDir, Transport: p.Transport})
	if err != nil {
		return err
	}
	b, err := e.Create(ctx, catSpec(p.Image))
	if err != nil {
		return err
	}
	if err := b.Start(ctx); err != nil {
		return err
	}
	fmt.Println(b.ID())
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

func catSpec(image string) sandbox.Spec {
	return sandbox.Spec{
		Image: image, Command: []string{"/bin/cat"}, Guest: true, Home: true,
		Workspace: map[string][]byte{"solution.py": []byte("x")},
		Labels:    sandbox.Labels{Run: "reap", Trial: "t", Attempt: 1},
	}
}

// TestReap kills an orchestrator that holds a box. The box ends by itself, and
// the next orchestrator removes it, but not the box of a living one.
func TestReap(t *testing.T) {
	sandboxtest.RequireReal(t)
	image := testImage(t)
	for _, transport := range []string{docker.TransportBind, docker.TransportArchive} {
		t.Run(transport, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			dir := t.TempDir()
			dead, kill := orphan(t, orphanPlan{dir, transport, image})
			living, _ := orphan(t, orphanPlan{dir, transport, image})

			e := sandboxtest.RealEngineWith(t, docker.Options{StateDir: dir, Transport: transport})
			mine, err := e.Create(ctx, catSpec(image))
			if err != nil {
				t.Fatal(err)
			}
			defer mine.Remove(ctx)
			kill()
			if err := e.Stopped(ctx, dead); err != nil {
				t.Fatalf("the box of a dead orchestrator does not end: %v", err)
			}
			reaped, err := e.Reap(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if reaped.Boxes < 1 || reaped.Volumes+reaped.Workspaces < 1 {
				t.Errorf("reaped %+v", reaped)
			}
			for id, want := range map[string]bool{dead: false, living: true, mine.ID(): true} {
				if there, err := e.Exists(ctx, id); err != nil || there != want {
					t.Errorf("box %.12s: there %v, %v; want %v", id, there, err, want)
				}
			}
			wantFiles(t, dir, transport)
		})
	}
}

// wantFiles checks that the state folder holds the two living owners' and
// nothing of the dead one.
func wantFiles(t *testing.T, dir, transport string) {
	t.Helper()
	want := map[string]int{"owners/*.lock": 2, "work/*.labels": 2}
	if transport == docker.TransportArchive {
		want["work/*.labels"] = 0
	}
	for pattern, n := range want {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(found) != n {
			t.Errorf("%s: %v, %v; want %d", pattern, found, err, n)
		}
	}
}

// orphan starts an orchestrator; the returned function kills it. Its box is
// removed at the end of the test in any case.
func orphan(t *testing.T, p orphanPlan) (id string, kill func()) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orphanEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	t.Cleanup(func() {
		kill()
		e := sandboxtest.RealEngineWith(t, docker.Options{StateDir: p.StateDir, Transport: p.Transport})
		if _, err := e.Reap(context.Background()); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("orchestrator: %v", err)
	}
	return strings.TrimSpace(line), kill
}

// TestNoScratch tries to write in a box where nothing may be written.
func TestNoScratch(t *testing.T) {
	e := sandboxtest.RealEngine(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	const script = `for d in $(find / -path /proc -prune -o -type d -print 2>/dev/null) /proc /dev/shm; do
  touch "$d/probe" 2>/dev/null && echo "$d"
done; echo end`
	b, err := e.Create(ctx, sandbox.Spec{
		Image: testImage(t), Command: []string{"/bin/sh", "-c", script}, Env: agentEnv, NoScratch: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Remove(ctx)
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	out := new(strings.Builder)
	if _, err := bufio.NewReader(b.Stdio()).WriteTo(out); err != nil {
		t.Fatal(err)
	}
	if out.String() != "end\n" {
		t.Errorf("writable: %s", out)
	}
	if exit, err := b.Wait(ctx); err != nil || exit.Code != 0 {
		t.Errorf("%+v, %v", exit, err)
	}
}

// TestEnvironmentIsExact looks at the environments that an image with an own
// one ends up with.
func TestEnvironmentIsExact(t *testing.T) {
	e := sandboxtest.RealEngine(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	spec := catSpec(testImage(t))
	spec.Command = []string{"/usr/bin/env"}
	spec.Env = []string{"ONLY=this"}
	b, err := e.Create(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Remove(ctx)
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	out := new(strings.Builder)
	if _, err := bufio.NewReader(b.Stdio()).WriteTo(out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name {
		case "ONLY", "TZ":
		case "HOME": // put in by the runtime, from the passwd file
		default:
			t.Errorf("variable %s=%s", name, value)
		}
	}
	if !strings.Contains(out.String(), "ONLY=this\n") || !strings.Contains(out.String(), "TZ=UTC\n") {
		t.Errorf("environment %q", out)
	}
}

// TestArchiveUsage asks the relay's binary of the image for the size of a
// workspace that this process cannot look into.
func TestArchiveUsage(t *testing.T) {
	e := sandboxtest.RealEngineWith(t, docker.Options{Transport: docker.TransportArchive})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	spec := catSpec(testImage(t))
	spec.Workspace["large"] = make([]byte, 3<<20)
	b, err := e.Create(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Remove(ctx)
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	u, err := b.Usage(ctx)
	if err != nil || u.WorkspaceBytes < 3<<20 || u.WorkspaceBytes > 4<<20 {
		t.Errorf("%d bytes in a workspace with 3 MiB, %v", u.WorkspaceBytes, err)
	}
}
