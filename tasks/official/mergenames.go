package official

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cabra-run/tasks"
)

// The published configuration of merge.
const (
	mergeParams   = 10
	mergeMinBlock = 2
	mergeSeed     = 42
)

const (
	mergeBase     = "merge_codebases"
	mergeHintBase = mergeBase + "_hint" // our own: the hint has no published run
	hintVariant   = "hint"
)

// mergeTransforms are the names of all transformations.
func mergeTransforms() []string {
	return []string{"rename_variables", "shuffle_lines", "multi_lines", "reorder", "logical_equiv"}
}

func mergePerturbations() []string {
	return []string{"swap_factor", "flip_sign", "change_coeff", "add_factor"}
}

// transformSets are the sets of a configuration that sweeps all of our variants:
// the place of a set is its number in run names.
func transformSets() (words []string, sets [][]string) {
	words, sets = []string{"", "no-transforms"}, [][]string{mergeTransforms(), {}}
	for _, t := range mergeTransforms() {
		words = append(words, "only-"+strings.ReplaceAll(t, "_", "-"))
		sets = append(sets, []string{t})
	}
	for _, t := range mergeTransforms() {
		words = append(words, "without-"+strings.ReplaceAll(t, "_", "-"))
		sets = append(sets, slices.DeleteFunc(mergeTransforms(), func(u string) bool { return u == t }))
	}
	return words, sets
}

const differencesWord = "differences-"

// mergeRun is the name of the run that made the tasks of a merge cell.
func mergeRun(c tasks.Cell) (name string, ok bool) {
	base, differences, set := mergeBase, 1, 0
	words, _ := transformSets()
	if digits, several := strings.CutPrefix(c.Variant, differencesWord); several {
		n, err := strconv.Atoi(digits)
		if err != nil {
			return "", false
		}
		differences = n
	} else if c.Variant == hintVariant {
		base = mergeHintBase
	} else if set = slices.Index(words, c.Variant); set < 0 {
		return "", false
	}
	return fmt.Sprintf("%s_n=%d_d=%d_p=%d_b=%d_seed=%d_tf=%d",
		base, c.Size, differences, mergeParams, mergeMinBlock, mergeSeed, set), true
}

var mergeRunPattern = regexp.MustCompile(
	`^(merge_codebases|merge_codebases_hint)_n=(\d{1,4})_d=(\d{1,2})_p=10_b=2_seed=42_tf=\d{1,3}(?:_pt=all)?$`)

// parseMergeRun says which cell a run of merge has. The number of the set of
// transformations depends on the configuration, so the records say which it is.
func parseMergeRun(name string, transforms []string) (c tasks.Cell, ok bool) {
	m := mergeRunPattern.FindStringSubmatch(CurrentRun(name))
	if m == nil {
		return tasks.Cell{}, false
	}
	size, _ := strconv.Atoi(m[2])
	differences, _ := strconv.Atoi(m[3])
	words, sets := transformSets()
	set := slices.IndexFunc(sets, func(s []string) bool { return sameSet(s, transforms) })
	c = tasks.Cell{Axis: tasks.Merge, Size: size}
	switch hint := m[1] == mergeHintBase; {
	case size < 1 || differences < 1 || set < 0 || (hint || differences > 1) && set != 0 || hint && differences > 1:
		return tasks.Cell{}, false
	case hint:
		c.Variant = hintVariant
	case differences > 1:
		c.Variant = differencesWord + strconv.Itoa(differences)
	default:
		c.Variant = words[set]
	}
	return c, true
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// mergeDagID is the id of a task by its place in its file, from 0.
func mergeDagID(index int) string { return fmt.Sprintf("task_%05d", index) }
