package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Bounds of a difference that is shown.
const (
	maxDiffLines = 60  // in all
	maxDiffLine  = 200 // bytes of a line
	maxDiffSpan  = 400 // lines of each text that are compared, where they differ first
	diffContext  = 3   // equal lines around
)

// difference shows where two lists of lines differ, as a unified difference of
// bounded size; skipped is how many equal lines stand before them already.
// Equal lists give "".
func difference(recorded, now []string, skipped int) string {
	head := 0
	for head < min(len(recorded), len(now)) && recorded[head] == now[head] {
		head++
	}
	if head == len(recorded) && head == len(now) {
		return ""
	}
	from := max(0, head-diffContext)
	a, cutA := excerpt(recorded[from:])
	b, cutB := excerpt(now[from:])
	if at := head - from; at < min(len(a), len(b)) {
		a[at], b[at] = aligned(a[at], b[at])
	}
	shown := strings.SplitAfter(string(diff.Diff("recorded", joined(a), "now", joined(b))), "\n")
	const header = 3 // the command and the two names
	if len(shown) <= header {
		return "(they differ in what is too long to be shown)"
	}
	var out strings.Builder
	if from += skipped; from > 0 {
		fmt.Fprintf(&out, "behind line %d:\n", from)
	}
	shown = shown[header:]
	out.WriteString(strings.Join(shown[:min(len(shown), maxDiffLines)], ""))
	if len(shown) > maxDiffLines || cutA || cutB {
		out.WriteString("…\n")
	}
	return out.String()
}

// textDifference is difference for two texts of any length, of which it reads
// no more than it can show.
func textDifference(recorded, now string) string {
	same := commonStart(recorded, now)
	begin := same
	for range diffContext + 1 {
		if begin = strings.LastIndexByte(recorded[:max(begin, 0)], '\n'); begin < 0 {
			break
		}
	}
	begin++ // behind the line's end
	return difference(fewLines(recorded[begin:]), fewLines(now[begin:]), strings.Count(recorded[:begin], "\n"))
}

func fewLines(text string) []string {
	const enough = 256 << 10
	if len(text) > enough {
		text = text[:enough]
	}
	return strings.SplitN(text, "\n", maxDiffSpan+1)
}

func commonStart(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// excerpt copies as many lines as are compared.
func excerpt(lines []string) (copied []string, cut bool) {
	if len(lines) > maxDiffSpan {
		lines, cut = lines[:maxDiffSpan], true
	}
	return slices.Clone(lines), cut
}

// joined makes a text of lines, each of bounded length.
func joined(lines []string) []byte {
	var b bytes.Buffer
	for _, line := range lines {
		if len(line) > maxDiffLine {
			line = strings.ToValidUTF8(line[:maxDiffLine], "") + "…"
		}
		b.WriteString(line + "\n")
	}
	return b.Bytes()
}

// aligned cuts two lines so that where they differ first is not beyond what is
// shown.
func aligned(a, b string) (string, string) {
	const before = 60
	at := commonStart(a, b)
	if at < maxDiffLine-before {
		return a, b
	}
	cut := func(s string) string { return "…" + strings.ToValidUTF8(s[at-before:], "") }
	return cut(a), cut(b)
}
