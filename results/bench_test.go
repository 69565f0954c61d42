package results_test

import (
	"context"
	"io"
	"testing"

	"cabra-run/results"
)

// BenchmarkTrial takes trials through every durable step: start, three
// exchanges, artefacts, row, verdict.
func BenchmarkTrial(b *testing.B) {
	s, err := results.Create(b.TempDir()+"/r", testLock())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	trials := testTrials(b.N)
	if err := s.Plan(context.Background(), trials); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for _, trial := range trials {
		if err := work(context.Background(), s, io.Discard, trial.Key); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFullGrid plans the 6,840 trials of the full grid and reads them.
func BenchmarkFullGrid(b *testing.B) {
	trials := testTrials(6840)
	for b.Loop() {
		s, err := results.Create(b.TempDir()+"/r", testLock())
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Plan(context.Background(), trials); err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, err := range s.Results(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != len(trials) {
			b.Fatal(n)
		}
		s.Close()
	}
}
