package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"cabra-run/results"
	"cabra-run/results/analysis"
)

// CompareText prints a comparison for people, within 80 columns.
func CompareText(w io.Writer, c *Comparison) error {
	out := bufio.NewWriter(w)
	c.writeHeader(out)
	if len(c.Pairings) > 1 {
		c.writeOverview(out)
	}
	for i := range c.Pairings {
		p := &c.Pairings[i]
		if len(c.Pairings) > 1 {
			if p.coverageOfAll().Common == 0 {
				continue // the overview tells all there is
			}
			writeRule(out, fmt.Sprintf("%d: %s", i+1, p.title()))
		}
		p.writeCoverage(out)
		if p.Overall.Pairs == 0 {
			fmt.Fprintln(out, "nothing can be compared")
			p.writeMissing(out)
			continue
		}
		p.writeTrends(out, c)
		p.writeAccuracy(out)
		p.writeFlips(out)
		p.writeMissing(out)
		p.writeFigures(out)
	}
	return out.Flush()
}

// writeRule begins the part of one pairing.
func writeRule(w *bufio.Writer, title string) {
	title = shorten(title, 74)
	fmt.Fprintf(w, "\n══ %s %s\n", title, strings.Repeat("═", max(0, 76-len([]rune(title)))))
}

func (p *PairingComparison) title() string {
	switch {
	case p.First == nil:
		return p.Second.String() + " (only in B)"
	case p.Second == nil:
		return p.First.String() + " (only in A)"
	case *p.First == *p.Second:
		return p.First.marked()
	}
	return p.First.marked() + " | " + p.Second.marked()
}

// marked is String with a word on a scripted model.
func (p Pairing) marked() string {
	if p.Scripted {
		return p.String() + " (scripted model)"
	}
	return p.String()
}

// coverageOfAll is that of all axes.
func (p *PairingComparison) coverageOfAll() Coverage {
	if n := len(p.Coverage); n > 0 {
		return p.Coverage[n-1]
	}
	return Coverage{}
}

// writeOverview prints a line for each agent and model of several.
func (c *Comparison) writeOverview(w *bufio.Writer) {
	fmt.Fprintf(w, "\nBy agent and model\n")
	t := table{align: "lrrrrrrrl", header: []string{
		"", "compared", "only A", "only B", "A", "B", "B-A", "p", "trends stay"}}
	for i := range c.Pairings {
		p := &c.Pairings[i]
		writeHanging(w, fmt.Sprintf("%d  ", i+1), p.title())
		g := p.Overall
		all := p.coverageOfAll()
		t.add(fmt.Sprint(i+1), count(g.Pairs), count(all.OnlyFirst), count(all.OnlySecond), fraction(g.First.Accuracy),
			fraction(g.Second.Accuracy), signed(g.Difference), pText(g.P), p.answers())
	}
	t.write(w)
	fmt.Fprintln(w, "trends stay: on how many axes; ?: cannot be told")
}

// answers counts the axes by whether the trends stay.
func (p *PairingComparison) answers() string {
	by := map[analysis.Answer]int{}
	for _, a := range p.Axes {
		if a.Trends != nil {
			by[a.Trends.Stay]++
		}
	}
	var parts []string
	for _, word := range []analysis.Answer{analysis.Yes, analysis.No, analysis.CannotTell} {
		if n := by[word]; n > 0 {
			parts = append(parts, strings.Replace(fmt.Sprintf("%d %s", n, word), string(analysis.CannotTell), "?", 1))
		}
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}

func (c *Comparison) writeHeader(w *bufio.Writer) {
	fmt.Fprintln(w, oneLine(fmt.Sprintf("Comparison of run %s with run %s", c.Second.Name, c.First.Name)))
	c.First.writeLine(w, "A")
	c.Second.writeLine(w, "B")
	switch a, b := c.First.Scripted(), c.Second.Scripted(); {
	case (a || b) && len(c.Pairings) > 1:
		writeWrapped(w, "SCRIPTED MODEL where it is marked: a fixed policy played the model; "+
			"these numbers say nothing about a real one")
	case a && b:
		writeWrapped(w, "SCRIPTED MODEL in both runs: a fixed policy played the model; "+
			"these numbers say nothing about a real one")
	case a || b:
		run := "A"
		if b {
			run = "B"
		}
		writeWrapped(w, "SCRIPTED MODEL in "+run+": a fixed policy played the model; "+
			"its numbers say nothing about a real one")
	}
	c.writeDifferences(w)
	versions := c.First.ScorerVersion
	if c.Second.ScorerVersion != versions {
		versions = "A " + cmp.Or(versions, "none yet") + ", B " + cmp.Or(c.Second.ScorerVersion, "none yet")
	}
	writeWrapped(w, fmt.Sprintf("verdict %s (scorer %s)", c.Scorer, cmp.Or(versions, "none yet")))
	for i, run := range []ComparedRun{c.First, c.Second} {
		for _, d := range run.Drift {
			writeWrapped(w, fmt.Sprintf("%c %s: %s", 'A'+i, driftTitle(d), d.Difference))
		}
	}
	switch {
	case c.Withheld:
		writeWrapped(w, "UNFINISHED: accuracies and answers are withheld; finish both runs with resume, "+
			"or ask for them with --partial")
	case !c.Complete:
		writeWrapped(w, "PARTIAL: only the trials that are done in both runs so far are compared")
	}
}

func (r *ComparedRun) writeLine(w *bufio.Writer, letter string) {
	var agents []string
	for _, p := range r.Pairings {
		agents = append(agents, p.String())
	}
	who := strings.Join(agents, " and ")
	if len(agents) > 2 {
		who = fmt.Sprintf("%d agents and models", len(agents))
	}
	text := fmt.Sprintf("%s: %s: %s; %s of %s trials done; network %s", letter, r.Name, who,
		count(r.Trials.Done), count(r.Trials.Planned), r.Network)
	if r.Filter != "" {
		text += "; only " + r.Filter
	}
	if r.Replay {
		text += "; answered from the recorded traffic"
	}
	writeWrapped(w, text)
}

func (c *Comparison) writeDifferences(w *bufio.Writer) {
	if len(c.Differences) == 0 {
		fmt.Fprintln(w, "Both runs were made under the same conditions.")
		return
	}
	fmt.Fprintln(w, "Same but for:")
	for _, d := range c.Differences {
		writeHanging(w, "  - ", differenceText(d))
	}
}

func differenceText(d results.Difference) string {
	return fmt.Sprintf("%s: was %s, is %s", d.Field, shorten(d.Was, 200), shorten(d.Now, 200))
}

// writeHanging wraps text to 80 columns under a sign that stands before it.
func writeHanging(w *bufio.Writer, sign, text string) {
	for _, line := range wrap(oneLine(text), 80-len(sign)) {
		fmt.Fprintln(w, sign+line)
		sign = strings.Repeat(" ", len(sign))
	}
}

func (p *PairingComparison) writeCoverage(w *bufio.Writer) {
	fmt.Fprintf(w, "\nTrials that can be compared\n")
	t := table{align: "l", header: []string{
		"axis", "in both", "compared", "not done", "lost in A", "lost in B", "only A", "only B"}}
	lost, other := 0, 0
	for _, c := range p.Coverage {
		t.add(cmp.Or(string(c.Axis), "all"), count(c.Common), count(c.Compared), count(c.NotDone),
			count(c.LostFirst), count(c.LostSecond), count(c.OnlyFirst), count(c.OnlySecond))
		lost, other = c.LostFirst+c.LostSecond, c.OtherTask // those of all come last
	}
	t.write(w)
	if lost > 0 {
		writeWrapped(w, "lost: ended without an outcome of the agent, by infra_error, provider_error or cancelled; "+
			"such a trial speaks for no agent and is not compared.")
	}
	if other > 0 {
		writeWrapped(w, fmt.Sprintf("trials with another task under the same id, which are not compared: %s", count(other)))
	}
}

func (p *PairingComparison) writeTrends(w *bufio.Writer, c *Comparison) {
	if c.Withheld {
		return
	}
	fmt.Fprintf(w, "\nDo trends stay?\n")
	for i := range p.Axes {
		writeHanging(w, "  ", p.Axes[i].Sentence())
	}
	writeHanging(w, "  ", levelSentence(p.Overall))
	writeWrapped(w, fmt.Sprintf("yes: accuracy falls, rises or stays level (slope within ±%.2f per doubling) "+
		"with size in both runs, and the 95 %% intervals of the slopes overlap. no: they have no point in common. "+
		"All else cannot be told.",
		analysis.LevelMargin))
}

// levelSentence says how both runs differ over all axes.
func levelSentence(g ComparedGroup) string {
	if g.Difference == nil {
		return ""
	}
	text := "over all: "
	switch d := *g.Difference; {
	case d == 0:
		text += "both solve the same share"
	case d > 0:
		text += fmt.Sprintf("B solves %.1f points more", 100*d)
	default:
		text += fmt.Sprintf("B solves %.1f points less", -100*d)
	}
	if g.Interval != nil {
		text += fmt.Sprintf(" (95 %% %+.1f … %+.1f)", zero(100*g.Interval.Low), zero(100*g.Interval.High))
	}
	if g.P != nil {
		text += ", p " + pSentence(*g.P)
	}
	return text + "."
}

// zero keeps a rounded number from being shown as -0.
func zero(v float64) float64 {
	if math.Abs(v) < 0.05 {
		return 0
	}
	return v
}

func pSentence(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("= %.3f", p)
}

func (p *PairingComparison) writeAccuracy(w *bufio.Writer) {
	fmt.Fprintf(w, "\nAccuracy on the trials compared\n")
	t := table{align: "l", header: []string{"axis and size", "n", "A ±s.e.", "B ±s.e.", "B-A", "95 %", "p"}}
	for _, a := range p.Axes {
		for _, g := range a.Sizes {
			t.add(accuracyCells(fmt.Sprintf("%s %d", g.Axis, g.Size), g)...)
		}
		if len(p.Axes) > 1 {
			t.add(accuracyCells(string(a.Axis), a.All)...)
		}
	}
	t.add(accuracyCells("all", p.Overall)...)
	t.write(w)
	if p.Overall.Method != "" {
		writeWrapped(w, "s.e.: binomial standard error. 95 % and p: "+string(p.Overall.Method)+".")
	}
}

func accuracyCells(name string, g ComparedGroup) []string {
	return []string{name, count(g.Pairs), rateText(g.First), rateText(g.Second), signed(g.Difference),
		intervalText(g.Interval), pText(g.P)}
}

func rateText(r Rate) string {
	if r.Accuracy == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f ±%s", *r.Accuracy, strings.TrimPrefix(fmt.Sprintf("%.3f", *r.SE), "0"))
}

func signed(v *float64) string {
	if v == nil {
		return "–"
	}
	if math.Abs(*v) < 0.0005 {
		return "0.000"
	}
	return fmt.Sprintf("%+.3f", *v)
}

func intervalText(i *analysis.Interval) string {
	if i == nil {
		return "–"
	}
	return signed(&i.Low) + "…" + signed(&i.High)
}

func pText(p *float64) string {
	switch {
	case p == nil:
		return "–"
	case *p < 0.001:
		return "<.001"
	case *p >= 0.9995:
		return "1"
	}
	return strings.TrimPrefix(fmt.Sprintf("%.3f", *p), "0")
}

func (p *PairingComparison) writeFlips(w *bufio.Writer) {
	t := p.Overall.Table
	fmt.Fprintf(w, "\nSolved in A alone: %s; in B alone: %s; in both: %s; in neither: %s\n",
		count(t.First), count(t.Second), count(t.Both), count(t.Neither))
	for _, f := range p.Flips[:min(len(p.Flips), maxListed)] {
		f.write(w, "")
	}
	writeMore(w, len(p.Flips))
}

func (p *PairingComparison) writeMissing(w *bufio.Writer) {
	if len(p.Missing) == 0 {
		return
	}
	fmt.Fprintf(w, "\nIn both plans, but not compared: %s\n", count(len(p.Missing)))
	for _, m := range p.Missing[:min(len(p.Missing), maxListed)] {
		m.write(w, abRuns(m.Why))
	}
	writeMore(w, len(p.Missing))
}

func writeMore(w *bufio.Writer, n int) {
	if more := n - maxListed; more > 0 {
		fmt.Fprintf(w, "… and %s more; --json lists them all\n", count(more))
	}
}

// write prints a trial with what each run says of it, a line for each.
func (f *Flip) write(w *bufio.Writer, why string) {
	name := taskLabel(f.TaskID, f.Repetition)
	if why != "" {
		name += ": " + why
	}
	fmt.Fprintln(w, shorten(name, 80))
	for i, told := range []Told{f.First, f.Second} {
		line := fmt.Sprintf("  %c %s  %s", 'A'+i, told.Outcome, oneLine(told.Reason))
		fmt.Fprintln(w, strings.TrimRight(shorten(line, 80), " "))
	}
}

func (p *PairingComparison) writeFigures(w *bufio.Writer) {
	fmt.Fprintf(w, "\nPer trial: calls, tokens and time of the attempt that counts (means)\n")
	if p.VersionsDiffer() {
		writeWrapped(w, "THE AGENTS OR THEIR VERSIONS DIFFER: compare calls, not tokens; "+
			"a CLI may count or cut its requests otherwise")
	}
	t := table{align: "ll", header: []string{"axis", "", "pairs", "A", "B", "B/A", "p"}}
	groups := []ComparedGroup{}
	for _, a := range p.Axes {
		groups = append(groups, a.All)
	}
	if len(groups) != 1 {
		groups = append(groups, p.Overall)
	}
	for _, g := range groups {
		label := cmp.Or(string(g.Axis), "all")
		for _, f := range g.Figures {
			if f.Pairs == 0 && f.Name != "tool calls" {
				continue
			}
			t.add(label, f.Name, count(f.Pairs), f.mean(f.First), f.mean(f.Second), ratio(f.First, f.Second), pText(f.P))
			label = ""
		}
	}
	t.write(w)
	writeWrapped(w, "pairs: trials of which both runs tell it whole. p: Wilcoxon's signed-rank test of the differences.")
}

func (f ComparedFigure) mean(v *float64) string {
	switch {
	case v == nil:
		return "unknown"
	case strings.HasPrefix(f.Name, "cost"):
		return dollars(*v)
	case strings.HasSuffix(f.Name, "tokens"):
		return tokens(*v)
	}
	return fmt.Sprintf("%.1f", *v)
}

func ratio(first, second *float64) string {
	if first == nil || second == nil || *first == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", *second / *first)
}
