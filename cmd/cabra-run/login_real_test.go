package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/gateway/githubtest"
	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

const githubToken = "gho_testtoken0123456789abcdefghijklmnopq"

// standIn is GitHub with models that play the scripted policy for a task.
func standIn(t *testing.T, id string, during func()) *githubtest.GitHub {
	t.Helper()
	grid, err := tasks.ParseGrid(id)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source(grid, generation{seed: refactor.DefaultSeed})
	if err != nil {
		t.Fatal(err)
	}
	up, err := gateway.NewScripted("solve")
	if err != nil {
		t.Fatal(err)
	}
	var model gateway.Upstream
	for task, err := range src.Tasks(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		model = up.For(gateway.Script{File: tasks.SolutionFile, Starter: task.Starter[tasks.SolutionFile],
			Reference: task.Reference[tasks.SolutionFile], Edited: task.Check.Edited})
	}
	models := []githubtest.Model{
		{Name: "gpt-5.4", Endpoints: []string{"/responses", "ws:/responses"}},
		{Name: "claude-sonnet-4.6", Endpoints: []string{"/v1/messages", "/chat/completions"}},
	}
	return githubtest.New(t, githubToken, models, func(r *http.Request) (*http.Response, error) {
		during()
		return model.RoundTrip(r)
	})
}

// behind calls the program as a process of its own for which GitHub is the stand-in.
func (p place) behind(t *testing.T, gh *githubtest.GitHub, args ...string) (string, int) {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte(gh.CA), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], p.args(args...)...)
	cmd.Env = append(os.Environ(), programVar+"=1", "COPILOT_GITHUB_TOKEN="+githubToken,
		"HTTPS_PROXY="+gh.Proxy, "https_proxy="+gh.Proxy, "NO_PROXY=", "no_proxy=", "SSL_CERT_FILE="+ca)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the code says it
	return out.String(), cmd.ProcessState.ExitCode()
}

// The real Copilot CLI with a GitHub login against the stand-in: it solves its
// task with a dummy, everything is metered, and the token is nowhere.
func TestRealCopilotWithLogin(t *testing.T) {
	p := newPlace(t)
	const id = "traversal/add-parameter/math/n005/01"
	for model, path := range map[string]string{"gpt-5.4": "/responses", "claude-sonnet-4.6": "/v1/messages"} {
		t.Run(model, func(t *testing.T) {
			var boxes boxScan
			gh := standIn(t, id, boxes.once)
			out, code := p.behind(t, gh, "--agent", "copilot", "--model", model, "--run", model, "--grid", id, "--attempts", "1")
			if code != exitOK {
				t.Fatalf("code %d\n%s", code, out)
			}
			rows := p.rows(t, model)
			if rows[0].Outcome != results.Solved || rows[0].Attempts != 1 || rows[0].Input == nil || *rows[0].Input == 0 {
				t.Errorf("%+v", rows[0])
			}
			calls := 0
			for _, s := range gh.Seen() {
				if s.Header.Get("Authorization") != "Bearer "+githubToken {
					t.Errorf("%s %s%s without the token", s.Method, s.Host, s.Path)
				}
				if s.Path == path {
					calls++
				}
				if strings.Contains(s.Path, "mcp") || strings.Contains(s.Path, "telemetry") || strings.Contains(s.Path, "agents") {
					t.Errorf("%s%s was let through", s.Host, s.Path)
				}
			}
			if calls < 2 {
				t.Errorf("%d calls of the model", calls)
			}
			recording := p.recording(t, model)
			for _, want := range []string{`telemetry.individual.githubcopilot.com:443`, `api.individual.githubcopilot.com/mcp/readonly`,
				`api.github.com/copilot_internal/user`} {
				if !strings.Contains(recording, want) {
					t.Errorf("%s is not in the recording", want)
				}
			}
			if path == "/responses" && !strings.Contains(recording, `"nano_aiu":1250000000`) {
				t.Error("GitHub's charge is not recorded")
			}
			p.wantNoKey(t, recording+out)
			boxes.check(t)
			lock, err := os.ReadFile(filepath.Join(p.runs, model, "run.json"))
			if err != nil || !strings.Contains(string(lock), `"tls": "end"`) {
				t.Errorf("%v: %s", err, lock)
			}
		})
	}
	t.Cleanup(func() { p.wantNothingLeft(t) })
}

// boxScan is what could be seen of a box while it asked the model.
type boxScan struct {
	sync.Once
	texts   []string // inspections, environments, files
	dummies int      // processes that hold a token
}

// once looks at the boxes on this machine in which the CLI runs.
func (s *boxScan) once() {
	s.Do(func() {
		ids, _ := exec.Command("docker", "ps", "--quiet", "--no-trunc").Output() // check sees that something was found
		for _, id := range strings.Fields(string(ids)) {
			processes, _ := exec.Command("docker", "top", id, "-eo", "pid,args").Output()
			if !strings.Contains(string(processes), "/opt/copilot/copilot") {
				continue
			}
			inspection, _ := exec.Command("docker", "inspect", id).Output()
			s.texts = append(s.texts, string(inspection), string(processes))
			for line := range strings.Lines(string(processes)) {
				if fields := strings.Fields(line); len(fields) > 0 {
					s.process(fields[0])
				}
			}
		}
	})
}

// process looks at the environment and the files of a process in a box.
func (s *boxScan) process(pid string) {
	env, err := os.ReadFile(filepath.Join("/proc", pid, "environ"))
	if err != nil {
		return
	}
	s.texts = append(s.texts, string(env))
	if strings.Contains(string(env), "COPILOT_GITHUB_TOKEN=gho_") {
		s.dummies++
	}
	for _, dir := range []string{"home/agent", "tmp", "workspace"} {
		_ = filepath.WalkDir(filepath.Join("/proc", pid, "root", dir), func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				text, _ := os.ReadFile(path)
				s.texts = append(s.texts, string(text))
			}
			return nil // files come and go
		})
	}
}

func (s *boxScan) check(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("docker"); err != nil || os.Geteuid() != 0 {
		t.Log("boxes were not looked into: that takes the docker program and root")
		return
	}
	mask := gateway.NewMask([]byte(githubToken))
	for _, text := range s.texts {
		if mask.Found([]byte(text)) {
			t.Errorf("the token stands in a box: %.200q", text)
		}
	}
	if s.dummies == 0 || len(s.texts) < 5 {
		t.Errorf("%d texts of boxes were seen, %d processes with a dummy", len(s.texts), s.dummies)
	}
}

// wantNoKey looks for the token in all that is on the disk, and in a text.
func (p place) wantNoKey(t *testing.T, text string) {
	t.Helper()
	mask := gateway.NewMask([]byte(githubToken))
	if mask.Found([]byte(text)) {
		t.Error("the token stands in the recording or the output")
	}
	files := 0
	for _, root := range []string{p.runs, p.state} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			files++
			found, err := mask.FoundIn(f)
			if found {
				t.Errorf("the token stands in %s", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 5 {
		t.Errorf("only %d files were looked at", files)
	}
}

// A refused token and a model that GitHub does not offer show before anything
// is made.
func TestLoginPreflight(t *testing.T) {
	p := place{filepath.Join(t.TempDir(), "runs"), filepath.Join(t.TempDir(), "state")}
	const id = "traversal/add-parameter/math/n005/01"
	gh := standIn(t, id, func() {})
	out, code := p.behind(t, gh, "--agent", "copilot", "--model", "gpt-9", "--grid", id)
	if code != exitPaused || !strings.Contains(out, `no model "gpt-9"; there is: gpt-5.4, claude-sonnet-4.6`) {
		t.Errorf("code %d\n%s", code, out)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("gho_expired_expired_expired_expired_0000"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code = p.behind(t, gh, "--agent", "copilot", "--model", "gpt-5.4", "--grid", id, "--github-token-file", file)
	if code != exitPaused || !strings.Contains(out, "GitHub refuses the token (status 401)") || strings.Contains(out, "gho_") {
		t.Errorf("code %d\n%s", code, out)
	}
}
