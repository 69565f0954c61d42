package resultsbench

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"cabra-run/results"

	"golang.org/x/sys/unix"
)

// size is how many trials the benchmarks' run has.
const size = 100_000

// built is a run of size trials in CABRA_BENCH_RUN, made there if need be, or
// in a temporary folder.
func built(b *testing.B) string {
	b.Helper()
	dir := os.Getenv("CABRA_BENCH_RUN")
	if dir == "" {
		dir = filepath.Join(b.TempDir(), "r")
	}
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := Build(context.Background(), dir, size, true); err != nil {
		b.Fatal(err)
	}
	return dir
}

// reportCPU adds the time that both cores took: it says more than the clock on
// a machine that does other things as well.
func reportCPU(b *testing.B) {
	var before, after unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &before)
	b.Cleanup(func() {
		unix.Getrusage(unix.RUSAGE_SELF, &after)
		spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
		b.ReportMetric(float64(spent)/1e6/float64(b.N), "cpu-ms/op")
	})
}

func open(b *testing.B, mode results.Mode) *results.Store {
	b.Helper()
	s, err := results.Open(built(b), mode)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	reportCPU(b)
	return s
}

func BenchmarkResults(b *testing.B) {
	s := open(b, results.ReadOnly)
	for b.Loop() {
		n := 0
		for _, err := range s.Results(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != size {
			b.Fatal(n)
		}
	}
}

func BenchmarkPlanAgain(b *testing.B) {
	s := open(b, results.ReadWrite)
	trials := Trials(size)
	for b.Loop() {
		if err := s.Plan(context.Background(), trials); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRecover(b *testing.B) {
	s := open(b, results.ReadWrite)
	for b.Loop() {
		rec, err := s.Recover(context.Background())
		if err != nil || len(rec.Missing)+len(rec.Orphans)+len(rec.ToScore) > 0 {
			b.Fatal(rec, err)
		}
	}
}

func BenchmarkSpending(b *testing.B) {
	s := open(b, results.ReadOnly)
	for b.Loop() {
		if _, _, err := s.Spending(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckBooks(b *testing.B) {
	s := open(b, results.ReadOnly)
	for b.Loop() {
		if err := s.CheckBooks(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBrief(b *testing.B) {
	s := open(b, results.ReadOnly)
	for b.Loop() {
		for _, err := range s.Brief(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkEnded looks for what a resume tries again, of which there is nothing.
func BenchmarkEnded(b *testing.B) {
	s := open(b, results.ReadOnly)
	for b.Loop() {
		for t, err := range s.Ended(context.Background(), results.Cancelled, results.InfraError, results.ProviderError) {
			b.Fatal(t, err)
		}
	}
}

func BenchmarkUnfinished(b *testing.B) {
	s := open(b, results.ReadOnly)
	for b.Loop() {
		for t, err := range s.Unfinished(context.Background()) {
			b.Fatal(t, err)
		}
	}
}

func BenchmarkCounts(b *testing.B) {
	s := open(b, results.ReadOnly)
	for b.Loop() {
		if c, err := s.Counts(context.Background()); err != nil || c.Done != size {
			b.Fatal(c, err)
		}
	}
}

// BenchmarkRecord records trials with full sync, eight at a time.
func BenchmarkRecord(b *testing.B) {
	w, err := Record(context.Background(), filepath.Join(b.TempDir(), "r"), b.N, 8)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(w.PerSecond(), "trials/s")
	b.ReportMetric(float64(w.TrialBytes), "B/trial")
}
