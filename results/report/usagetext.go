package report

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"cabra-run/results"
)

// UsageText prints what a run has used for people, within 80 columns as far as
// the sums are not very large.
func UsageText(w io.Writer, u *Usage) error {
	out := bufio.NewWriter(w)
	u.writeHeader(out)
	for i := range u.Models {
		m := &u.Models[i]
		fmt.Fprintf(out, "\n%s, tokens in %s\n",
			oneLine(fmt.Sprintf("%s %s, model %s", m.Agent, m.Version, m.Model)), unitOf(u.All.Used).name)
		if m.Provider != nil {
			if m.Provider.Scripted {
				writeWrapped(out, scriptedNote)
			}
			writePrices(out, *m.Provider)
		}
		u.writeTable(out, m)
	}
	if len(u.Models) > 1 {
		fmt.Fprintf(out, "\nAll agents and models, tokens in %s\n", unitOf(u.All.Used).name)
		u.writeTable(out, &ModelUsage{All: u.All})
	}
	u.writeLegend(out)
	u.writeUntold(out)
	u.writeNotes(out)
	return out.Flush()
}

func (u *Usage) writeHeader(w *bufio.Writer) {
	h := u.Header
	fmt.Fprintln(w, oneLine("Run "+h.Name+": what was used"))
	if h.Scripted && !slices.ContainsFunc(u.Models, func(m ModelUsage) bool { return m.Provider != nil }) {
		fmt.Fprintln(w, scriptedNote)
	}
	writeLosses(w, h)
	writePrices(w, u.provider(&ModelUsage{}))
	c := u.Trials
	fmt.Fprintf(w, "%s of %s trials done, %s attempts, %s requests; every attempt counts\n",
		count(c.Done), count(c.Planned), count(u.All.Attempts), count(u.All.Used.Exchanges))
}

// writePrices says who was asked and what that costs by whose word, as far as
// the lock tells it.
func writePrices(w *bufio.Writer, h UsageProvider) {
	line := ""
	if h.Provider != "" {
		line = "provider " + h.Provider + ": " + h.Endpoint
		if h.Wire != "" {
			line += ", wire " + h.Wire
		}
	}
	writeWrapped(w, line)
	switch h.Prices {
	case "":
	case "unknown":
		writeWrapped(w, "prices: none is known for this model; its cost is known where the provider tells it")
	default:
		writeWrapped(w, "prices "+h.Prices)
	}
}

func writeWrapped(w *bufio.Writer, text string) {
	for _, line := range wrap(oneLine(text), 80) {
		fmt.Fprintln(w, line)
	}
}

func (u *Usage) writeTable(w *bufio.Writer, m *ModelUsage) {
	t := table{align: "l", header: []string{
		"family", "requests", "in", "cached", "written", "out", "reasoning", "cost"}}
	show := unitOf(u.All.Used).show
	groups := append([]UsageGroup(nil), m.Families...)
	if len(groups) != 1 {
		groups = append(groups, m.All)
	}
	for i := range groups {
		g := &groups[i]
		t.add(usageCells(g.familyLabel(), g.Used, show)...)
		if g.NoVerdict.Attempts > 0 {
			t.add(usageCells("  no verdict", g.NoVerdict.Used, show)...)
		}
	}
	t.write(w)
}

func usageCells(label string, u results.UsageTotal, show func(float64) string) []string {
	return []string{label, count(u.Exchanges),
		spent(asFloat(u.Input), u.Unknown.Input, show), spent(asFloat(u.Cached), u.Unknown.Cached, show),
		spent(asFloat(u.CacheWrite), u.Unknown.CacheWrite, show), spent(asFloat(u.Output), u.Unknown.Output, show),
		spent(asFloat(u.Reasoning), u.Unknown.Reasoning, show), spent(u.CostUSD, u.Unknown.Cost, dollars)}
}

// unit is what a table counts tokens in.
type unit struct {
	name   string
	size   float64 // in tokens
	digits int     // behind the point
}

// unitOf is millions, as published tables have it, and thousands for a run that
// has used so little that its parts would be rounded to nothing.
func unitOf(all results.UsageTotal) unit {
	switch {
	case all.Input == nil || *all.Input < 100_000:
		return unit{"thousands", 1e3, 3}
	case *all.Input < 1e9:
		return unit{"millions", 1e6, 3}
	}
	return unit{"millions", 1e6, 1}
}

// show writes tokens in the unit; what would be rounded to nothing is told as
// less than the last digit.
func (u unit) show(v float64) string {
	scale := math.Pow10(u.digits)
	n := int64(math.Round(v / u.size * scale))
	if n == 0 && v > 0 {
		return fmt.Sprintf("<%.*f", u.digits, 1/scale)
	}
	whole := int64(scale)
	return fmt.Sprintf("%s.%0*d", count(int(n/whole)), u.digits, n%whole)
}

func (u *Usage) writeLegend(w *bufio.Writer) {
	writeWrapped(w, "in: all input, cached and written with it; written: into the provider's cache; "+
		"out: all output, reasoning with it.")
	if n := u.All.NoVerdict.Attempts; n > 0 {
		writeWrapped(w, fmt.Sprintf("no verdict: the part of it that attempts without a verdict have used, %s in all, "+
			"because they failed, run, or wait for their score.", count(n)))
	}
	if isLowerBound(u.All.Used) {
		writeWrapped(w, "≥: some answers were cut or do not tell; sums are over those that do.")
	}
}

// isLowerBound reports whether a sum is shown as one; what nobody tells is
// shown as unknown.
func isLowerBound(t results.UsageTotal) bool {
	k := t.Unknown
	for _, gaps := range []int{k.Input, k.Cached, k.CacheWrite, k.Output, k.Reasoning, k.Cost} {
		if gaps > 0 && gaps < t.Exchanges {
			return true
		}
	}
	return false
}

func (u *Usage) writeUntold(w *bufio.Writer) {
	s := u.Spending
	if s == nil || s.Unknown == 0 {
		return
	}
	most := count(int(s.WorstTokens)) + " tokens"
	if s.WorstUSD > 0 {
		most += " and " + dollars(s.WorstUSD)
	}
	writeWrapped(w, fmt.Sprintf("%s requests tell neither cost nor tokens: at most %s more, which budgets count.",
		count(s.Unknown), most))
}

func (u *Usage) writeNotes(w *bufio.Writer) {
	if len(u.Notes) == 0 {
		return
	}
	fmt.Fprintf(w, "\nAttempts whose agent counts its tokens otherwise than the wire: %s\n", count(len(u.Notes)))
	for _, n := range u.Notes[:min(len(u.Notes), maxListed)] {
		fmt.Fprintf(w, "%s, attempt %d\n  %s\n", taskLabel(n.TaskID, n.Repetition), n.Attempt, shorten(n.Note, 98))
	}
	if more := len(u.Notes) - maxListed; more > 0 {
		fmt.Fprintf(w, "… and %s more; --json lists them all\n", count(more))
	}
}

// UsageJSON prints what a run has used, indented.
func UsageJSON(w io.Writer, u *Usage) error { return indented(w, u) }

// usageHeader are the columns of UsageCSV: a line for each model, family (empty
// for all) and scope, which is "all" attempts or those "without_verdict". Tokens
// are whole; what is unknown is empty, and where a number of unknown ones is not
// 0 the figure is a lower bound.
var usageHeader = strings.Split("run,provider,wire,scripted,agent,version,model,family,scope,"+
	"trials,attempts,requests,"+
	"input_tokens,cached_tokens,cache_write_tokens,output_tokens,reasoning_tokens,cost_usd,"+
	"input_unknown,cached_unknown,cache_write_unknown,output_unknown,reasoning_unknown,cost_unknown,prices", ",")

// UsageCSV prints what a run has used as comma-separated values.
func UsageCSV(w io.Writer, u *Usage) error {
	out := csv.NewWriter(w)
	out.Write(usageHeader)
	for i := range u.Models {
		m := &u.Models[i]
		for _, g := range append(append([]UsageGroup(nil), m.Families...), m.All) {
			out.Write(u.csvLine(m, g, "all", g.Attempts, g.Used))
			out.Write(u.csvLine(m, g, "without_verdict", g.NoVerdict.Attempts, g.NoVerdict.Used))
		}
	}
	out.Flush()
	return out.Error()
}

func (u *Usage) csvLine(m *ModelUsage, g UsageGroup, scope string, attempts int, used results.UsageTotal) []string {
	h, gaps := u.provider(m), used.Unknown
	line := []string{safeCell(u.Header.Name), safeCell(h.Provider), h.Wire, strconv.FormatBool(h.Scripted),
		safeCell(m.Agent), safeCell(m.Version), safeCell(m.Model), string(g.Family), scope,
		strconv.Itoa(g.Trials), strconv.Itoa(attempts), strconv.Itoa(used.Exchanges)}
	for _, v := range []*float64{asFloat(used.Input), asFloat(used.Cached), asFloat(used.CacheWrite),
		asFloat(used.Output), asFloat(used.Reasoning), used.CostUSD} {
		line = append(line, plainNumber(v))
	}
	for _, n := range []int{gaps.Input, gaps.Cached, gaps.CacheWrite, gaps.Output, gaps.Reasoning, gaps.Cost} {
		line = append(line, strconv.Itoa(n))
	}
	return append(line, safeCell(h.Prices))
}

// plainNumber is a number without exponent, empty when it is unknown.
func plainNumber(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}
