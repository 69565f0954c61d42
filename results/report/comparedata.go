package report

import (
	"cmp"
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"cabra-run/results/analysis"
)

// CompareJSON prints a comparison, indented.
func CompareJSON(w io.Writer, c *Comparison) error { return indented(w, c) }

// compareHeader are the columns of CompareCSV: a line for each pairing and group,
// where group is "overall", "axis" or "axis_size". What a group does not fix,
// what is unknown and what is withheld is empty; trends are those of an axis.
func compareHeader() []string {
	names := strings.Split("first_run,second_run,first_agent,first_version,first_model,first_scripted,"+
		"second_agent,second_version,second_model,second_scripted,scorer,complete,group,axis,size,pairs,tasks,"+
		"first_solved,first_accuracy,first_standard_error,second_solved,second_accuracy,second_standard_error,"+
		"first_only,second_only,difference,difference_low,difference_high,p,"+
		"trends_stay,first_slope,first_slope_se,second_slope,second_slope_se", ",")
	for _, f := range FigureNames() {
		f = strings.ToLower(strings.ReplaceAll(f, " ", "_"))
		names = append(names, f+"_pairs", f+"_first", f+"_second", f+"_difference", f+"_standard_error", f+"_p")
	}
	return names
}

// CompareCSV prints the figures of a comparison as comma-separated values.
func CompareCSV(w io.Writer, c *Comparison) error {
	out := csv.NewWriter(w)
	out.Write(compareHeader())
	for i := range c.Pairings {
		p := &c.Pairings[i]
		line := func(kind string, g ComparedGroup, trends *analysis.Agreement) {
			cells := append(c.csvNames(p), kind, string(g.Axis), sizeLabel(Group{Size: g.Size}))
			out.Write(append(append(cells, g.csvCells()...), append(trendCells(trends), g.figureCells()...)...))
		}
		line("overall", p.Overall, nil)
		for _, a := range p.Axes {
			line("axis", a.All, a.Trends)
			for _, g := range a.Sizes {
				line("axis_size", g, nil)
			}
		}
	}
	out.Flush()
	return out.Error()
}

func (c *Comparison) csvNames(p *PairingComparison) []string {
	cells := []string{safeCell(c.First.Name), safeCell(c.Second.Name)}
	for _, q := range []*Pairing{p.First, p.Second} {
		if q == nil {
			cells = append(cells, "", "", "", "")
			continue
		}
		cells = append(cells, safeCell(q.Agent), safeCell(q.Version), safeCell(q.Model), strconv.FormatBool(q.Scripted))
	}
	return append(cells, c.Scorer, strconv.FormatBool(c.Complete))
}

func (g ComparedGroup) csvCells() []string {
	interval := cmp.Or(g.Interval, &analysis.Interval{})
	low, high := &interval.Low, &interval.High
	if g.Interval == nil {
		low, high = nil, nil
	}
	return []string{strconv.Itoa(g.Pairs), strconv.Itoa(g.Tasks),
		strconv.Itoa(g.First.Solved), optNumber(g.First.Accuracy), optNumber(g.First.SE),
		strconv.Itoa(g.Second.Solved), optNumber(g.Second.Accuracy), optNumber(g.Second.SE),
		strconv.Itoa(g.Table.First), strconv.Itoa(g.Table.Second),
		optNumber(g.Difference), optNumber(low), optNumber(high), optNumber(g.P)}
}

func trendCells(g *analysis.Agreement) []string {
	if g == nil {
		return make([]string, 5)
	}
	cells := []string{string(g.Stay)}
	for _, t := range []*analysis.Trend{g.First, g.Second} {
		if t == nil {
			cells = append(cells, "", "")
			continue
		}
		cells = append(cells, optNumber(&t.Slope), optNumber(&t.SE))
	}
	return cells
}

func (g ComparedGroup) figureCells() []string {
	var cells []string
	for _, f := range g.Figures {
		cells = append(cells, strconv.Itoa(f.Pairs), optNumber(f.First), optNumber(f.Second), optNumber(f.Diff),
			optNumber(f.SE), optNumber(f.P))
	}
	return cells
}
