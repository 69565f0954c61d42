package suite

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"cabra-run/results/trace"
)

func TestMain(m *testing.M) {
	// Stores in SQLite are read by a child of this program.
	if trace.ChildMain(os.Args[1:]) {
		return
	}
	if err := os.Setenv("CABRA_API_KEY", hostKey); err != nil {
		panic(err)
	}
	code := m.Run()
	fmt.Print(&passed)
	os.Exit(code)
}

// hostKey lies in the environment of this program, as a user's may, and is
// nobody's business in any run.
const hostKey = "sk-suite-0123456789abcdefghijklmnop"

// passed counts what every agent passed in every case.
var passed tally

// tally is a table of agents and cases.
type tally struct {
	mu            sync.Mutex
	agents, cases []string
	good, all     map[[2]string]int
}

// expect gives agent and case their places in the table.
func (y *tally) expect(agent, name string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.all == nil {
		y.good, y.all = map[[2]string]int{}, map[[2]string]int{}
	}
	y.agents, y.cases = appendNew(y.agents, agent), appendNew(y.cases, name)
}

// done counts a case that was gone through.
func (y *tally) done(agent, name string, good bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.all[[2]string{agent, name}]++
	if good {
		y.good[[2]string{agent, name}]++
	}
}

func appendNew(list []string, word string) []string {
	for _, w := range list {
		if w == word {
			return list
		}
	}
	return append(list, word)
}

// String is the table: how many rounds of a case an agent passed, of how many.
func (y *tally) String() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(y.all) == 0 {
		return ""
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "case\t%s\n", strings.Join(y.agents, "\t"))
	for _, c := range y.cases {
		row := []string{c}
		for _, a := range y.agents {
			cell := "-"
			if n := y.all[[2]string{a, c}]; n > 0 {
				cell = fmt.Sprintf("%d/%d", y.good[[2]string{a, c}], n)
			}
			row = append(row, cell)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // into memory
	return b.String()
}
