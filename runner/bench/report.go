package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what one benchmark run has measured.
type Report struct {
	Version string    `json:"version"`
	At      time.Time `json:"at"`
	CPUs    int       `json:"cpus"`
	Load    string    `json:"load"` // the load averages when it began, "" where unknown
	Loaded  bool      `json:"loaded"`
	LoadEnd string    `json:"load_end"`
	Figures []Figure  `json:"figures"`
	Notes   []string  `json:"notes,omitempty"` // what was left out, and why
}

// Figure is one measured thing.
type Figure struct {
	Part   string  `json:"part"` // what --only takes
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	N      int     `json:"n"` // measurements
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	Aim    string  `json:"aim,omitempty"`
	Met    *bool   `json:"met,omitempty"` // nil without an aim
	How    string  `json:"how"`           // what was done to measure it
}

// NewReport begins a report.
func NewReport(version string) *Report {
	load, busy := loadAverage()
	return &Report{Version: version, At: time.Now().UTC(), CPUs: runtime.NumCPU(), Load: load, Loaded: busy}
}

// loadAverage reads the machine's load, and says whether others have much of it.
func loadAverage() (string, bool) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", false
	}
	var one, five, fifteen float64
	if n, _ := fmt.Sscan(string(text), &one, &five, &fifteen); n < 3 {
		return "", false
	}
	return fmt.Sprintf("%.2f %.2f %.2f", one, five, fifteen), one > float64(runtime.NumCPU())/2
}

// add adds a figure of many measurements.
func (r *Report) add(f Figure, values []float64) {
	f.N, f.Median, f.P95 = len(values), quantile(values, 0.5), quantile(values, 0.95)
	r.Figures = append(r.Figures, f)
}

// aim adds a figure with an aim that its median meets up to a bound.
func (r *Report) aim(f Figure, bound float64, values []float64) {
	met := quantile(values, 0.5) <= bound
	f.Met = &met
	if f.Aim == "" {
		f.Aim = fmt.Sprintf("≤ %g %s", bound, f.Unit)
	}
	r.add(f, values)
}

// quantile is the value below which that part of the values lies, by the
// nearest rank; 0 without values.
func quantile(values []float64, part float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(part*float64(len(sorted)) + 0.999999)
	return sorted[max(0, min(rank, len(sorted))-1)]
}

// JSON writes the report.
func (r *Report) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// Text writes the report as a table.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "cabra-run %s, %s, %d CPUs, load average %s at the start, %s at the end\n",
		r.Version, r.At.Format(time.DateTime), r.CPUs, orUnknown(r.Load), orUnknown(r.LoadEnd))
	if r.Loaded {
		b.WriteString("others use this machine: times are longer than the program's own\n")
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	part := ""
	for _, f := range r.Figures {
		if f.Part != part {
			part = f.Part
			fmt.Fprintf(t, "\n%s\tn\tmedian\tp95\t\taim\t\n", strings.ToUpper(part))
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", f.Name, f.N, number(f.Median), number(f.P95), f.Unit, f.Aim, metWord(f.Met))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	b.WriteString("\nhow\n")
	for _, f := range r.Figures {
		if f.How != "" {
			fmt.Fprintf(&b, "  %s: %s\n", f.Name, f.How)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "left out: %s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func metWord(met *bool) string {
	switch {
	case met == nil:
		return ""
	case *met:
		return "met"
	}
	return "NOT MET"
}

// number shows three or four figures, which is more than a measurement is worth.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 1000 || v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// End notes the load after the last measurement.
func (r *Report) End() {
	load, busy := loadAverage()
	r.LoadEnd, r.Loaded = load, r.Loaded || busy
}
