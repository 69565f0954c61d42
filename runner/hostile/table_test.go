package hostile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// table lists the attacks that were made.
type table struct {
	alone float64 // the honest agent's time with nobody beside it, in seconds
	rows  []row
}

type row struct {
	b    *bout
	cost cost
	good bool
}

func (y *table) add(t *testing.T, b *bout, c cost) {
	y.rows = append(y.rows, row{b, c, !t.Failed()})
}

// String has one line for each attack, and the sums.
func (y *table) String() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "agent\tattacks\toutcome\texpected\twall\tending\tmemory\thonest\theap\tleaks\t")
	leaks, failed := 0, 0
	var times []float64
	for _, r := range y.rows {
		mark := ""
		if !r.good {
			mark = "FAILED"
			failed++
		}
		leaks += r.cost.leaks
		times = append(times, r.b.beside.WallSeconds)
		var want []string
		for _, e := range r.b.want {
			want = append(want, e.String())
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d MiB\t%s\t%d MiB\t%d\t%s\n", r.b.name, r.b.aim,
			end{r.b.attacker.Outcome, r.b.attacker.LimitHit}, strings.Join(want, ", "), seconds(r.b.attacker.WallSeconds),
			seconds(r.b.ending()),
			r.b.attacker.MemoryPeak>>20, seconds(r.b.beside.WallSeconds), r.cost.heap>>20, r.cost.leaks, mark)
	}
	_ = w.Flush() // into memory
	if len(times) > 0 {
		slices.Sort(times)
		fmt.Fprintf(&text, "%d hostile agents, %d leaks, %d failed; the honest agent took %s alone, "+
			"%s in the middle and %s at most beside them\n", len(y.rows), leaks, failed,
			seconds(y.alone), seconds(times[len(times)/2]), seconds(times[len(times)-1]))
	}
	return text.String()
}

// ending is how long it took to end the attack, to collect what it left and to
// remove its box, in seconds.
func (b *bout) ending() float64 {
	return b.attacker.Ended.Sub(b.attacker.Started).Seconds() - b.attacker.WallSeconds
}

func (e end) String() string {
	if e.limit == "" {
		return string(e.outcome)
	}
	return fmt.Sprintf("%s (%s)", e.outcome, e.limit)
}
