package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/results/resultstest"
)

// tortureVar asks for the long form of tests that kill, with so many rounds.
const tortureVar = "CABRA_TEST_TORTURE"

// torture is the number of rounds of the long form, 0 for the short one.
func torture(t *testing.T) int {
	t.Helper()
	text := os.Getenv(tortureVar)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number of rounds", tortureVar, text)
	}
	return n
}

// teller is a provider that outlives whoever is killed. It has the agent run one
// command and then end, and tells each request's number as its input tokens.
type teller struct {
	mu     sync.Mutex
	serial int64
	calls  resultstest.Calls
	refuse int // the status that everybody gets, 0 for answers
}

func newTeller(t *testing.T) (*teller, string) {
	p := &teller{calls: resultstest.Calls{Asked: map[int64]bool{}, Answered: map[int64]bool{}}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return p, server.URL + "/v1"
}

func (p *teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Messages []struct{ Role string } }
	if json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Messages) == 0 {
		return // the gateway was killed
	}
	if status := p.refuses(); status != 0 {
		http.Error(w, `{"error":{"message":"no such key"}}`, status)
		return
	}
	id := p.note(&p.calls.Asked, 0)
	message := map[string]any{"role": "assistant", "content": "done"}
	if body.Messages[len(body.Messages)-1].Role != "tool" {
		message["tool_calls"] = []any{map[string]any{"id": fmt.Sprint("call-", id), "type": "function",
			"function": map[string]string{"name": "bash", "arguments": `{"command":"echo x >> notes"}`}}}
	}
	text, err := json.Marshal(map[string]any{
		"object": "chat.completion", "choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": message}},
		"usage": map[string]int64{"prompt_tokens": id, "completion_tokens": 10, "total_tokens": id + 10}})
	if err != nil {
		return
	}
	p.note(&p.calls.Answered, id)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the ledger has it, whether it arrives or not
}

func (p *teller) refuses() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refuse
}

func (p *teller) setRefuse(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = status
}

// note puts a number into a list, the next one for 0.
func (p *teller) note(list *map[int64]bool, id int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == 0 {
		p.serial++
		id = p.serial
	}
	(*list)[id] = true
	return id
}

func (p *teller) seen() resultstest.Calls {
	p.mu.Lock()
	defer p.mu.Unlock()
	return resultstest.Calls{Asked: maps.Clone(p.calls.Asked), Answered: maps.Clone(p.calls.Answered)}
}

// The real program on the real engine is killed at random and called again until
// its run is done. Nothing is lost, nothing is made or paid twice, and of all
// the dead processes nothing remains.
func TestRealKilledAnywhere(t *testing.T) {
	p := newPlace(t)
	t.Setenv("CABRA_API_KEY", "sk-teller-0123456789abcdef")
	want, tasks, rng := 3, 2, rand.New(rand.NewPCG(2, uint64(torture(t))))
	if n := torture(t); n > 0 {
		want, tasks = 30*n, 5
	}
	kills, runs := 0, 0
	for ; kills < want && !t.Failed(); runs++ {
		kills += p.killUntilDone(t, fmt.Sprint("killed", runs), tasks, rng)
	}
	p.wantNothingLeft(t)
	t.Logf("%d kills of %d runs of %d trials; nothing left, nothing lost", kills, runs, 2*tasks)
}

// killUntilDone works off a run of so many tasks with two models each.
func (p place) killUntilDone(t *testing.T, run string, tasks int, rng *rand.Rand) (kills int) {
	t.Helper()
	provider, url := newTeller(t)
	dir, jobs, seen := filepath.Join(p.runs, run), 1+rng.IntN(3), resultstest.History{}
	begin := []string{"--agent", tinyAgent, "--model", "teller,other", "--base-url", url, "--no-preflight", "--run", run,
		"--grid", "axis=search; size=5; instances=1; code=math", "--limit", fmt.Sprint(tasks), "--jobs", fmt.Sprint(jobs)}
	resume := []string{"resume", run, "--base-url", url, "--no-preflight", "--jobs", fmt.Sprint(jobs)}
	for args := begin; ; kills++ {
		done := p.killed(t, 1+rng.IntN(9), time.Duration(rng.IntN(2000))*time.Millisecond, args)
		seen.Look(t, dir)
		if done {
			break
		}
		args = resume
		if !isRun(t, dir) {
			args = begin
		}
	}
	store, err := results.Open(dir, results.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	resultstest.CheckDone(t, store, 2*tasks)
	resultstest.CheckMoney(t, store, provider.seen(), kills*jobs)
	resultstest.CheckFolder(t, store)
	resultstest.CheckDatabase(t, dir)
	return kills
}

// isRun reports whether the folder has become a run. One that was killed on the
// way to that is removed, as the program says that it should be.
func isRun(t *testing.T, dir string) bool {
	t.Helper()
	store, err := results.Open(dir, results.ReadOnly)
	var none *results.NotRunError
	switch {
	case err == nil:
		return store.Close() == nil
	case !errors.As(err, &none):
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	return false
}

// killed calls the program and kills it that long after so many lines of its
// log; it reports whether the program came to its end before.
func (p place) killed(t *testing.T, lines int, after time.Duration, args []string) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, p.args(args...)...)
	cmd.Env = append(os.Environ(), programVar+"=1")
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var log []byte
	scan := bufio.NewScanner(io.LimitReader(said, 1<<20))
	for n := 1; scan.Scan(); n++ {
		log = append(append(log, scan.Bytes()...), '\n')
		if n == lines {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	err = cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err != nil && (!ok || status.Signal() != syscall.SIGKILL) {
		t.Fatalf("the program failed by itself: %v\n%s", err, log)
	}
	return err == nil
}

// A provider that refuses the key pauses the run with one message and an exit
// code of its own. Nothing pending is taken for done, and a resume goes on.
func TestRealPaused(t *testing.T) {
	p := newPlace(t)
	t.Setenv("CABRA_API_KEY", "sk-teller-0123456789abcdef")
	provider, url := newTeller(t)
	provider.setRefuse(http.StatusUnauthorized)
	_, errOut, code := p.cabra(t, "--agent", tinyAgent, "--model", "teller", "--base-url", url, "--no-preflight",
		"--run", "paused", "--grid", "traversal/add-parameter/math/n005/01", "--repeat", "3", "--jobs", "1")
	if code != exitPaused || strings.Count(errOut, "pausing: ") != 1 ||
		!strings.Contains(errOut, "paused with 3 of 3 trials to do") ||
		!strings.Contains(errOut, "cabra-run resume ") {
		t.Errorf("code %d, want %d with one line when it pauses\n%s", code, exitPaused, errOut)
	}
	if done := p.attemptsOfDone(t, "paused"); len(done) > 0 {
		t.Errorf("done: %v", done)
	}
	provider.setRefuse(0)
	if _, errOut, code := p.cabra(t, "resume", "paused", "--base-url", url, "--no-preflight"); code != exitOK {
		t.Fatalf("resume: code %d\n%s", code, errOut)
	}
	for _, r := range p.rows(t, "paused") {
		if r.Outcome != results.Failed || r.StrictSolved == nil {
			t.Errorf("%s: %s %s", r.TaskID, r.Outcome, r.Reason)
		}
	}
	p.wantNothingLeft(t)
}
