package tasks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseID splits the id of a call-graph task into its cell and its instance,
// which is counted from 1. It accepts exactly the ids that CellID gives for
// tasks of this version; the error is a *GridError.
func ParseID(id ID) (Cell, int, error) {
	parts := strings.Split(string(id), "/")
	if len(parts) != 5 {
		return Cell{}, 0, &GridError{Malformed: true, Key: "task id", Value: shorten(string(id)), Hint: idForm}
	}
	c := Cell{Axis: Axis(parts[0]), Refactoring: Refactoring(parts[1]), Code: CodeType(parts[2])}
	if err := checkWord("axis", parts[0], Axes()); err != nil {
		return Cell{}, 0, err
	}
	if err := checkWord("task", parts[1], Refactorings()); err != nil {
		return Cell{}, 0, err
	}
	if err := checkWord("code", parts[2], CodeTypes()); err != nil {
		return Cell{}, 0, err
	}
	n, err := numberedSegment(parts[3], "n")
	if err != nil || !slices.Contains(Sizes(), n) {
		return Cell{}, 0, &GridError{Key: "size in a task id", Value: shorten(parts[3]), Have: sizeSegments()}
	}
	c.Size = n
	k, err := numberedSegment(parts[4], "")
	if err != nil || k < 1 || k > InstancesPerCell {
		return Cell{}, 0, &GridError{Malformed: true, Key: "instance in a task id", Value: shorten(parts[4]),
			Hint: instanceForm()}
	}
	if CellID(c, k) != id {
		return Cell{}, 0, &GridError{Malformed: true, Key: "task id", Value: shorten(string(id)),
			Suggestion: string(CellID(c, k)), Hint: idForm}
	}
	return c, k, nil
}

const idForm = "a task id looks like traversal/add-parameter/math/n050/07"

func instanceForm() string {
	return fmt.Sprintf("instances in ids run from 01 to %02d", InstancesPerCell)
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

func sizeSegments() []string {
	list := make([]string, 0, len(Sizes()))
	for _, n := range Sizes() {
		list = append(list, fmt.Sprintf("n%03d", n))
	}
	return list
}
