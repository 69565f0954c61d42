package tasks

import (
	"fmt"
	"slices"
	"strings"
)

// GridError says what is wrong with the text of a grid or with a task id, and
// what exists instead. It is a usage error.
type GridError struct {
	Key        string   // what the value was given for: "preset", "axis", "size", …
	Value      string   // the offending text, shortened
	Have       []string // what exists for the key, if that can be listed
	Suggestion string   // the closest of what exists, or ""
	Hint       string   // one more sentence about the form, or ""
	Malformed  bool     // the value has the wrong form, or is there twice
}

// Error is one line: what happened, what exists and what was perhaps meant.
func (e *GridError) Error() string {
	var b strings.Builder
	switch {
	case e.Value == "":
		fmt.Fprintf(&b, "no %s given", e.Key)
	case e.Malformed:
		fmt.Fprintf(&b, "cannot use %s %q", e.Key, e.Value)
	default:
		fmt.Fprintf(&b, "unknown %s %q", e.Key, e.Value)
	}
	if e.Suggestion != "" {
		fmt.Fprintf(&b, ": did you mean %s?", e.Suggestion)
	}
	if len(e.Have) > 0 {
		fmt.Fprintf(&b, " (there is: %s)", strings.Join(e.Have, ", "))
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// MalformedValue makes the error for a value that has the wrong form, or is
// there twice; hint says what the form is.
func MalformedValue(key, value, hint string) *GridError {
	return &GridError{Malformed: true, Key: key, Value: shorten(value), Hint: hint}
}

// UnknownWord makes the error for a value that is none of have.
func UnknownWord(key, value string, have []string) *GridError {
	return &GridError{Key: key, Value: shorten(value), Have: have, Suggestion: closest(value, have)}
}

func checkWord[T ~string](key, value string, have []T) error {
	if slices.Contains(have, T(value)) {
		return nil
	}
	return UnknownWord(key, value, texts(have))
}

func texts[T ~string](words []T) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return list
}

const maxShown = 60

// shorten keeps error messages to one readable line whatever was typed.
func shorten(s string) string {
	r := []rune(s)
	if len(r) <= maxShown {
		return s
	}
	return string(r[:maxShown]) + "…"
}

// closest returns the one of have that value was probably meant to be: equal
// but for case and underscores, one a part of the other, or at most two (short
// words: one) letters away. Without such a one it returns "".
func closest(value string, have []string) string {
	v := strings.ReplaceAll(strings.ToLower(shorten(value)), "_", "-")
	best, bestDistance := "", 3
	for _, h := range have {
		if v == h || len(v) >= 3 && (strings.Contains(h, v) || strings.Contains(v, h)) {
			return h
		}
		if d := distance(v, h); d < bestDistance && d < len(h)/2 {
			best, bestDistance = h, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two short texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := diagonal
			if a[i] != b[j] {
				next = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
