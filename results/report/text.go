package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cabra-run/results"
	"cabra-run/tasks"
)

// scriptedNote is printed wherever a scripted model's numbers are.
const scriptedNote = "SCRIPTED MODEL: a fixed policy played the model; these numbers say nothing about a real one"

// maxListed is how many trials without a verdict the text names.
const maxListed = 15

// Text prints a report for people, within 100 columns. That of several agents
// and models begins with a table of all of them.
func Text(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	writeHeader(out, r)
	if len(r.Pairings) == 0 {
		writeBody(out, r)
		return out.Flush()
	}
	writeOverview(out, r)
	for i, p := range r.Pairings {
		writeSection(out, i, p)
		writeBody(out, p)
	}
	return out.Flush()
}

// writeBody prints the tables of one agent and model.
func writeBody(out *bufio.Writer, r *Report) {
	writeAccuracy(out, "Accuracy by axis and size", []string{"axis", "size"}, withTotal(r),
		func(g Group) []string { return []string{axisLabel(g), sizeLabel(g)} })
	if len(r.ByRefactoring) > 0 {
		writeAccuracy(out, "By refactoring", []string{"refactoring"}, r.ByRefactoring,
			func(g Group) []string { return []string{string(g.Refactoring)} })
	}
	if len(r.ByCode) > 0 {
		writeAccuracy(out, "By code type", []string{"code"}, r.ByCode,
			func(g Group) []string { return []string{string(g.Code)} })
	}
	out.WriteString("s.e.: standard error. agent: trials with an agent outcome, that is without infra_error,\n" +
		"provider_error and cancelled ones. A trial that is not solved counts as 0, whatever ended it.\n")
	writeRepeats(out, r)
	writeOutcomes(out, r)
	writeEffort(out, r)
	writeNoVerdict(out, r)
}

func withTotal(r *Report) []Group {
	if len(r.ByAxisSize) == 0 {
		return nil
	}
	return append(append([]Group(nil), r.ByAxisSize...), r.Overall)
}

func axisLabel(g Group) string {
	if g.Axis == "" && g.Size == 0 {
		return "all"
	}
	return string(g.Axis)
}

func sizeLabel(g Group) string {
	if g.Size == 0 {
		return ""
	}
	return strconv.Itoa(g.Size)
}

// writeHeader prints what was run and how far it is, by one verdict or several.
func writeHeader(w *bufio.Writer, reports ...*Report) {
	h := reports[0].Header
	fmt.Fprintln(w, oneLine(runTitle(reports[0])))
	if h.Scripted && !someScripted(reports[0]) {
		fmt.Fprintln(w, scriptedNote)
	}
	for _, line := range wrap(fmt.Sprintf("grid %s; seed %d", h.Grid, h.Seed), 96) {
		fmt.Fprintln(w, line)
	}
	for _, line := range partLines(h) {
		fmt.Fprintln(w, line)
	}
	var verdicts []string
	for _, r := range reports {
		verdicts = append(verdicts, fmt.Sprintf("%s (scorer %s)", r.Header.Scorer, cmp.Or(r.Header.ScorerVersion, "none yet")))
	}
	fmt.Fprintf(w, "verdict %s, up to %d attempts, time-out %s, network %s\n",
		strings.Join(verdicts, " and "), h.Attempts, seconds(h.TimeoutSeconds), h.Network)
	writeLosses(w, h)
	for i, r := range reports {
		if i == 0 || r.Trials != reports[0].Trials {
			writeProgress(w, r, len(reports) > 1)
		}
	}
	for _, d := range reports[0].Drift {
		fmt.Fprintf(w, "%s: %s\n", driftTitle(d), oneLine(d.Difference.String()))
	}
	for _, r := range reports {
		writeVerdictNotes(w, r)
	}
	if n := reports[0].Differ; n > 0 && len(reports) == 1 {
		fmt.Fprintf(w, "the verdicts differ on %s trials; see where and why with --scorer both\n", count(n))
	}
	writeCompleteness(w, reports)
}

// driftTitle says how trials of one run came to be made under two conditions:
// the field of a difference between united parts names the part.
func driftTitle(d results.Drift) string {
	if strings.Contains(d.Field, "(shard ") {
		return "PARTS MADE UNDER DIFFERENT CONDITIONS"
	}
	return "CONTINUED UNDER OTHER CONDITIONS since " + stamp(d.At)
}

// partLines say which part of the grid a run has, and whose trials they are.
func partLines(h Header) []string {
	var lines []string
	if h.Limit > 0 {
		lines = append(lines, fmt.Sprintf("only the first %s tasks of the grid", count(h.Limit)))
	}
	if h.Shard != "" {
		lines = append(lines, "only part "+h.Shard+" of the plan")
	}
	if len(h.Merged) > 0 {
		lines = append(lines, wrap("united from "+oneLine(strings.Join(h.Merged, ", ")), 96)...)
	}
	if o := h.Origin; o != nil {
		text := "rerun of " + o.Run
		if o.Replay {
			text = "REPLAY of " + o.Run + ": its recorded answers were given again, no model was asked"
		}
		if o.Filter != "" {
			text += "; trials by " + o.Filter
		}
		lines = append(lines, wrap(oneLine(text), 96)...)
	}
	return lines
}

// runTitle names the run, with its agent and model where there is one.
func runTitle(r *Report) string {
	h := r.Header
	if n := len(r.Pairings); n > 0 {
		return fmt.Sprintf("Run %s: %d agents and models", h.Name, n)
	}
	return fmt.Sprintf("Run %s: %s %s, model %s", h.Name, h.Agent, h.Version, h.Model)
}

// someScripted reports whether a real model plays beside a scripted one, so that
// only the parts of the scripted one say so.
func someScripted(r *Report) bool {
	return slices.ContainsFunc(r.Pairings, func(p *Report) bool { return !p.Header.Scripted })
}

// writeLosses says what the way in which the agent reached its model has cost.
func writeLosses(w *bufio.Writer, h Header) {
	if len(h.Losses) == 0 {
		return
	}
	fmt.Fprintf(w, "LOSSES of --tls %s:\n", oneLine(h.TLS))
	for _, loss := range h.Losses {
		fmt.Fprintf(w, "  - %s\n", oneLine(loss))
	}
}

func writeProgress(w *bufio.Writer, r *Report, named bool) {
	if c := r.Trials; r.Complete {
		fmt.Fprintf(w, "%s of %s trials done", count(c.Done), count(c.Planned))
	} else {
		fmt.Fprintf(w, "%s of %s trials done; %s pending, %s running, %s not scored yet",
			count(c.Done), count(c.Planned), count(c.Pending), count(c.Running), count(c.Unscored))
	}
	if named && !r.Complete {
		fmt.Fprintf(w, " (%s)", r.Header.Scorer)
	}
	fmt.Fprintln(w)
}

// writeVerdictNotes says what is odd about the verdicts of a report.
func writeVerdictNotes(w *bufio.Writer, r *Report) {
	h := r.Header
	if strings.Contains(h.ScorerVersion, ",") {
		fmt.Fprintf(w, "VERDICTS OF SEVERAL VERSIONS (%s): score them alike with: cabra-run score %s\n",
			h.ScorerVersion, h.Name)
	}
	switch {
	case r.NotComputed == 0:
	case h.ScorerVersion == "": // neither in the lock nor of any trial
		fmt.Fprintf(w, "%s: not computed; run cabra-run score %s\n", h.Scorer, h.Name)
	default:
		fmt.Fprintf(w, "%s: not computed for %s trials; run cabra-run score %s\n", h.Scorer, count(r.NotComputed), h.Name)
	}
}

func writeCompleteness(w *bufio.Writer, reports []*Report) {
	for _, r := range reports {
		switch {
		case r.Withheld && r.NotComputed == r.Trials.Planned-r.Trials.Done:
			fmt.Fprintf(w, "UNFINISHED: accuracies by the %s verdict are withheld until it is computed\n", r.Header.Scorer)
			return
		case r.Withheld && len(r.Pairings) > 0:
			writeWrapped(w, "UNFINISHED: accuracies of agents and models with trials to do are withheld; finish them with "+
				"resume, or ask for them with --partial")
			return
		case r.Withheld:
			fmt.Fprintln(w, "UNFINISHED: accuracies are withheld; finish it with resume, or ask for them with --partial")
			return
		case !r.Complete:
			fmt.Fprintln(w, "PARTIAL: accuracies are over the trials done so far")
			return
		}
	}
}

func writeAccuracy(w *bufio.Writer, title string, names []string, list []Group, label func(Group) []string) {
	fmt.Fprintf(w, "\n%s\n", title)
	t := table{align: "l", header: append(names,
		"trials", "solved", "accuracy", "s.e.", "agent", "solved", "accuracy", "s.e.")}
	for _, g := range list {
		row := append(label(g), count(g.All.N), count(g.All.Solved), fraction(g.All.Accuracy), fraction(g.All.SE),
			count(g.Agent.N), count(g.Agent.Solved), fraction(g.Agent.Accuracy), fraction(g.Agent.SE))
		t.add(row...)
	}
	t.write(w)
}

func writeOutcomes(w *bufio.Writer, r *Report) {
	fmt.Fprintf(w, "\nOutcomes\n")
	t := table{align: "lrrl", header: []string{"outcome", "trials", "share", ""}}
	for _, oc := range r.Outcomes {
		t.add(oc.Word, count(oc.Trials), fmt.Sprintf("%.1f %%", 100*oc.Share), outcomeNote(oc, r.Limits))
	}
	t.write(w)
}

func outcomeNote(oc OutcomeCount, limits []LimitCount) string {
	var notes []string
	if oc.Unchanged > 0 {
		notes = append(notes, count(oc.Unchanged)+" unchanged")
	}
	if oc.RightCode > 0 {
		notes = append(notes, count(oc.RightCode)+" with right code")
	}
	if oc.Word == string(results.Limit) {
		for _, l := range limits {
			notes = append(notes, l.Limit+" "+count(l.Trials))
		}
	}
	return strings.Join(notes, ", ")
}

func writeEffort(w *bufio.Writer, r *Report) {
	fmt.Fprintf(w, "\nTime, tokens and cost of the trials done, all attempts together\n")
	t := table{align: "l", header: []string{"", "median", "mean", "total"}}
	e := r.Overall.Effort
	t.add("wall time", optSeconds(e.Wall.Median), optSeconds(e.Wall.Mean), seconds(e.Wall.Sum))
	for _, f := range []struct {
		name   string
		figure Figure
	}{{"input tokens", e.Input}, {"  of them cached", e.Cached}, {"  of them cache-write", e.Written},
		{"output tokens", e.Output}, {"  of them reasoning", e.Reason}} {
		t.add(f.name, "", f.figure.mean(tokens), f.figure.sum(tokens))
	}
	t.add("cost", "", e.Cost.mean(dollars), e.Cost.sum(dollars))
	mean := ""
	if e.Trials > 0 {
		mean = fmt.Sprintf("%.2f", float64(e.Attempts)/float64(e.Trials))
	}
	t.add("attempts", "", mean, count(e.Attempts))
	t.write(w)
	if e.Input.gaps()+e.Cached.gaps()+e.Written.gaps()+e.Output.gaps()+e.Reason.gaps()+e.Cost.gaps() > 0 {
		fmt.Fprintln(w, "≥: some answers were cut or do not tell; figures are over those that do")
	}
	h := r.Header
	writePrices(w, UsageProvider{Provider: h.Provider, Endpoint: h.Endpoint, Wire: h.Wire, Prices: h.Prices})
	if r.UsageNotes > 0 {
		writeWrapped(w, fmt.Sprintf("attempts whose agent counts its tokens otherwise than the wire, whose figures these are: "+
			"%s; which ones: cabra-run report %s --usage", count(r.UsageNotes), r.Header.Name))
	}
	if r.OtherLimits > 0 {
		writeWrapped(w, fmt.Sprintf("attempts whose box had other limits in force than were wanted: %s; which: cabra-run show %s TASK",
			count(r.OtherLimits), r.Header.Name))
	}
	if len(r.ByAxisSize) > 1 {
		writeEffortBySize(w, r)
	}
}

func writeEffortBySize(w *bufio.Writer, r *Report) {
	fmt.Fprintf(w, "\nPer trial, by axis and size (means; wall time also as median)\n")
	t := table{align: "l", header: []string{
		"axis", "size", "attempts", "wall", "median", "input", "cached"}}
	written := r.Overall.Effort.Written.Known > 0 // few providers tell it, and only some sell it
	if written {
		t.header = append(t.header, "written")
	}
	t.header = append(t.header, "output", "cost")
	for _, g := range r.ByAxisSize {
		e := g.Effort
		attempts := "–"
		if e.Trials > 0 {
			attempts = fmt.Sprintf("%.2f", float64(e.Attempts)/float64(e.Trials))
		}
		row := []string{axisLabel(g), sizeLabel(g), attempts, optSeconds(e.Wall.Mean), optSeconds(e.Wall.Median),
			e.Input.mean(tokens), e.Cached.mean(tokens)}
		if written {
			row = append(row, e.Written.mean(tokens))
		}
		t.add(append(row, e.Output.mean(tokens), e.Cost.mean(dollars))...)
	}
	t.write(w)
	if written {
		fmt.Fprintln(w, "written: input that was written into the provider's cache")
	}
}

func writeNoVerdict(w *bufio.Writer, r *Report) {
	if len(r.NoVerdict) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s trials without a verdict\n", count(len(r.NoVerdict)))
	t := table{align: "lll", header: []string{"task", "outcome", "reason"}}
	for _, v := range r.NoVerdict[:min(len(r.NoVerdict), maxListed)] {
		t.add(taskLabel(v.TaskID, v.Repetition), v.Outcome, shorten(oneLine(v.Reason), 44))
	}
	t.write(w)
	if more := len(r.NoVerdict) - maxListed; more > 0 {
		fmt.Fprintf(w, "… and %s more; --json and export list them all\n", count(more))
	}
}

func taskLabel(id tasks.ID, repetition int) string {
	if repetition > 1 {
		return fmt.Sprintf("%s #%d", id, repetition)
	}
	return string(id)
}

// sum shows the total: a lower bound when anything is unknown.
func (f Figure) sum(show func(float64) string) string { return f.bounded(f.Sum, f.gaps() > 0, show) }

// mean shows the mean of the trials that tell: a lower bound when some of them
// tell only part of it.
func (f Figure) mean(show func(float64) string) string { return f.bounded(f.Mean, f.Partly > 0, show) }

func (f Figure) gaps() int {
	if f.Known == 0 {
		return 0 // shown as unknown, not as a bound
	}
	return f.Partly + f.Unknown
}

func (f Figure) bounded(v *float64, lower bool, show func(float64) string) string {
	switch {
	case v == nil && f.Unknown == 0:
		return "–"
	case v == nil:
		return "unknown"
	case lower:
		return "≥" + show(*v)
	}
	return show(*v)
}

func fraction(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *v)
}

// count writes thousands with commas.
func count(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func tokens(v float64) string { return count(int(v + 0.5)) }

func dollars(v float64) string {
	if v != 0 && v < 0.01 {
		return fmt.Sprintf("$%.4f", v)
	}
	cents := int64(v*100 + 0.5)
	return fmt.Sprintf("$%s.%02d", count(int(cents/100)), cents%100)
}

func optSeconds(v *float64) string {
	if v == nil {
		return "–"
	}
	return seconds(*v)
}

// seconds writes a time in the unit that fits it.
func seconds(v float64) string {
	s := int64(v + 0.5)
	switch {
	case v < 59.95: // what does not round to a minute
		return fmt.Sprintf("%.1fs", v)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
}

// oneLine makes text fit for one line of a terminal: what an agent's code says
// can neither drive it nor turn the direction of what follows.
func oneLine(s string) string {
	if isPlainLine(s) {
		return s
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case !unicode.IsPrint(r): // bidi controls and the like
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	return strings.Join(strings.Fields(clean), " ")
}

// isPlainLine reports whether oneLine has nothing to change, which it has for
// nearly all of a run's 100,000 reasons: printable ASCII with single blanks
// between words.
func isPlainLine(s string) bool {
	blank := true // a blank here would be the first or the second in a row
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && blank {
			return false
		}
		blank = c == ' '
	}
	return !blank || s == ""
}

func shorten(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// wrap breaks text at blanks into lines of at most n bytes, where it can.
func wrap(s string, n int) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		last := len(lines) - 1
		if last >= 0 && len(lines[last])+1+len(word) <= n {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
