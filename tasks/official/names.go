package official

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cabra-run/tasks"
)

// The sizes that the published experiments do not scale.
const (
	fixedNodes = 25
	smallNodes = 10
)

// sampling is the part that the names of all runs on call graphs share.
const sampling = "_prop=(0.45,0.55)_psame=(0.9,0.9)_ce=(0.3,0.3)_ee=(0.3,0.3)" +
	"_attach=(0.3,0.3)_centry=(1,1)_eentry=(1,1)"

// graphSizes returns the numbers of init and edit functions that the cells of an
// axis are sampled with.
func graphSizes(a tasks.Axis, size int) (init, edit int) {
	switch a {
	case tasks.Traversal:
		return fixedNodes, size
	case tasks.Search:
		return size, fixedNodes
	case tasks.Combined:
		return size, size
	}
	return smallNodes, smallNodes
}

// graphAxes are the axes whose programs come from call graphs. The last two have
// no published name; theirs are our own, after the same pattern.
func graphAxes() []tasks.Axis { return append(tasks.Axes(), tasks.Combined, tasks.CommentCopy) }

func experimentOf(a tasks.Axis) string {
	switch a {
	case tasks.Traversal:
		return "function_traversal"
	case tasks.Search:
		return "function_search"
	case tasks.Runtime:
		return "runtime_resolution"
	case tasks.Instructions:
		return "add_instructions"
	case tasks.Combined:
		return "combined"
	case tasks.CommentCopy:
		return "comment_copy"
	}
	return ""
}

// graphRun is the name of the run that sampled the graphs of an axis and size.
func graphRun(a tasks.Axis, size int) string {
	init, edit := graphSizes(a, size)
	if a == tasks.Traversal || a == tasks.Search {
		return fmt.Sprintf("%s_cn=(%d,%d)_en=(%d,%d)%s", experimentOf(a), init, init, edit, edit, sampling)
	}
	return fmt.Sprintf("%s_n=(%d,%d)%s", experimentOf(a), init, edit, sampling)
}

// taskRun is the name of the run that made the tasks of a cell on call graphs.
func taskRun(a tasks.Axis, size int) string {
	switch run := graphRun(a, size); a {
	case tasks.Runtime:
		return fmt.Sprintf("%s_ifhops=%d", run, size)
	case tasks.Instructions:
		return fmt.Sprintf("%s_nc=(%d,%d)_cp=(0.0,0.0)", run, size, size)
	case tasks.CommentCopy:
		return fmt.Sprintf("%s_nw=%d", run, size)
	default:
		return run
	}
}

// oldPrefixes maps the beginnings of run names in released data to those of
// today. A longer one stands before what it begins with.
func oldPrefixes() [][2]string {
	return [][2]string{
		{"distractor_code_", "function_search_"},
		{"main_sweep_fair_", "function_traversal_"},
		{"add_instructions_fixed_", "add_instructions_"},
		{"testing_runtime_", "runtime_resolution_"},
		{"testing_", "merge_codebases_"},
	}
}

// CurrentRun is the name that a run of released data would have today.
func CurrentRun(name string) string {
	for _, p := range oldPrefixes() {
		if rest, ok := strings.CutPrefix(name, p[0]); ok {
			return p[1] + rest
		}
	}
	return name
}

var number = regexp.MustCompile(`\d{1,5}`)

// parseRun says which axis and size a run on call graphs has. A run counts only
// where its whole name is the one that we would give: with other parameters it
// holds other tasks.
func parseRun(name string) (a tasks.Axis, size int, ok bool) {
	if len(name) > maxName {
		return "", 0, false
	}
	name = CurrentRun(name)
	for _, a := range graphAxes() {
		if !strings.HasPrefix(name, experimentOf(a)+"_") {
			continue
		}
		for _, digits := range number.FindAllString(name, -1) {
			size, err := strconv.Atoi(digits)
			if err == nil && size > 0 && taskRun(a, size) == name {
				return a, size, true
			}
		}
	}
	return "", 0, false
}

// numbered reports whether the programs of an axis pass numbered values around,
// for which there are task sets of their own.
func numbered(a tasks.Axis) bool { return a == tasks.Instructions || a == tasks.CommentCopy }

// setName is the official name of a code type.
func setName(a tasks.Axis, c tasks.CodeType) string {
	switch {
	case numbered(a) && c == tasks.Math:
		return "math_mult_constraints"
	case numbered(a):
		return string(c) + "_constraints"
	}
	return string(c) + "_function"
}

// codeOf is the code type of a task set.
func codeOf(set string) (c tasks.CodeType, ok bool) {
	for _, c := range tasks.CodeTypes() {
		if set == setName(tasks.Traversal, c) || set == setName(tasks.Instructions, c) {
			return c, true
		}
	}
	return "", false
}

// typeName is the official name of a refactoring.
func typeName(r tasks.Refactoring) string {
	switch r {
	case tasks.DeadCode:
		return "dead_code"
	case tasks.AddParameter:
		return "add_parameter"
	case tasks.AddReturn:
		return "add_return_value"
	case tasks.CacheFunction:
		return "cache_function"
	case tasks.DontRepeat:
		return "extract_helper"
	}
	return ""
}

func refactoringOf(name string) (r tasks.Refactoring, ok bool) {
	all := tasks.Refactorings()
	i := slices.IndexFunc(all, func(r tasks.Refactoring) bool { return typeName(r) == name })
	if i < 0 {
		return "", false
	}
	return all[i], true
}

// Key is where official files have a task: Set and Type are empty for merge.
type Key struct{ Run, Set, Type, DagID string }

// KeyOf returns the key under which Write would put a task that is in the file
// with all instances before it. Tasks without official form have none.
func KeyOf(t *tasks.Task) (k Key, ok bool) {
	if t.Cell.Axis == tasks.Merge {
		run, ok := mergeRun(t.Cell)
		return Key{Run: run, DagID: mergeDagID(t.Instance - 1)}, ok
	}
	if !slices.Contains(graphAxes(), t.Cell.Axis) {
		return Key{}, false
	}
	return Key{Run: taskRun(t.Cell.Axis, t.Cell.Size), Set: setName(t.Cell.Axis, t.Cell.Code),
		Type: typeName(t.Cell.Refactoring), DagID: t.SampleID}, true
}

// name is the task's name in records.
func (k Key) name() string { return k.Set + "_" + k.Type + "_" + k.DagID }
