package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// By the nearest rank: of ten values the 95th percentile is the largest, the
// median the fifth.
func TestQuantile(t *testing.T) {
	ten := []float64{10, 1, 9, 2, 8, 3, 7, 4, 6, 5}
	for _, c := range []struct {
		values     []float64
		part, want float64
	}{
		{ten, 0.5, 5}, {ten, 0.95, 10}, {ten, 0.1, 1}, {[]float64{7}, 0.95, 7}, {[]float64{3, 1, 2}, 0.5, 2}, {nil, 0.5, 0},
	} {
		if got := quantile(c.values, c.part); got != c.want {
			t.Errorf("quantile(%v, %v) = %v, want %v", c.values, c.part, got, c.want)
		}
	}
}

func TestReportSaysWhetherAimsAreMet(t *testing.T) {
	r := Report{Version: "1", At: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), CPUs: 2, Load: "0.10 0.20 0.30", LoadEnd: "1 1 1"}
	r.aim(Figure{Part: "start", Name: "first", Unit: "ms", How: "by hand"}, 1000, []float64{250, 900, 5000})
	r.aim(Figure{Part: "start", Name: "second", Unit: "ms"}, 1000, []float64{1001})
	r.add(Figure{Part: "store", Name: "third", Unit: "trials/s"}, []float64{0.1234})
	var b bytes.Buffer
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(b.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	text := strings.Join(rows, "\n")
	for _, want := range []string{
		"first 3 900 5000 ms ≤ 1000 ms met", "second 1 1001 1001 ms ≤ 1000 ms NOT MET", "third 1 0.123 0.123 trials/s",
		"2 CPUs, load average 0.10 0.20 0.30 at the start, 1 1 1 at the end", "first: by hand",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

// With two at a time the third trial's place is free when the first one ends.
func TestTurns(t *testing.T) {
	at := func(ms int) time.Time { return time.Time{}.Add(time.Duration(ms) * time.Millisecond) }
	a, b, c := key{"t", 1}, key{"t", 2}, key{"t", 3}
	turns := turns{began: at(0), order: []key{a, b, c}, ends: []time.Time{at(100), at(150), at(260)},
		ended: map[key]time.Time{b: at(100), a: at(150), c: at(260)}}
	got := turns.took(2)
	want := []float64{150, 100, 160}
	for i := range want {
		if len(got) != 3 || got[i] != want[i] {
			t.Fatalf("took %v, want %v", got, want)
		}
	}
}
