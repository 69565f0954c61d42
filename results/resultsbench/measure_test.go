package resultsbench

import (
	"context"
	"path/filepath"
	"testing"

	"cabra-run/results"
)

// A built run is a finished one like any other, with right books.
func TestBuildAndMeasure(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "r")
	const n = 2500 // more than two pages of readers
	if err := Build(ctx, dir, n, true); err != nil {
		t.Fatal(err)
	}
	r, err := Measure(ctx, dir)
	if err != nil || r.Trials != n || r.Results == 0 || r.DatabaseBytes == 0 || r.ResumePlanning() <= r.Recover {
		t.Errorf("%+v, %v", r, err)
	}
	s, err := results.Open(dir, results.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	place := 0
	for tr, err := range s.Results(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if tr.Seq != place || tr.State != results.StateDone || len(tr.Verdicts) != 2 || len(tr.Verdicts[0].Checks) != 5 ||
			len(tr.Attempts) != attemptsOf(place) || tr.Usage.Exchanges != exchangesEach*attemptsOf(place) {
			t.Fatalf("at place %d: %+v", place, tr)
		}
		place++
	}
	counts, err := s.Counts(ctx)
	if place != n || err != nil || counts != (results.Counts{Planned: n, Done: n}) {
		t.Errorf("%d trials, %+v, %v", place, counts, err)
	}
}

// Recorded trials are whole: nothing is left to do, and nothing is left over.
func TestRecord(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "r")
	w, err := Record(ctx, dir, 5, 2)
	if err != nil || w.PerSecond() <= 0 || w.TrialBytes < 72_000 { // the artefacts alone
		t.Fatalf("%+v, %v", w, err)
	}
	s, err := results.Open(dir, results.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	counts, err := s.Counts(ctx)
	if err != nil || counts.Done != 5 || s.CheckBooks(ctx) != nil {
		t.Errorf("%+v, %v", counts, err)
	}
	if rec, err := s.Recover(ctx); err != nil || len(rec.Missing)+rec.RemovedTemp > 0 {
		t.Errorf("%+v, %v", rec, err)
	}
}
