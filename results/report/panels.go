package report

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panel is one small plot of accuracy against size. Every panel of a figure has
// the same lines in the same order; one without points is left out of it.
type panel struct {
	title string
	lines []series
}

// figure is a grid of panels under one title and one legend.
type figure struct {
	title  string
	names  []string // of the lines
	rows   [][]panel
	footer string
}

// Measures of a figure of panels.
const (
	panelWidth  = 8 * vg.Centimeter
	panelHeight = 6 * vg.Centimeter
	lineHeight  = 5 * vg.Millimeter
)

func (f *figure) draw(w io.Writer, format Picture) error {
	columns := 0
	for _, row := range f.rows {
		columns = max(columns, len(row))
	}
	if columns == 0 {
		return ErrNoAccuracy
	}
	width := vg.Length(columns)*panelWidth + 6*vg.Millimeter
	if columns == 1 {
		width = chartWidth
	}
	legend := f.legendLines(width)
	head := vg.Length(1+len(legend))*lineHeight + 2*vg.Millimeter
	height := vg.Length(len(f.rows))*panelHeight + head + lineHeight + 6*vg.Millimeter
	return paint(w, format, width, height, func(c draw.Canvas) error {
		f.drawText(c, legend)
		return f.drawPanels(draw.Crop(c, 0, 0, lineHeight, -head), columns)
	})
}

// drawPanels puts the panels side by side with their axes in line.
func (f *figure) drawPanels(c draw.Canvas, columns int) error {
	plots := make([][]*plot.Plot, len(f.rows))
	sizes := f.sizes()
	for i, row := range f.rows {
		plots[i] = make([]*plot.Plot, columns)
		for j := range columns {
			if j >= len(row) {
				continue
			}
			p, err := newPanel(row[j], sizes, j == 0, i == len(f.rows)-1 || j >= len(f.rows[i+1]))
			if err != nil {
				return err
			}
			plots[i][j] = p
		}
	}
	tiles := draw.Tiles{Rows: len(f.rows), Cols: columns, PadX: 4 * vg.Millimeter, PadY: 3 * vg.Millimeter}
	for i, row := range plot.Align(plots, tiles, c) {
		for j, canvas := range row {
			if plots[i][j] != nil {
				plots[i][j].Draw(canvas)
			}
		}
	}
	return nil
}

// sizes are those of all panels, so that they share their scale.
func (f *figure) sizes() []series {
	var all []series
	for _, row := range f.rows {
		for _, p := range row {
			all = append(all, p.lines...)
		}
	}
	return all
}

func newPanel(of panel, all []series, left, bottom bool) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = of.title
	setFont(&p.Title.TextStyle, 9)
	p.Title.Padding = vg.Points(4)
	if left {
		p.Y.Label.Text = "Accuracy"
	}
	if bottom {
		p.X.Label.Text = "Size N"
	}
	setAxes(p)
	setScales(p, all)
	p.Add(gridLines(), frame{})
	for i, s := range of.lines {
		if len(s.groups) == 0 {
			continue
		}
		if _, _, err := addLine(p, s, i, len(of.lines)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func textStyle(points float64) draw.TextStyle {
	style := text.Style{Handler: plot.DefaultTextHandler, XAlign: draw.XLeft, YAlign: draw.YCenter}
	style.Font = plot.DefaultFont
	setFont(&style, points)
	return style
}

// legendEntry is the place of a name in the legend.
type legendEntry struct {
	line int
	x    vg.Length
}

const (
	sampleWidth = 24 // points
	entryGap    = 16
)

// legendLines breaks the names of the lines into lines of the legend.
func (f *figure) legendLines(width vg.Length) [][]legendEntry {
	style := textStyle(8.5)
	var lines [][]legendEntry
	x := vg.Length(math.Inf(1))
	for i, name := range f.names {
		size := vg.Points(sampleWidth+4+entryGap) + style.Width(name)
		if x+size > width-6*vg.Millimeter {
			lines, x = append(lines, nil), 0
		}
		last := len(lines) - 1
		lines[last] = append(lines[last], legendEntry{i, x})
		x += size
	}
	return lines
}

// drawText draws title, legend and footer.
func (f *figure) drawText(c draw.Canvas, legend [][]legendEntry) {
	y := c.Max.Y - lineHeight/2
	c.FillText(textStyle(10), vg.Point{X: c.Min.X, Y: y}, f.title)
	for _, line := range legend {
		y -= lineHeight
		for _, e := range line {
			x := c.Min.X + e.x
			colour, mark := lineLook(e.line)
			end := x + vg.Points(sampleWidth)
			c.StrokeLine2(draw.LineStyle{Color: colour, Width: vg.Points(1.6)}, x, y, end, y)
			glyph := draw.GlyphStyle{Color: colour, Radius: vg.Points(2.6), Shape: mark}
			c.DrawGlyph(glyph, vg.Point{X: (x + end) / 2, Y: y})
			c.FillText(textStyle(8.5), vg.Point{X: end + vg.Points(4), Y: y + vg.Points(1)}, f.names[e.line])
		}
	}
	c.FillText(textStyle(8), vg.Point{X: c.Min.X, Y: c.Min.Y + lineHeight/2}, f.footer)
}

// CompareChart draws accuracy against size of both runs on the trials compared,
// a panel for each axis and, with several pairings, a row of them for each.
func CompareChart(w io.Writer, c *Comparison, format Picture) error {
	f := figure{names: []string{"A: " + shorten(c.First.Name, 40), "B: " + shorten(c.Second.Name, 40)}}
	for i, run := range []ComparedRun{c.First, c.Second} {
		f.names[i] = oneLine(f.names[i])
		if run.Scripted() {
			f.names[i] += " (scripted model)"
		}
	}
	var low, high int
	several := 0
	for i := range c.Pairings {
		p := &c.Pairings[i]
		row, lines := p.panels()
		if len(row) == 0 {
			continue
		}
		several++
		low, high = spread(low, high, lines)
		f.rows = append(f.rows, row)
		f.title = shorten(p.title(), 70)
	}
	if several > 1 {
		f.title = "Accuracy in both runs"
		f.nameRows(c)
	} else if len(f.rows) == 1 {
		f.rows = folded(f.rows[0])
	}
	f.footer = pointsText(low, high) + "; bars: ±1 standard error"
	if !c.Complete {
		f.title += " (partial)"
	}
	return f.draw(w, format)
}

// folded puts many panels into two rows: side by side they are too wide for a
// page.
func folded(row []panel) [][]panel {
	if len(row) <= 2 {
		return [][]panel{row}
	}
	half := (len(row) + 1) / 2
	return [][]panel{row[:half], row[half:]}
}

// pairingsFigure is a panel for each axis with a line for each agent and model.
func pairingsFigure(r *Report) *figure {
	f := &figure{title: oneLine(shorten("Run "+r.Header.Name, 60))}
	if !r.Complete {
		f.title += fmt.Sprintf(" (partial: %d of %d trials)", r.Trials.Done, r.Trials.Planned)
	}
	var row []panel
	var low, high int
	for _, axis := range axesOf(r) {
		p := panel{title: legendName(string(axis)), lines: make([]series, len(r.Pairings))}
		points := 0
		for i, of := range r.Pairings {
			for _, g := range of.ByAxisSize {
				if g.Axis == axis && g.Size > 0 && g.All.Accuracy != nil {
					p.lines[i].groups = append(p.lines[i].groups, g)
					points++
				}
			}
		}
		if points > 0 {
			row = append(row, p)
			low, high = spread(low, high, p.lines)
		}
	}
	for _, of := range r.Pairings {
		h := of.Header
		name := oneLine(fmt.Sprintf("%s %s, %s", h.Agent, h.Version, h.Model))
		f.names = append(f.names, shorten(name, 44)+scriptedMark(h))
	}
	if len(row) > 0 {
		f.rows = folded(row)
	}
	f.footer = pointsText(low, high) + "; bars: ±1 standard error"
	return f
}

// nameRows puts the pairing of each row into the titles of its panels.
func (f *figure) nameRows(c *Comparison) {
	row := 0
	for i := range c.Pairings {
		p := &c.Pairings[i]
		if len(p.Axes) == 0 || row == len(f.rows) {
			continue
		}
		name := cmp.Or(p.First, p.Second)
		for j := range f.rows[row] {
			f.rows[row][j].title += ": " + shorten(oneLine(name.Agent+", "+name.Model), 36)
		}
		row++
	}
}

// panels are those of one pairing's axes, and all their lines.
func (p *PairingComparison) panels() (row []panel, all []series) {
	for _, a := range p.Axes {
		lines := []series{{name: "A"}, {name: "B"}}
		for _, g := range a.Sizes {
			if g.Size <= 0 || g.First.Accuracy == nil {
				continue
			}
			lines[0].groups = append(lines[0].groups, Group{Size: g.Size, All: g.First})
			lines[1].groups = append(lines[1].groups, Group{Size: g.Size, All: g.Second})
		}
		if len(lines[0].groups) > 0 {
			row = append(row, panel{legendName(string(a.Axis)), lines})
			all = append(all, lines...)
		}
	}
	return row, all
}

// spread widens the range of trials per point; 0 is none yet.
func spread(low, high int, lines []series) (int, int) {
	for _, s := range lines {
		for _, g := range s.groups {
			if low == 0 || g.All.N < low {
				low = g.All.N
			}
			high = max(high, g.All.N)
		}
	}
	return low, high
}

func pointsText(low, high int) string {
	switch {
	case low == high && low == 1:
		return "1 trial per point"
	case low == high:
		return fmt.Sprintf("%s trials per point", count(low))
	}
	return fmt.Sprintf("%s to %s trials per point", count(low), count(high))
}
