package bench

import (
	"context"
	"path/filepath"
	"testing"

	"cabra-run/results"
)

// What is written as a trial is one to the store: done, with its requests.
func TestThroughputWritesWholeTrials(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	rate, steps, err := throughput(context.Background(), dir, 4, 2)
	if err != nil || rate <= 0 || len(steps) != 4 {
		t.Fatalf("rate %v, steps %v, %v", rate, steps, err)
	}
	store, err := results.Open(dir, results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for r, err := range store.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if r.State != results.StateDone || len(r.Attempts) != 1 || r.Attempts[0].Usage.Exchanges != exchangesEach || !r.Attempts[0].HasArtefacts {
			t.Errorf("trial %s is not whole: %+v", r.TaskID, r)
		}
	}
}
