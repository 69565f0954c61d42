package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/results"
	"cabra-run/results/report"
)

// call calls the program and fails the test unless it ends with this code.
func (p place) call(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, got := p.cabra(t, args...)
	if got != code {
		t.Fatalf("%v: code %d, want %d\n%s\n%s", args, got, code, stdout, stderr)
	}
	return stdout, stderr
}

func wantText(t *testing.T, where, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %q is missing in:\n%s", where, part, text)
		}
	}
}

// solvedBy counts the solved trials of each agent and model.
func solvedBy(rows []report.Row) map[string]int {
	n := map[string]int{}
	for _, r := range rows {
		if r.Outcome == "solved" {
			n[r.Agent+" "+r.Model]++
		}
	}
	return n
}

// Two agents and two models, in two parts: united they are the whole run, with
// every trial once, and nothing is left to do.
func TestRealShardsAreUnited(t *testing.T) {
	p := newReferencePlace(t)
	flags := []string{"--agent", "reference,llm", "--model", "scripted,scripted:wrong", "--limit", "4",
		"--grid", "axis=traversal; size=5; code=math; instances=1"}
	for _, i := range []string{"1", "2"} {
		p.call(t, exitOK, append([]string{"--run", "part" + i, "--shard", i + "/2"}, flags...)...)
	}
	_, missing := p.call(t, exitError, "merge", "part1", "--run", "whole")
	wantText(t, "a part alone", missing, "shard 2/2 is missing")
	out, _ := p.call(t, exitOK, "merge", "part2", "part1", "--run", "whole")
	wantText(t, "merge", out, "12 of 12 trials done")
	rows := p.rows(t, "whole")
	seen := map[string]bool{}
	for _, r := range rows {
		seen[string(r.TaskID)+" "+r.Agent+" "+r.Model] = true
	}
	// Four tasks for the agent that asks no model and for each of the two models.
	if len(rows) != 12 || len(seen) != 12 {
		t.Errorf("%d rows of %d trials, want 12 of 12", len(rows), len(seen))
	}
	want := map[string]int{"reference none": 4, "llm scripted": 4}
	if got := solvedBy(rows); got["reference none"] != want["reference none"] || got["llm scripted"] != want["llm scripted"] ||
		got["llm scripted:wrong"] != 0 {
		t.Errorf("solved %v, want %v", got, want)
	}
	_, again := p.call(t, exitOK, "resume", "whole")
	wantText(t, "resume of the whole", again, "done=12", "trials=12")
	p.wantNothingLeft(t)
}

// A run is packed, unpacked elsewhere, and made again there from its recording:
// no provider is there, and the code comes out the same.
func TestRealBundleIsReplayed(t *testing.T) {
	p := newReferencePlace(t)
	p.call(t, exitOK, "--agent", "llm", "--model", "scripted", "--run", "first",
		"--grid", "axis=traversal,search; size=5; code=math; task=dead-code; instances=1")
	file := filepath.Join(t.TempDir(), "first.tar.zst")
	p.call(t, exitOK, "export", "first", "--bundle", "--out", file)
	other := place{filepath.Join(t.TempDir(), "runs"), p.state}
	other.call(t, exitOK, "import", "bundle", file, "--run", "unpacked")
	if err := os.RemoveAll(filepath.Join(p.runs, "first")); err != nil {
		t.Fatal(err)
	}
	out, _ := other.call(t, exitOK, "rerun", "unpacked", "--replay", "--run", "again")
	wantText(t, "replay", out, "Replay: 2 came out with the same code, 0 with other code, 0 stopped", "REPLAY of first")
	// The recording of a task is not that of another: told a wrong size, nothing
	// is run.
	_, none := other.call(t, exitUsage, "rerun", "unpacked", "--replay", "--filter", "size=200")
	wantText(t, "filter", none, "takes none of the run's trials")
	p.wantNothingLeft(t)
}

// What is asked for may differ; anything else stops a rerun.
func TestRealRerunCompares(t *testing.T) {
	p := newReferencePlace(t)
	p.call(t, exitOK, "--agent", "llm", "--model", "scripted", "--run", "first",
		"--grid", "axis=traversal,search; size=5; code=math; task=dead-code; instances=2")
	out, _ := p.call(t, exitOK, "rerun", "first", "--model", "scripted:wrong", "--filter", "axis=search", "--run", "second")
	wantText(t, "comparison", out, "Solved in A alone: 2; in B alone: 0; in both: 0; in neither: 0")
	if rows := p.rows(t, "second"); len(rows) != 2 || rows[0].Outcome != "failed" || rows[1].Outcome != "failed" {
		t.Errorf("rows %+v", rows)
	}
	_, exists := p.call(t, exitError, "rerun", "first", "--run", "second")
	wantText(t, "a name that is taken", exists, "there is a run or folder")
	out, _ = p.call(t, exitOK, "audit", "second")
	wantText(t, "audit", out, "2 recorded requests", "everything fits")
	recordings, err := filepath.Glob(filepath.Join(p.runs, "second", "trials", "search", "*", "*", "*", "*", "*", "*", results.RecordingFile))
	if err != nil || len(recordings) != 2 {
		t.Fatalf("recordings %v %v", recordings, err)
	}
	if err := os.Remove(recordings[0]); err != nil {
		t.Fatal(err)
	}
	out, _ = p.call(t, exitError, "audit", "second")
	wantText(t, "audit of a run that lost a recording", out, "WRONG  search/dead-code/math/n005/")
	out, _ = p.call(t, exitOK, "compare", "second", "first")
	wantText(t, "the other way round", out, "Solved in A alone: 0; in B alone: 2")
}

// A finished run whose trials say nothing about the agent is tried again by a
// resume; with --retry-class one that timed out is, too.
func TestRealResumeTriesAgain(t *testing.T) {
	p := newReferencePlace(t)
	p.call(t, exitIncomplete, "--agent", "llm", "--model", "scripted:error:500", "--run", "broken",
		"--grid", "axis=traversal; size=5; code=math; task=dead-code; instances=1")
	_, again := p.call(t, exitIncomplete, "resume", "broken")
	wantText(t, "resume", again, "1 finished trials are tried again")
	if rows := p.rows(t, "broken"); len(rows) != 1 || rows[0].Attempts != 2 {
		t.Errorf("rows %+v, want one trial with two attempts", rows)
	}
	p.call(t, exitOK, "--agent", "llm", "--model", "scripted:idle", "--timeout", "2s", "--run", "slow",
		"--grid", "axis=traversal; size=5; code=math; task=dead-code; instances=1")
	p.call(t, exitOK, "resume", "slow")
	if rows := p.rows(t, "slow"); rows[0].Attempts != 1 || rows[0].Outcome != "timeout" {
		t.Errorf("rows %+v, want one timeout", rows)
	}
	p.call(t, exitOK, "resume", "slow", "--retry-class", "timeout")
	if rows := p.rows(t, "slow"); rows[0].Attempts != 2 || rows[0].Outcome != "timeout" {
		t.Errorf("rows %+v, want two attempts", rows)
	}
	_, bad := p.call(t, exitUsage, "resume", "slow", "--retry-class", "solved")
	wantText(t, "a class that is none", bad, "there is: timeout, stalled, limit, agent_error, no_output")
}

// A session that grows is a sign of work: such an agent is not taken for stalled,
// however short the time without one may be; one that rests is.
func TestRealSessionIsASignOfWork(t *testing.T) {
	p := newReferencePlace(t)
	task := []string{"--grid", "axis=traversal; size=5; code=math; task=dead-code; instances=1", "--stall", "5s",
		"--model", "scripted", "--attempts", "1"}
	p.call(t, exitOK, append([]string{"--agent", "testdata/agents/diarist.toml", "--run", "writes"}, task...)...)
	if rows := p.rows(t, "writes"); len(rows) != 1 || rows[0].Outcome != "agent_error" {
		t.Errorf("rows %+v, want the end of one that has asked no model", rows)
	}
	text, err := os.ReadFile("testdata/agents/diarist.toml")
	if err != nil {
		t.Fatal(err)
	}
	resting := filepath.Join(t.TempDir(), "resting.toml")
	if err := os.WriteFile(resting, []byte(strings.ReplaceAll(string(text), "${REST:-0}", "60")), 0o600); err != nil {
		t.Fatal(err)
	}
	p.call(t, exitOK, append([]string{"--agent", resting, "--run", "rests"}, task...)...)
	if rows := p.rows(t, "rests"); len(rows) != 1 || rows[0].Outcome != "stalled" {
		t.Errorf("rows %+v, want stalled", rows)
	}
}
