package results_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"cabra-run/results"
)

// Shards that were tried again by other rules are not parts of one run: what is
// finished by the one's is not by the other's.
func TestMergeOtherRetries(t *testing.T) {
	dir := memoryDir(t)
	dirs := shards(t, dir, 6, 2, func(i int, l *results.Lock) {
		if i == 2 {
			l.Retry.Attempts = 1
		}
	})
	dst := filepath.Join(dir, "all")
	_, err := results.Merge(t.Context(), dst, dirs, results.MergeOptions{})
	var wrong *results.MergeError
	if !errors.As(err, &wrong) || len(wrong.Differences) != 1 || wrong.Differences[0].Field != "tried again (shard 2/2)" {
		t.Fatalf("%+v", err)
	}
	report, err := results.Merge(t.Context(), dst, dirs, results.MergeOptions{AllowDrift: true})
	if err != nil || !slices.Equal(report.Drift, wrong.Differences) {
		t.Errorf("%+v, %v", report, err)
	}
}

// What a provider was asked and what a recording has answered is not one run.
func TestMergeReplayed(t *testing.T) {
	dir := memoryDir(t)
	dirs := shards(t, dir, 6, 2, func(i int, l *results.Lock) {
		l.Origin = &results.Origin{Run: "old", Replay: i == 2}
	})
	_, err := results.Merge(t.Context(), filepath.Join(dir, "all"), dirs, results.MergeOptions{})
	var wrong *results.MergeError
	if !errors.As(err, &wrong) || len(wrong.Differences) != 1 || wrong.Differences[0].Field != "answered from a recording (shard 2/2)" {
		t.Fatalf("%+v", err)
	}
}

// Two merges to one place do not get in each other's way, not even when one has
// closed its run and not yet put it into its place.
func TestMergeTwiceAtOnce(t *testing.T) {
	dir := memoryDir(t)
	dirs := shards(t, dir, 6, 2, nil)
	staging := filepath.Join(dir, ".all.merging")
	if err := os.Mkdir(staging, 0o755); err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(staging) // as the other merge has it
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(staging, "run.db")
	if err := os.WriteFile(half, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var locked *results.LockedError
	if _, err := results.Merge(t.Context(), filepath.Join(dir, "all"), dirs, results.MergeOptions{}); !errors.As(err, &locked) {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); err != nil {
		t.Error(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Merge(t.Context(), filepath.Join(dir, "all"), dirs, results.MergeOptions{}); err != nil {
		t.Error(err)
	}
}
