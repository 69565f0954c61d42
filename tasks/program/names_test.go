package program

import (
	"slices"
	"strings"
	"testing"
)

func TestSymbolicNamesSkipReservedWords(t *testing.T) {
	names := SymbolicNames(605) // as many as any published program needs
	for i, want := range map[int]string{0: "a", 25: "z", 26: "aa", 27: "ab", 604: "wn"} {
		if names[i] != want {
			t.Errorf("name %d is %s, want %s", i, names[i], want)
		}
	}
	have := make(map[string]bool)
	for _, name := range names {
		have[name] = true
	}
	for i := 1; i <= 605+7; i++ {
		skipped := strings.Contains(" as if in is or id np ", " "+columnName(i)+" ")
		if have[columnName(i)] == skipped {
			t.Errorf("%s: in the pool %v", columnName(i), !skipped)
		}
	}
	for _, reserved := range []string{"abs", "def", "sum", "for", "zip", "type", "case", "eval"} {
		if slices.Contains(SymbolicNames(130_000), reserved) {
			t.Errorf("%s is a name", reserved)
		}
	}
}
