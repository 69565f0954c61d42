package report

import (
	"bufio"
	"strings"
	"unicode/utf8"
)

// table is text in columns, each as wide as its widest cell.
type table struct {
	align  string // a letter for each column: l or r; a missing one is r
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w *bufio.Writer) {
	widths := make([]int, len(t.header))
	all := append([][]string{t.header}, t.rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range all {
		t.writeRow(w, row, widths)
		if i == 0 {
			total := 2 * (len(widths) - 1)
			for _, n := range widths {
				total += n
			}
			w.WriteString(strings.Repeat("─", total) + "\n")
		}
	}
}

func (t *table) writeRow(w *bufio.Writer, row []string, widths []int) {
	var line strings.Builder
	for i, cell := range row {
		if i > 0 {
			line.WriteString("  ")
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i < len(t.align) && t.align[i] == 'l' {
			line.WriteString(cell + pad)
		} else {
			line.WriteString(pad + cell)
		}
	}
	w.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
