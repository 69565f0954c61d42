package report

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Picture is a format of Chart.
type Picture string

// The formats of Chart.
const (
	PNG Picture = "png"
	SVG Picture = "svg"
)

// ErrNoAccuracy says that there is nothing to draw: accuracies are withheld,
// or no trial is done.
var ErrNoAccuracy = errors.New("there is no accuracy to draw")

// Size of the chart: the width of one and a half columns of a paper.
const (
	chartWidth  = 13 * vg.Centimeter
	chartHeight = 9 * vg.Centimeter
	chartDPI    = 300
)

// Chart draws accuracy over all trials against size, a line for each axis, with
// bars of one standard error. With several agents and models there is a panel for
// each axis with a line for each of them.
func Chart(w io.Writer, r *Report, format Picture) error {
	if len(r.Pairings) > 0 {
		return pairingsFigure(r).draw(w, format)
	}
	p, err := newChart(r)
	if err != nil {
		return err
	}
	return paint(w, format, chartWidth, chartHeight, func(c draw.Canvas) error {
		p.Draw(c)
		return nil
	})
}

// paint draws onto a canvas of the format, inside of a margin, and writes it.
func paint(w io.Writer, format Picture, width, height vg.Length, fill func(draw.Canvas) error) error {
	var canvas interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case PNG:
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(chartDPI))}
	case SVG:
		canvas = vgsvg.New(width, height)
	default:
		return fmt.Errorf("unknown picture format %q: there are png and svg", format)
	}
	const margin = 3 * vg.Millimeter
	if err := fill(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin)); err != nil {
		return err
	}
	_, err := canvas.WriteTo(w)
	return err
}

// series is the line of one axis, or of one run on it.
type series struct {
	name   string
	groups []Group
}

func newChart(r *Report) (*plot.Plot, error) {
	lines := chartSeries(r)
	if len(lines) == 0 {
		return nil, ErrNoAccuracy
	}
	p := plot.New()
	setText(p, r, lines)
	setScales(p, lines)
	p.Add(gridLines(), frame{})
	for i, s := range lines {
		if err := addSeries(p, s, i, len(lines)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func chartSeries(r *Report) []series {
	var lines []series
	for _, g := range r.ByAxisSize {
		if g.All.Accuracy == nil || g.Size <= 0 {
			continue
		}
		if last := len(lines) - 1; last < 0 || lines[last].name != string(g.Axis) {
			lines = append(lines, series{name: string(g.Axis)})
		}
		last := &lines[len(lines)-1]
		last.groups = append(last.groups, g)
	}
	return lines
}

func setText(p *plot.Plot, r *Report, lines []series) {
	h := r.Header
	p.Title.Text = shorten(oneLine(fmt.Sprintf("%s %s, %s", h.Agent, h.Version, h.Model)), 44)
	if h.Scripted {
		p.Title.Text += " (scripted model)"
	}
	if !r.Complete {
		p.Title.Text += fmt.Sprintf(" (partial: %d of %d trials)", r.Trials.Done, r.Trials.Planned)
	}
	setFont(&p.Title.TextStyle, 10)
	p.Title.Padding = vg.Points(7)
	p.X.Label.Text = "Size N  (" + perPoint(lines) + "; bars: ±1 standard error)"
	p.Y.Label.Text = "Accuracy"
	setAxes(p)
	setLegend(p, lines)
}

// setAxes gives the axes their looks; the frame is their line.
func setAxes(p *plot.Plot) {
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		setFont(&axis.Label.TextStyle, 9)
		axis.Label.Padding = vg.Points(4)
		setFont(&axis.Tick.Label, 8)
		axis.LineStyle.Width = 0
		axis.Tick.LineStyle.Width = frameWidth
		axis.Tick.Length = vg.Points(3)
		axis.Padding = 0
	}
}

func setLegend(p *plot.Plot, lines []series) {
	setFont(&p.Legend.TextStyle, 8.5)
	p.Legend.ThumbnailWidth = vg.Points(22)
	p.Legend.Padding = vg.Points(2)
	p.Legend.Left, p.Legend.Top = legendPlace(lines)
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(6), vg.Points(6)
	if !p.Legend.Left {
		p.Legend.XOffs = -p.Legend.XOffs
	}
	if p.Legend.Top {
		p.Legend.YOffs = -p.Legend.YOffs
	}
}

const frameWidth = 0.6 // points

func setFont(style *draw.TextStyle, points float64) {
	style.Font.Variant = "Sans"
	style.Font.Size = vg.Points(points)
}

// frame is the border of the data area.
type frame struct{}

// Plot implements plot.Plotter.
func (frame) Plot(c draw.Canvas, _ *plot.Plot) {
	r := c.Rectangle
	c.StrokeLines(draw.LineStyle{Color: color.Black, Width: frameWidth}, []vg.Point{
		r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}, r.Min, {X: r.Max.X, Y: r.Min.Y}})
}

// perPoint says on how many trials a point stands.
func perPoint(lines []series) string { return pointsText(spread(0, 0, lines)) }

// legendPlace picks the corner whose points lie farthest away: a legend on top
// of a line hides what the figure is for.
func legendPlace(lines []series) (left, top bool) {
	best := math.Inf(-1)
	sizes := chartSizes(lines)
	for _, atTop := range []bool{false, true} { // the lower left is free in most results
		for _, atLeft := range []bool{true, false} {
			if d := cornerDistance(lines, sizes, atLeft, atTop); d > best {
				best, left, top = d, atLeft, atTop
			}
		}
	}
	return left, top
}

// cornerDistance is how near any point comes to a corner, on a unit square.
func cornerDistance(lines []series, sizes []int, left, top bool) float64 {
	lo, hi := xLimits(sizes)
	nearest := math.Inf(1)
	for _, s := range lines {
		for _, g := range s.groups {
			x := (xOf(g.Size) - lo) / (hi - lo)
			y := *g.All.Accuracy
			if !left {
				x = 1 - x
			}
			if top {
				y = 1 - y
			}
			nearest = min(nearest, math.Hypot(x, y))
		}
	}
	return nearest
}

func chartSizes(lines []series) []int {
	var sizes []int
	for _, s := range lines {
		for _, g := range s.groups {
			sizes = append(sizes, g.Size)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// xOf is the place of a size. Sizes are spread by their logarithm here and not
// by plot.LogScale, which takes the middle of the axis for the mean of its ends
// and leaves a wide margin for a label that is not there.
func xOf(size int) float64 { return math.Log(float64(size)) }

// xLimits leave some room beside the outermost sizes.
func xLimits(sizes []int) (lo, hi float64) {
	lo, hi = xOf(sizes[0]), xOf(sizes[len(sizes)-1])
	room := max(0.04*(hi-lo), 0.02)
	if len(sizes) == 1 {
		room = 1
	}
	return lo - room, hi + room
}

func setScales(p *plot.Plot, lines []series) {
	sizes := chartSizes(lines)
	p.X.Min, p.X.Max = xLimits(sizes)
	var ticks []plot.Tick
	for _, n := range sizes {
		ticks = append(ticks, plot.Tick{Value: xOf(n), Label: strconv.Itoa(n)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Min, p.Y.Max = -0.03, 1.03
	var levels []plot.Tick
	for i := 0; i <= 5; i++ {
		levels = append(levels, plot.Tick{Value: float64(i) / 5, Label: fmt.Sprintf("%.1f", float64(i)/5)})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(levels)
}

func gridLines() *plotter.Grid {
	grid := plotter.NewGrid()
	for _, style := range []*draw.LineStyle{&grid.Vertical, &grid.Horizontal} {
		style.Color = color.Gray{Y: 225}
		style.Width = vg.Points(0.4)
		style.Dashes = nil
	}
	return grid
}

// lineColours can be told apart by the colour-blind and on grey paper (Okabe
// and Ito's set); the marks differ as well.
func lineLook(i int) (color.Color, draw.GlyphDrawer) {
	colours := []color.RGBA{
		{R: 0, G: 114, B: 178, A: 255}, {R: 213, G: 94, B: 0, A: 255}, {R: 0, G: 158, B: 115, A: 255},
		{R: 204, G: 121, B: 167, A: 255}, {R: 230, G: 159, B: 0, A: 255}, {R: 86, G: 180, B: 233, A: 255},
	}
	marks := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{},
		draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}
	return colours[i%len(colours)], marks[i%len(marks)]
}

func addSeries(p *plot.Plot, s series, i, of int) error {
	line, scatter, err := addLine(p, s, i, of)
	if err == nil {
		p.Legend.Add(legendName(s.name), line, scatter)
	}
	return err
}

// addLine adds the i-th line of a plot without telling its name.
func addLine(p *plot.Plot, s series, i, of int) (*plotter.Line, *plotter.Scatter, error) {
	colour, mark := lineLook(i)
	points := seriesPoints(s, i, of)
	line, scatter, err := plotter.NewLinePoints(points)
	if err != nil {
		return nil, nil, err
	}
	line.Color, line.Width = colour, vg.Points(1.6)
	scatter.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: vg.Points(2.6), Shape: mark}
	bars, err := plotter.NewYErrorBars(points)
	if err != nil {
		return nil, nil, err
	}
	bars.LineStyle = draw.LineStyle{Color: colour, Width: vg.Points(0.9)}
	bars.CapWidth = vg.Points(4)
	p.Add(line, bars, scatter)
	return line, scatter, nil
}

func legendName(axis string) string {
	if axis == "" {
		return "all"
	}
	return strings.ToUpper(axis[:1]) + axis[1:]
}

// barPoints are points with the errors that their bars show.
type barPoints struct {
	plotter.XYs
	plotter.YErrors
}

// seriesPoints moves the lines a hair apart, so that equal accuracies do not
// hide each other's bars.
func seriesPoints(s series, i, of int) barPoints {
	shift := 0.02 * (float64(i) - float64(of-1)/2)
	var b barPoints
	for _, g := range s.groups {
		b.XYs = append(b.XYs, plotter.XY{X: xOf(g.Size) + shift, Y: *g.All.Accuracy})
		b.YErrors = append(b.YErrors, struct{ Low, High float64 }{*g.All.SE, *g.All.SE})
	}
	return b
}
