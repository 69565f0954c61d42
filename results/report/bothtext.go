package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// TextBoth prints a run under two verdicts for people, within 100 columns. That
// of several agents and models begins with a table of all of them by each verdict.
func TextBoth(w io.Writer, b *Both) error {
	out := bufio.NewWriter(w)
	all := b.withPairings()
	writeHeader(out, all...)
	if len(b.Pairings) == 0 {
		b.writeBody(out)
		return out.Flush()
	}
	for _, r := range all {
		writeOverview(out, r)
	}
	for i, p := range b.Pairings {
		writeSection(out, i, p.Reports[0])
		p.writeBody(out)
	}
	return out.Flush()
}

// withPairings are the reports over all agents and models with those of each, as
// Build gives them by one verdict.
func (b *Both) withPairings() []*Report {
	var all []*Report
	for i, r := range b.Reports {
		whole := *r
		for _, p := range b.Pairings {
			whole.Pairings = append(whole.Pairings, p.Reports[i])
		}
		all = append(all, &whole)
	}
	return all
}

// writeBody prints the tables of one agent and model.
func (b *Both) writeBody(out *bufio.Writer) {
	first := b.Reports[0]
	b.writeAccuracy(out, "Accuracy by axis and size", []string{"axis", "size"}, withTotal, allTrials)
	if first.Overall.All.N != first.Overall.Agent.N {
		b.writeAccuracy(out, "Over the trials with an agent outcome", []string{"axis", "size"}, withTotal, agentTrials)
	}
	if len(first.ByRefactoring) > 0 {
		b.writeAccuracy(out, "By refactoring", []string{"refactoring"},
			func(r *Report) []Group { return r.ByRefactoring }, allTrials)
	}
	if len(first.ByCode) > 0 {
		b.writeAccuracy(out, "By code type", []string{"code"}, func(r *Report) []Group { return r.ByCode }, allTrials)
	}
	out.WriteString("s.e.: standard error. A trial that is not solved counts as 0, whatever ended it.\n")
	for _, r := range b.Reports {
		writeRepeats(out, r)
	}
	b.writeAgreement(out)
	b.writeDiffering(out)
	b.writeOutcomes(out)
	writeEffort(out, first)
	writeNoVerdict(out, first)
}

func allTrials(g Group) Rate   { return g.All }
func agentTrials(g Group) Rate { return g.Agent }

// writeAccuracy prints the rates of both verdicts side by side. Both reports
// have the same groups, as these hang on the plan alone.
func (b *Both) writeAccuracy(
	w *bufio.Writer, title string, names []string, groups func(*Report) []Group, rate func(Group) Rate,
) {
	fmt.Fprintf(w, "\n%s\n", title)
	t := table{align: "l", header: names}
	for _, r := range b.Reports {
		t.header = append(t.header, "trials", r.Header.Scorer, "accuracy", "s.e.")
	}
	second := groups(b.Reports[1])
	for i, g := range groups(b.Reports[0]) {
		row := []string{cmp.Or(string(g.Refactoring), string(g.Code))}
		if row[0] == "" {
			row = []string{axisLabel(g), sizeLabel(g)}
		}
		for _, side := range []Rate{rate(g), rate(second[i])} {
			row = append(row, count(side.N), count(side.Solved), fraction(side.Accuracy), fraction(side.SE))
		}
		t.add(row...)
	}
	t.write(w)
}

func (b *Both) writeAgreement(w *bufio.Writer) {
	a := b.Agreement
	fmt.Fprintf(w, "\nAgreement of the verdicts, on all code that was scored\n")
	t := table{align: "lrl", header: []string{"solved by", "trials", "what the other one failed it for"}}
	t.add("both", count(a.BothSolved), "")
	for _, o := range a.Only {
		t.add(o.Scorer+" alone", count(o.Trials), shorten(checkCounts(o.FailedAt), 70))
	}
	t.add("neither", count(a.BothFailed), "")
	if a.NotBoth > 0 {
		t.add("unknown", count(a.NotBoth), "one verdict is not computed")
	}
	t.write(w)
}

// checkCounts is "structure 3, calls 1", the frequent ones first.
func checkCounts(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = name + " " + count(counts[name])
	}
	return strings.Join(names, ", ")
}

func (b *Both) writeDiffering(w *bufio.Writer) {
	if len(b.Differing) == 0 {
		return
	}
	fmt.Fprintf(w, "\nTrials on which the verdicts differ, and why: %s\n", count(len(b.Differing)))
	width := 0
	for _, r := range b.Reports {
		width = max(width, len(r.Header.Scorer))
	}
	for _, d := range b.Differing[:min(len(b.Differing), maxListed)] {
		name := taskLabel(d.TaskID, d.Repetition)
		if d.Outcome != "answered" {
			name += " (" + d.Outcome + ")"
		}
		fmt.Fprintln(w, name)
		for _, s := range d.Sides {
			word := "failed"
			if s.Solved {
				word = "solved"
			}
			line := fmt.Sprintf("  %-*s  %s  %s", width, s.Scorer, word, s.Reason)
			fmt.Fprintln(w, shorten(strings.TrimRight(line, " "), 100))
		}
	}
	if more := len(b.Differing) - maxListed; more > 0 {
		fmt.Fprintf(w, "… and %s more; --json lists them all\n", count(more))
	}
}

// writeOutcomes prints how many trials have each word under each verdict.
func (b *Both) writeOutcomes(w *bufio.Writer) {
	fmt.Fprintf(w, "\nOutcomes\n")
	t := table{align: "l", header: []string{"outcome", b.Reports[0].Header.Scorer, b.Reports[1].Header.Scorer}}
	for _, word := range Words() {
		n, m := b.Reports[0].trialsOf(word), b.Reports[1].trialsOf(word)
		if n+m > 0 {
			t.add(word, count(n), count(m))
		}
	}
	t.write(w)
}

func (r *Report) trialsOf(word string) int {
	for _, oc := range r.Outcomes {
		if oc.Word == word {
			return oc.Trials
		}
	}
	return 0
}
