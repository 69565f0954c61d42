package tasks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseID splits the id of a task into its cell and its instance, which is
// counted from 1. It accepts exactly the ids that CellID gives for tasks of
// this version; the error is a *GridError.
func ParseID(id ID) (Cell, int, error) {
	parts := strings.Split(string(id), "/")
	if len(parts) < 3 {
		return Cell{}, 0, wrongForm(id, Traversal)
	}
	if err := checkWord("axis", parts[0], AllAxes()); err != nil {
		return Cell{}, 0, err
	}
	words, numbers := parts[1:len(parts)-2], parts[len(parts)-2:]
	c, err := parseWordSegments(id, Axis(parts[0]), words)
	if err != nil {
		return Cell{}, 0, err
	}
	sizes, _ := familyOf(c.Axis).sizesOf(c.Variant)
	c.Size, err = numberedSegment(numbers[0], "n")
	if err != nil || !slices.Contains(sizes, c.Size) {
		return Cell{}, 0, &GridError{Key: "size in a task id", Value: shorten(numbers[0]), Have: sizeSegments(sizes)}
	}
	most := familyOf(c.Axis).instances
	k, err := numberedSegment(numbers[1], "")
	if err != nil || k < 1 || k > most {
		return Cell{}, 0, &GridError{Malformed: true, Key: "instance in a task id", Value: shorten(numbers[1]),
			Hint: fmt.Sprintf("instances in ids run from 01 to %02d", most)}
	}
	if CellID(c, k) != id {
		e := wrongForm(id, c.Axis)
		e.Suggestion = string(CellID(c, k))
		return Cell{}, 0, e
	}
	return c, k, nil
}

// parseWordSegments reads what stands between the axis and the size in an id.
func parseWordSegments(id ID, a Axis, words []string) (Cell, error) {
	c, f := Cell{Axis: a}, familyOf(a)
	take := func() (word string) {
		if len(words) > 0 {
			word, words = words[0], words[1:]
		}
		return word
	}
	least := 0
	for _, has := range []bool{len(f.refactorings) > 0, len(f.codes) > 0} {
		if has {
			least++
		}
	}
	if len(words) < least || len(words) > least+min(1, len(f.variants)) {
		return Cell{}, wrongForm(id, a)
	}
	if len(f.refactorings) > 0 {
		c.Refactoring = Refactoring(take())
		if err := checkWord("task", string(c.Refactoring), f.refactorings); err != nil {
			return Cell{}, err
		}
	}
	if len(f.codes) > 0 {
		c.Code = CodeType(take())
		if err := checkWord("code", string(c.Code), f.codes); err != nil {
			return Cell{}, err
		}
	}
	if len(words) > 0 {
		c.Variant = take()
		if err := checkWord("variant", c.Variant, f.variantWords()); err != nil {
			return Cell{}, err
		}
	}
	return c, nil
}

// wrongForm says what an id of the axis looks like.
func wrongForm(id ID, a Axis) *GridError {
	example := Cell{Axis: a, Size: 50}
	if f := familyOf(a); len(f.refactorings) > 0 {
		example.Refactoring, example.Code = AddParameter, Math
	}
	return &GridError{Malformed: true, Key: "task id", Value: shorten(string(id)),
		Hint: "a task id looks like " + string(CellID(example, 7))}
}

func numberedSegment(s, prefix string) (int, error) {
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return 0, fmt.Errorf("no %q", prefix)
	}
	return plainNumber(digits)
}

// plainNumber reads up to six decimal digits without a sign.
func plainNumber(s string) (int, error) {
	if s == "" || len(s) > 6 || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return strconv.Atoi(s)
}

func sizeSegments(sizes []int) []string {
	list := make([]string, len(sizes))
	for i, n := range sizes {
		list[i] = fmt.Sprintf("n%03d", n)
	}
	return list
}
