package report

import (
	"encoding/csv"
	"encoding/json"
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
// outcome. Fields that a group does not fix, and withheld figures, are empty.
var csvHeader = []string{"run", "agent", "version", "model", "scripted", "scorer", "complete", "group",
	"axis", "size", "refactoring", "code", "scope", "planned", "trials", "solved", "accuracy", "standard_error"}

// CSV prints the accuracies of a report, or of several of one run, one line for
// each group and scope.
func CSV(w io.Writer, reports ...*Report) error {
	out := csv.NewWriter(w)
	out.Write(csvHeader)
	for _, r := range reports {
		writeGroups(out, r, "overall", []Group{r.Overall})
		writeGroups(out, r, "axis_size", r.ByAxisSize)
		writeGroups(out, r, "refactoring", r.ByRefactoring)
		writeGroups(out, r, "code", r.ByCode)
	}
	out.Flush()
	return out.Error()
}

func writeGroups(out *csv.Writer, r *Report, kind string, list []Group) {
	h := r.Header
	for _, g := range list {
		for _, scope := range []struct {
			name string
			rate Rate
		}{{"all", g.All}, {"agent", g.Agent}} {
			out.Write([]string{
				safeCell(h.Name), safeCell(h.Agent), safeCell(h.Version), safeCell(h.Model),
				strconv.FormatBool(h.Scripted), h.Scorer, strconv.FormatBool(r.Complete), kind,
				string(g.Axis), sizeLabel(g), string(g.Refactoring), string(g.Code), scope.name,
				strconv.Itoa(g.Planned), strconv.Itoa(scope.rate.N), strconv.Itoa(scope.rate.Solved),
				optNumber(scope.rate.Accuracy), optNumber(scope.rate.SE),
			})
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
