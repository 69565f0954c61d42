package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/results"
)

// rerunOf makes a rerun of a run, with the same trial.
func rerunOf(t *testing.T, old string, replay bool) *results.Store {
	t.Helper()
	digest, err := lockDigest(old)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "again")
	store, err := results.Create(dir, results.Lock{Run: "again", Model: "m", Agent: results.Agent{Name: "copilot", Version: "1", Wire: "chat"},
		Scorer: results.Scorer{Verdicts: []string{"strict"}}, Retry: results.DefaultRetry(),
		Origin: &results.Origin{Run: "r", Dir: old, Lock: digest, Replay: replay}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// A rerun that was cut off and continued ends as one that was not: with the
// comparison, or with what the replay came to.
func TestContinuedRerunEndsWithItsComparison(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old")
	if err := usedRun(old); err != nil {
		t.Fatal(err)
	}
	printed := func(store *results.Store) (stdout, stderr string) {
		var out, errs bytes.Buffer
		if err := printBesideOrigin(t.Context(), &app{stdout: &out, stderr: &errs}, store); err != nil {
			t.Fatal(err)
		}
		return out.String(), errs.String()
	}
	if out, _ := printed(rerunOf(t, old, false)); !strings.Contains(out, "Comparison of run again with run r\n") {
		t.Errorf("a rerun ends with %q", out)
	}
	if out, _ := printed(rerunOf(t, old, true)); !strings.Contains(out, "\nReplay: 0 came out with the same code") {
		t.Errorf("a replay ends with %q", out)
	}
	left := rerunOf(t, old, false)
	if err := os.Rename(old, old+"-moved"); err != nil {
		t.Fatal(err)
	}
	if out, errs := printed(left); out != "" || !strings.Contains(errs, "not compared with the run that this one runs again: ") {
		t.Errorf("without the original: %q, %q", out, errs)
	}
	own, err := results.Open(old+"-moved", results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if out, errs := printed(own); out+errs != "" {
		t.Errorf("a run of its own: %q, %q", out, errs)
	}
}

// The summary of a replay fits a terminal.
func TestReplaySummaryFits(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old")
	if err := usedRun(old); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printReplay(t.Context(), &app{stdout: &out, stderr: &out}, rerunOf(t, old, true)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
