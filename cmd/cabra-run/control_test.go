package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/runner"
	"cabra-run/runner/control"
)

// command runs one command of the program in this process.
func command(a *app, cmd *cobra.Command, args ...string) (stdout string, err error) {
	var out bytes.Buffer
	a.stdout, a.stderr = &out, io.Discard
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(context.Background())
	return out.String(), err
}

// openNew makes a run with one trial that stays open for writing.
func openNew(t *testing.T, a *app, name string) (*results.Store, results.Trial) {
	t.Helper()
	store, err := results.Create(filepath.Join(a.runsDir, name), results.Lock{Run: name, Agent: results.Agent{Name: "copilot"},
		Model: "m", Retry: results.DefaultRetry(), Scorer: results.Scorer{Verdicts: []string{"strict"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	trial := results.Trial{TaskID: "traversal/add-return/math/n005/01", Agent: "copilot", Model: "m", Repetition: 1}
	trial.Key = results.TrialKey(trial)
	if err := store.Plan(t.Context(), []results.Trial{trial}); err != nil {
		t.Fatal(err)
	}
	return store, trial
}

func testApp(t *testing.T) *app {
	t.Helper()
	return &app{stdout: io.Discard, stderr: io.Discard, stateDir: filepath.Join(t.TempDir(), "state"), runsDir: t.TempDir()}
}

// Another terminal sees and steers a sweep by name, and is told when there is none.
func TestControl(t *testing.T) {
	a := testApp(t)
	store, _ := openNew(t, a, "smoke")
	s := &runner.Sweep{Stop: runner.NewStopper()}
	s.SetJobs(3)
	end := a.steer(store, s)
	ask := func(args ...string) (string, error) {
		other := &app{stateDir: a.stateDir, runsDir: a.runsDir}
		return command(other, newControl(other), append([]string{"smoke"}, args...)...)
	}
	out, err := ask()
	if want := fmt.Sprintf("run smoke, process %d: running, 0 of at most 3 attempts at the same time\n"+
		"0 of 0 trials done, spent $0.00\n", os.Getpid()); out != want || err != nil {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
	out, err = ask("--jobs", "5", "--json")
	var state control.State
	if jsonErr := json.Unmarshal([]byte(out), &state); err != nil || jsonErr != nil || state.Jobs != 5 || s.Live().Jobs != 5 {
		t.Errorf("%s, %v, %v", out, err, jsonErr)
	}
	if out, err = ask("--drain"); err != nil || s.Stop.Level() != runner.Drain || !strings.Contains(out, "draining (told to by cabra-run control)") {
		t.Errorf("%s, %v", out, err)
	}
	if out, err = ask("--halt"); err != nil || s.Stop.Level() != runner.Halt || !strings.Contains(out, "halting (told to") {
		t.Errorf("%s, %v", out, err)
	}
	end()
	wantHint(t, ask, fmt.Sprintf("process %d has it open; if that is a sweep, it has another --state-dir", os.Getpid()))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	wantHint(t, ask, "continue it: cabra-run resume "+filepath.Join(a.runsDir, "smoke"))
}

func wantHint(t *testing.T, ask func(...string) (string, error), want string) {
	t.Helper()
	_, err := ask()
	hint, code := explain(err)
	if err == nil || err.Error() != `run "smoke" is not being worked on here` || hint != want || code != exitError {
		t.Errorf("%v, hint %q, code %d; want hint %q", err, hint, code, want)
	}
}

func TestUsageOfControlAndDebug(t *testing.T) {
	a := testApp(t)
	store, _ := openNew(t, a, "smoke")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cmd  func(*app) *cobra.Command
		args []string
		want string
	}{
		{newControl, []string{"smoke", "--drain", "--halt"}, "--drain, --halt and --jobs exclude each other"},
		{newControl, []string{"smoke", "--jobs", "0"}, "--jobs 0: 1 to 256"},
		{newControl, []string{"smoke", "--jobs", "300"}, "--jobs 300: 1 to 256"},
		{newControl, nil, "accepts 1 arg(s), received 0"},
		{newDebug, []string{"smoke"}, "accepts 2 arg(s), received 1"},
		{newDebug, []string{"smoke", "x"}, `no such trial of task "x" in this run`},
		{newDebug, []string{"smoke", "x", "--model", "openai/gpt-5.5"}, "gets none but scripted[:BEHAVIOUR]"},
		{newDebug, []string{"smoke", "x", "--attempt", "0"}, "--attempt 0: attempts are counted from 1"},
		{newDebug, []string{"smoke", "x", "--filter", "colour=red"}, "--filter: "},
		{newDebug, []string{"smoke", "traversal/add-return/math/n005/01", "--repetition", "2"}, "no such trial of task"},
	} {
		_, err := command(a, tt.cmd(a), tt.args...)
		if _, code := explain(err); err == nil || !strings.Contains(err.Error(), tt.want) || code != exitUsage {
			t.Errorf("%v: %v, code %d; want %s", tt.args, err, code, tt.want)
		}
	}
	_, err := command(a, newControl(a), "none")
	if err == nil || !strings.Contains(err.Error(), `no run "none"`) {
		t.Errorf("%v", err)
	}
}

// Watching follows what the writer does, and ends when that lets go of the run.
func TestWatch(t *testing.T) {
	a := testApp(t)
	store, trial := openNew(t, a, "smoke")
	pr, pw := io.Pipe()
	codes := make(chan int, 1)
	go func() {
		codes <- run([]string{"status", "smoke", "--watch", "--every", "100ms", "--runs", a.runsDir, "--state-dir", a.stateDir}, pw, io.Discard)
		pw.Close()
	}()
	lines := bufio.NewScanner(pr)
	want := func(text string) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("ended; want %s", text)
		}
		if _, after, _ := strings.Cut(lines.Text(), " "); after != text {
			t.Errorf("%q, want %q", after, text)
		}
	}
	want("0 of 1 trials done, 0 running, 1 pending; spent $0.00")
	if _, err := store.StartAttempt(t.Context(), trial.Key); err != nil {
		t.Fatal(err)
	}
	want("0 of 1 trials done, 1 running, 0 pending; spent $0.00")
	s := &runner.Sweep{Stop: runner.NewStopper()}
	s.SetJobs(3)
	end := a.steer(store, s)
	want("0 of 1 trials done, 1 running, 0 pending; spent $0.00; 3 jobs")
	s.Stop.Raise(runner.Drain, "enough")
	want("0 of 1 trials done, 1 running, 0 pending; spent $0.00; draining (enough); 3 jobs")
	end()
	want("0 of 1 trials done, 1 running, 0 pending; spent $0.00")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	want("0 of 1 trials done, 1 running, 0 pending; spent $0.00; nobody works on the run, and 1 attempts were cut off; " +
		"continue: cabra-run resume " + filepath.Join(a.runsDir, "smoke"))
	if code := <-codes; code != exitOK || lines.Scan() {
		t.Errorf("code %d, then %q", code, lines.Text())
	}
}

// A block replaces the one before it, never wraps and never is higher than the
// terminal.
func TestScreen(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out} // of 80 by 24
	for _, tt := range []struct {
		lines []string
		want  string
	}{
		{[]string{"one", "two"}, "\r\x1b[Jone\ntwo\n"},
		{[]string{strings.Repeat("ä", 90)}, "\x1b[2A\r\x1b[J" + strings.Repeat("ä", 78) + "…\n"},
		{make([]string, 40), "\x1b[1A\r\x1b[J" + strings.Repeat("\n", 23)},
		{[]string{"end"}, "\x1b[23A\r\x1b[Jend\n"},
	} {
		out.Reset()
		if err := s.draw(tt.lines); err != nil || out.String() != tt.want {
			t.Errorf("%q, %v; want %q", out.String(), err, tt.want)
		}
	}
}

func TestBlock(t *testing.T) {
	a := &app{runsDir: defaultRunsDir}
	rate, left := 120., 90.
	v := view{Held: true, Live: &control.State{Jobs: 4, Taken: 3, Level: "running", Waiting: "no\x1b[2Jroom"},
		Status: &report.Status{Run: "smoke", Agent: "codex", Version: "1", Model: "m", Trials: report.Counts{Planned: 9, Done: 3, Pending: 3, Running: 3},
			Outcomes: []report.OutcomeCount{{Word: "solved", Trials: 3}, {Word: "pending", Trials: 6}}, TrialsPerHour: &rate, Remaining: &left}}
	for i := range 3 {
		v.Status.Running = append(v.Status.Running, report.Running{TaskID: "search/x/01", Repetition: 1, Attempt: i + 1, Seconds: 61, Exchanges: 2})
	}
	want := []string{
		"run smoke: codex 1, model m",
		"[##########--------------------] 3 of 9 trials done, 3 running, 3 pending",
		"spent $0.00; 120 trials per hour, 1m30s left at this rate; as of 00:00:00",
		"solved 3",
		"running; 3 of at most 4 attempts at the same time",
		"nothing new is started: no?[2Jroom",
		"  search/x/01, attempt 1, for 1m1s, 2 requests",
		"  and 2 more",
	}
	if got := a.block("smoke", v, 9); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	v.Held, v.Live, v.Status.Running, v.Status.Trials.Running = false, nil, nil, 0
	if got := a.block("smoke", v, 9); got[len(got)-1] != "nobody works on the run; continue: cabra-run resume smoke" {
		t.Errorf("%q", got)
	}
}

// A log line names the pairing where there are several, and why nothing starts.
func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&app{stderr: &out}, "smoke", 2)
	for _, e := range []runner.Event{
		{Kind: runner.Waiting, Reason: "nothing new is started: the disk is full"},
		{Kind: runner.Resuming, Reason: "going on with the next attempt"},
		{Kind: runner.TrialDone, Who: "codex@1 m", Task: "search/x", Repetition: 2, Attempt: 1, Word: "solved"},
		{Kind: runner.AttemptEnded, Task: "search/y", Repetition: 1, Attempt: 3, Outcome: results.Timeout, Reason: "too slow"},
	} {
		p.observe(e)
	}
	for _, want := range []string{
		"WRN nothing new is started: the disk is full\n", "INF going on with the next attempt\n",
		`INF trial done counts="solved 1" reason= repetition=2 task=search/x who="codex@1 m" word=solved` + "\n",
		`INF attempt ended attempt=3 outcome=timeout reason="too slow" task=search/y` + "\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
