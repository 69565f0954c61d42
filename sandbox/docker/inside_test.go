package docker_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
	"cabra-run/sandbox/sandboxtest"
)

// trialName stands for what a box must not be able to tell.
const trialName = "traversal/add-parameter/math/n050/07"

// TestInside runs testdata/inside.py as the agent of a box, beside another box
// that has something to hide and a host that listens.
func TestInside(t *testing.T) {
	sandboxtest.RequireReal(t)
	image := testImage(t)
	for _, transport := range []string{docker.TransportBind, docker.TransportArchive} {
		t.Run(transport, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			defer cancel()
			e := sandboxtest.RealEngineWith(t, docker.Options{Transport: transport})
			marker := "marker-" + sandbox.RandomName()
			hideOnHost(t, marker)
			neighbour(ctx, t, e, image, marker)
			attack(ctx, t, e, image, marker)
		})
	}
}

// hideOnHost puts the marker where a box with too much of the host would find it.
func hideOnHost(t *testing.T, marker string) {
	f, err := os.CreateTemp("", "cabra-host")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(f.Name()) })
	if _, err := io.WriteString(f, marker); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// agentEnv is the whole environment of the commands of these tests.
var agentEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/agent"}

func agentBox(ctx context.Context, t *testing.T, e sandbox.Engine, image string) sandbox.Box {
	t.Helper()
	b, err := e.Create(ctx, sandbox.Spec{
		Image: image, Command: []string{"/bin/cat"}, Env: []string{"RELAY_SECRET=deep"}, Guest: true, Home: true,
		Workspace: map[string][]byte{"solution.py": []byte("print()\n")},
		Labels:    sandbox.Labels{Run: "inside-run", Trial: trialName, Attempt: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return b
}

// neighbour starts a box that holds the marker until the end of the test.
func neighbour(ctx context.Context, t *testing.T, e sandbox.Engine, image, marker string) {
	t.Helper()
	script, err := os.ReadFile("testdata/neighbour.py")
	if err != nil {
		t.Fatal(err)
	}
	b := agentBox(ctx, t, e, image)
	in, input := io.Pipe()
	output, out := io.Pipe()
	var errs bytes.Buffer
	p, err := b.Exec(ctx, sandbox.Command{
		Args: []string{"python3", "-c", string(script), marker}, Env: agentEnv,
		Stdin: in, Stdout: out, Stderr: &errs,
	})
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { out.Close() })
	t.Cleanup(func() {
		input.Close()
		if _, err := p.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("neighbour says %q, %v, %s", line, err, errs.String())
	}
}

// attack runs the script and fails for each check that did not hold.
func attack(ctx context.Context, t *testing.T, e sandbox.Engine, image, marker string) {
	t.Helper()
	script, err := os.ReadFile("testdata/inside.py")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, v := range agentEnv {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	task, err := json.Marshal(map[string]any{
		"addresses": listen(t), "marker": marker, "env": env,
		"words": []string{trialName, "inside-run", "add-parameter", "traversal", "RELAY_SECRET", hostName(t)},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := agentBox(ctx, t, e, image)
	var out, errs bytes.Buffer
	p, err := b.Exec(ctx, sandbox.Command{
		Args: []string{"python3", "-c", string(script)}, Env: agentEnv, Dir: sandbox.WorkspaceDir,
		Stdin: bytes.NewReader(task), Stdout: &out, Stderr: &errs,
	})
	if err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(ctx); err != nil || code != 0 {
		t.Errorf("script: code %d, %v, %s", code, err, errs.String())
	}
	checks, ended := 0, false
	for line := range strings.Lines(out.String()) {
		var r struct {
			Check  string
			Held   bool
			Detail string
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		checks++
		ended = ended || r.Check == "end"
		if !r.Held {
			t.Errorf("%s: %s", r.Check, r.Detail)
		}
	}
	if checks < 150 || !ended {
		t.Errorf("%d checks, ended %v", checks, ended)
	}
}

func hostName(t *testing.T) string {
	name, err := os.Hostname()
	if err != nil || len(name) < 5 {
		return "no-such-host-name" // a name as short as "vm" is found in anything
	}
	return name
}

// listen opens a port on all addresses of the host, which any box with a way
// to the host would reach, and lists them with one of the internet.
func listen(t *testing.T) []string {
	t.Helper()
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	port := l.Addr().(*net.TCPAddr).Port
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	list := []string{"1.1.1.1:443", fmt.Sprintf("172.17.0.1:%d", port)}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil {
			list = append(list, fmt.Sprintf("%s:%d", ip.IP, port))
		}
	}
	return list
}
