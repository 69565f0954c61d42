package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// JSON prints the whole report, indented.
func JSON(w io.Writer, r *Report) error { return indented(w, r) }

// JSONBoth prints the reports by both verdicts and where they differ, indented.
func JSONBoth(w io.Writer, b *Both) error { return indented(w, b) }

func indented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// csvHeader are the columns of CSV: one line for each group and scope, where
// scope "all" is over all trials done and "agent" over those with an agent
// outcome; with repetitions there are "pass@1" (the mean over tasks) and so on, in
// which trials is the number of tasks and errors are over tasks. Fields that a
// group does not fix, and withheld figures, are empty.
var csvHeader = []string{"run", "agent", "version", "model", "scripted", "scorer", "complete", "group",
	"axis", "size", "refactoring", "code", "scope", "planned", "trials", "solved", "accuracy", "standard_error"}

// CSV prints the accuracies of a report, or of several of one run, one line for
// each group and scope; of a run of several agents and models those of each.
func CSV(w io.Writer, reports ...*Report) error {
	out := csv.NewWriter(w)
	out.Write(csvHeader)
	for _, r := range single(reports) {
		writeGroups(out, r, "overall", []Group{r.Overall})
		writeGroups(out, r, "axis_size", r.ByAxisSize)
		writeGroups(out, r, "refactoring", r.ByRefactoring)
		writeGroups(out, r, "code", r.ByCode)
	}
	out.Flush()
	return out.Error()
}

// single replaces reports over several agents and models by those of each.
func single(reports []*Report) []*Report {
	var list []*Report
	for _, r := range reports {
		if len(r.Pairings) > 0 {
			list = append(list, r.Pairings...)
		} else {
			list = append(list, r)
		}
	}
	return list
}

func writeGroups(out *csv.Writer, r *Report, kind string, list []Group) {
	h := r.Header
	for _, g := range list {
		line := func(scope string, n int, solved string, accuracy, se *float64) {
			out.Write([]string{
				safeCell(h.Name), safeCell(h.Agent), safeCell(h.Version), safeCell(h.Model),
				strconv.FormatBool(h.Scripted), h.Scorer, strconv.FormatBool(r.Complete), kind,
				string(g.Axis), sizeLabel(g), string(g.Refactoring), string(g.Code), scope,
				strconv.Itoa(g.Planned), strconv.Itoa(n), solved, optNumber(accuracy), optNumber(se),
			})
		}
		line("all", g.All.N, strconv.Itoa(g.All.Solved), g.All.Accuracy, g.All.SE)
		line("agent", g.Agent.N, strconv.Itoa(g.Agent.Solved), g.Agent.Accuracy, g.Agent.SE)
		if g.Repeats == nil || g.Repeats.Repetitions < 2 {
			continue
		}
		for _, p := range g.Repeats.PassAt {
			line(fmt.Sprintf("pass@%d", p.K), p.Tasks, "", p.Value, p.SE)
		}
	}
}

func optNumber(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// safeCell keeps a spreadsheet from taking text that an agent or a model wrote
// for a formula.
func safeCell(s string) string {
	if s == "" {
		return s
	}
	switch s[0] {
	case '=', '+', '-', '@', '\t', '\r', '\n':
		return "'" + s
	}
	return s
}
