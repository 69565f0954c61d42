package program

import "strings"

// reservedWords are the names that a function or variable must not have: Python's
// keywords, soft keywords and builtin names, as far as they consist of lower
// case letters, and the words that the benchmark keeps for itself.
const reservedWords = `
and as assert async await break class continue def del elif else except finally for from global if
import in is lambda nonlocal not or pass raise return try while with yield
case match type
abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile
complex copyright credits delattr dict dir divmod enumerate eval exec exit filter float format
frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len license
list locals map max memoryview min next object oct open ord pow print property quit range repr
reversed round set setattr slice sorted staticmethod str sum super tuple vars zip
counter np`

// SymbolicNames returns the first count names of the sequence a, …, z, aa, ab,
// … without the reserved words.
func SymbolicNames(count int) []string {
	reserved := make(map[string]bool)
	for word := range strings.FieldsSeq(reservedWords) {
		reserved[word] = true
	}
	names := make([]string, 0, count)
	for i := 1; len(names) < count; i++ {
		if name := columnName(i); !reserved[name] {
			names = append(names, name)
		}
	}
	return names
}

// columnName writes i >= 1 as spreadsheets name their columns.
func columnName(i int) string {
	var name []byte
	for ; i > 0; i = (i - 1) / 26 {
		name = append([]byte{byte('a' + (i-1)%26)}, name...)
	}
	return string(name)
}
