package main

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

//go:embed testdata/inside/probe.py
var probe string

// probeModel is a provider that lets the agent run one command and finish. It
// remembers with which key it was asked.
type probeModel struct {
	command string

	mu   sync.Mutex
	keys []string
}

func (m *probeModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.keys = append(m.keys, r.Header.Get("Authorization"))
	m.mu.Unlock()
	var body struct{ Messages []struct{ Role string } }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name, args := "bash", map[string]any{"command": m.command, "description": "probe", "initial_wait": 120}
	if slices.ContainsFunc(body.Messages, func(x struct{ Role string }) bool { return x.Role == "tool" }) {
		name, args = "task_complete", map[string]any{"summary": "done"}
	}
	text, err := json.Marshal(args)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	chunk, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "finish_reason": "tool_calls",
		"delta": map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"index": 0,
			"id": fmt.Sprintf("call_%d", len(body.Messages)), "type": "function", "function": map[string]any{"name": name, "arguments": string(text)}}}}}}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\ndata: %s\n\ndata: [DONE]\n\n", chunk,
		`{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050}}`)
}

// findings is what the probe wrote.
type findings struct {
	Found    [][2]string
	Files    int
	Writable []string
	Opened   [][2]any
	Families []string
	Allowed  []string
	CapEff   string `json:"cap_eff"`
	NoNew    string `json:"no_new_privs"`
	Seccomp  string
	UID      int
	Root     bool
}

// From inside of a running attempt, as a command of the real CLI: nothing can
// be reached, and nothing that can be read holds a provider key, the reference,
// the task's id or a symbol of the generator.
func TestRealInside(t *testing.T) {
	p := newPlace(t)
	const key = "sk-inside-0123456789abcdef"
	t.Setenv("INSIDE_KEY", key)
	model := &probeModel{}
	server := httptest.NewServer(model)
	defer server.Close()
	task := oneTask(t, "traversal/add-return/math/n005/01")
	model.command = probeCommand(t, task, key, server)

	args := []string{"--agent", "copilot", "--model", "some-model", "--base-url", server.URL + "/v1", "--api-key-env", "INSIDE_KEY",
		"--grid", string(task.ID), "--run", "inside", "--timeout", "5m", "--no-preflight"} // the probe knows streams alone
	out, errOut, code := p.cabra(t, args...)
	if code != exitOK {
		t.Fatalf("code %d\n%s\n%s", code, out, errOut)
	}
	attempt := filepath.Join(p.runs, "inside", "trials", filepath.FromSlash(string(task.ID)), "1", "attempt-1")
	text, err := os.ReadFile(filepath.Join(attempt, "files", "probe.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f findings
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	checkFindings(t, f)
	for _, k := range model.keys {
		if k != "Bearer "+key {
			t.Errorf("the provider was asked with %q", k)
		}
	}
	wantNoKey(t, filepath.Join(p.runs, "inside"), key)
	if strings.Contains(out+errOut, key) {
		t.Error("the key was printed")
	}
}

func checkFindings(t *testing.T, f findings) {
	t.Helper()
	for _, x := range f.Found {
		needle, _ := base64.StdEncoding.DecodeString(x[1])
		t.Errorf("%s holds %q", x[0], needle)
	}
	if f.Files < 1000 {
		t.Errorf("only %d files were read", f.Files)
	}
	for _, dir := range f.Writable {
		ok := false
		for _, allowed := range []string{"/workspace", "/home/agent", "/tmp"} {
			ok = ok || dir == allowed || strings.HasPrefix(dir, allowed+"/")
		}
		if !ok {
			t.Errorf("%s can be written", dir)
		}
	}
	if len(f.Opened)+len(f.Families)+len(f.Allowed) > 0 {
		t.Errorf("reached %v, sockets %v, calls %v", f.Opened, f.Families, f.Allowed)
	}
	if strings.Trim(f.CapEff, "0") != "" || f.NoNew != "1" || f.Seccomp != "2" || f.UID < 20000 || !f.Root {
		t.Errorf("privileges %+v", f)
	}
}

func oneTask(t *testing.T, id string) tasks.Task {
	t.Helper()
	grid, err := tasks.ParseGrid(id)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source(grid, generation{seed: refactor.DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	for task, err := range src.Tasks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	t.Fatalf("no task %s", id)
	return tasks.Task{}
}

// probeCommand is the probe with what it looks for: the key, the task's names,
// lines that only the reference has, and symbols of the generator.
func probeCommand(t *testing.T, task tasks.Task, key string, server *httptest.Server) string {
	t.Helper()
	needles := []string{key, string(task.ID), task.SampleID, task.Digest()[7:], "cabra-run/tasks", "tasks/refactor", "tasks/callgraph", "runner/score"}
	shown := task.Starter[tasks.SolutionFile] + task.Statement
	for line := range strings.Lines(task.Reference[tasks.SolutionFile]) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains(shown, line) {
			needles = append(needles, line)
		}
	}
	if len(needles) < 12 {
		t.Fatalf("the reference has too few lines of its own: %q", needles)
	}
	encoded := make([]string, len(needles))
	for i, n := range needles {
		encoded[i] = base64.StdEncoding.EncodeToString([]byte(n))
	}
	return fmt.Sprintf("cat > /tmp/probe.py <<'PROBE'\n%sPROBE\npython3 /tmp/probe.py %s %s", probe, jsonBase64(t, encoded), jsonBase64(t, targets(t, server)))
}

func jsonBase64(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(text)
}

// targets are this host's addresses with the port of a server that listens
// there, the bridge's gateway, the metadata address and an outside one.
func targets(t *testing.T, server *httptest.Server) [][2]any {
	t.Helper()
	_, portText, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		t.Fatal(err)
	}
	list := [][2]any{{"127.0.0.1", port}, {"172.17.0.1", port}, {"169.254.169.254", 80}, {"192.0.2.1", 80}}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil {
			list = append(list, [2]any{ip.IP.String(), port})
		}
	}
	return list
}

// wantNoKey looks into every file of the run, also into what is compressed by
// the reader of recordings elsewhere: here the plain and the encoded key.
func wantNoKey(t *testing.T, dir, key string) {
	t.Helper()
	forms := []string{key, base64.StdEncoding.EncodeToString([]byte(key))}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, form := range forms {
			// The probe's own command holds the key encoded inside of a longer text.
			if strings.Contains(string(text), form) {
				t.Errorf("%s holds the key", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
