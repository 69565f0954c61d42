package refactor

import (
	"fmt"
	"testing"

	"cabra-run/tasks"
)

// The statement of the largest tasks, with 200 rules.
func BenchmarkRender(b *testing.B) {
	cell := tasks.Cell{Axis: tasks.Instructions, Size: 200, Refactoring: tasks.AddReturn, Code: tasks.Math}
	var rules []Rule
	for i := range cell.Size {
		r := kindSentences()[i%85]
		r.Line += fmt.Sprint(i)
		rules = append(rules, r)
	}
	for b.Loop() {
		if _, err := Statements(nil).Render(cell, rules); err != nil {
			b.Fatal(err)
		}
	}
}
