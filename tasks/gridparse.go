package tasks

import (
	"fmt"
	"slices"
	"strings"
)

// maxGridText bounds the text of a grid: enough for every single id of one axis.
const maxGridText = 1 << 20

// ParseGrid reads the text of a grid. It is either a list, separated by commas,
// of presets ("traversal", "full", "merge") and task ids; or an expression of
// conditions, separated by semicolons, in which each key is optional and
// stands for everything when it is missing:
//
//	axis=search,traversal; size=5..50; code=math; task=add-parameter; instances=5
//
// Keys are axis, size, code, task (or refactoring), variant and instances.
// Values are lists; a size may be a range between two sizes; instances is the
// number of first instances or a range like 3..7. Without axis an expression is
// about the four axes of the full grid, without variant about cells that have
// none. An axis that lacks what is asked for (a code type, a refactoring, an
// instance) adds nothing. Blanks are free. A wrong text gives a *GridError.
func ParseGrid(text string) (Grid, error) {
	if len(text) > maxGridText {
		return Grid{}, &GridError{Malformed: true, Key: "grid", Value: shorten(text),
			Hint: "the text is longer than 1 MiB"}
	}
	if strings.Contains(text, "=") {
		return parseExpression(text)
	}
	return parseList(text)
}

func parseList(text string) (Grid, error) {
	sel, single, named := selection{}, selection{}, map[string]bool{}
	presets := namedSelections()
	for _, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		if strings.Contains(word, "/") {
			c, k, err := ParseID(ID(word))
			if err != nil {
				return Grid{}, err
			}
			single.add(c, k)
			continue
		}
		i := slices.IndexFunc(presets, func(p namedSelection) bool { return p.name == word })
		if i < 0 {
			return Grid{}, unknownPreset(word, presetNames(presets))
		}
		if !named[word] {
			named[word] = true
			sel.addAll(presets[i].tasks())
		}
	}
	extra := single.without(sel)
	sel.addAll(extra)
	names := slices.DeleteFunc(presetNames(presets), func(n string) bool { return !named[n] })
	return sel.grid(strings.Join(append(names, texts(extra.grid("").IDs())...), ",")), nil
}

func unknownPreset(word string, names []string) error {
	e := UnknownWord("grid", word, names)
	e.Hint = "or an expression like 'axis=search; size=5..50', or a task id"
	return e
}

// expression holds the chosen words of each key, in grid order.
type expression struct {
	axes          []Axis
	sizes         []int
	codes         []CodeType
	tasks         []Refactoring
	variants      []string // none: the cells without a variant
	first, last   int      // instances; last is 0 for all
	instancesText string
}

func parseExpression(text string) (Grid, error) {
	x := expression{axes: Axes(), sizes: Sizes(), codes: CodeTypes(), tasks: Refactorings(), first: 1}
	seen := map[string]bool{}
	for _, condition := range strings.Split(text, ";") {
		if strings.TrimSpace(condition) == "" {
			continue
		}
		key, value, found := strings.Cut(condition, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if key == "refactoring" {
			key = "task"
		}
		if !found {
			return Grid{}, &GridError{Malformed: true, Key: "condition", Value: shorten(key),
				Hint: "a condition is key=values"}
		}
		if seen[key] {
			return Grid{}, &GridError{Malformed: true, Key: "condition", Value: shorten(strings.TrimSpace(condition)),
				Hint: "give each key once"}
		}
		seen[key] = true
		if err := x.set(key, value); err != nil {
			return Grid{}, err
		}
	}
	return x.grid(text)
}

func (x *expression) set(key, value string) (err error) {
	switch key {
	case "axis":
		x.axes, err = ParseWords(key, value, AllAxes())
	case "size":
		x.sizes, err = ParseSizes(value)
	case "code":
		x.codes, err = ParseWords(key, value, CodeTypes())
	case "task":
		x.tasks, err = ParseWords(key, value, Refactorings())
	case "variant":
		x.variants, err = ParseWords(key, value, Variants())
	case "instances":
		x.instancesText = value
		x.first, x.last, err = parseInstances(value)
	default:
		err = UnknownWord("key", key, []string{"axis", "size", "code", "task", "variant", "instances"})
	}
	return err
}

// ParseWords reads a list of words, separated by commas, and returns them in the
// order of have. The error is a *GridError.
func ParseWords[T ~string](key, value string, have []T) ([]T, error) {
	chosen := map[T]bool{}
	for _, w := range strings.Split(value, ",") {
		w = strings.TrimSpace(w)
		if err := checkWord(key, w, have); err != nil {
			return nil, err
		}
		chosen[T(w)] = true
	}
	return slices.DeleteFunc(slices.Clone(have), func(w T) bool { return !chosen[w] }), nil
}

// ParseSizes reads a list of sizes and of ranges between two sizes, and returns
// those of Sizes. The error is a *GridError.
func ParseSizes(value string) ([]int, error) {
	chosen := map[int]bool{}
	for _, part := range strings.Split(value, ",") {
		first, last, isRange := strings.Cut(part, "..")
		if !isRange {
			last = first
		}
		lo, err := parseSize(first)
		if err != nil {
			return nil, err
		}
		hi, err := parseSize(last)
		if err != nil {
			return nil, err
		}
		if lo > hi {
			return nil, &GridError{Malformed: true, Key: "size range", Value: shorten(part),
				Hint: "the smaller size comes first"}
		}
		for _, n := range Sizes() {
			chosen[n] = chosen[n] || lo <= n && n <= hi
		}
	}
	return slices.DeleteFunc(Sizes(), func(n int) bool { return !chosen[n] }), nil
}

func parseSize(s string) (int, error) {
	s = strings.TrimSpace(s)
	n, err := plainNumber(s)
	if err != nil || !slices.Contains(Sizes(), n) {
		return 0, &GridError{Key: "size", Value: shorten(s), Have: numbers(Sizes())}
	}
	return n, nil
}

// parseInstances reads "5" as the first five and "3..7" as the third to the
// seventh.
func parseInstances(value string) (first, last int, err error) {
	from, to, isRange := strings.Cut(value, "..")
	if !isRange {
		from, to = "1", value
	}
	first, errFirst := plainNumber(strings.TrimSpace(from))
	last, errLast := plainNumber(strings.TrimSpace(to))
	if errFirst != nil || errLast != nil || first < 1 || last < first {
		return 0, 0, wrongInstances(value, InstancesPerCell)
	}
	return first, last, nil
}

func wrongInstances(value string, most int) error {
	return &GridError{Malformed: true, Key: "instances", Value: shorten(value),
		Hint: fmt.Sprintf("a number from 1 to %d, or a range like 3..7", most)}
}

func numbers(list []int) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = fmt.Sprint(n)
	}
	return out
}

// most is the largest number of instances that a chosen axis has.
func (x *expression) most() int {
	most := 0
	for _, a := range x.axes {
		most = max(most, familyOf(a).instances)
	}
	return most
}

func (x *expression) grid(text string) (Grid, error) {
	if x.last == 0 {
		x.last = x.most()
	}
	if x.last > x.most() {
		return Grid{}, wrongInstances(x.instancesText, x.most())
	}
	s, filter := selection{}, x.filter()
	for _, a := range x.axes {
		instances := instanceRange(x.first, min(x.last, familyOf(a).instances))
		if len(instances) == 0 {
			continue
		}
		for _, c := range filter.cells(a) {
			s.add(c, instances...)
		}
	}
	if len(s) == 0 {
		return Grid{}, &GridError{Malformed: true, Key: "grid", Value: shorten(text),
			Hint: "these conditions select no task"}
	}
	return s.grid(x.name()), nil
}

// filter asks for nothing where all words of a key are chosen.
func (x *expression) filter() cellFilter {
	f := cellFilter{sizes: x.sizes, variants: x.variants}
	if len(x.tasks) < len(Refactorings()) {
		f.tasks = x.tasks
	}
	if len(x.codes) < len(CodeTypes()) {
		f.codes = x.codes
	}
	return f
}

// name writes only the conditions that restrict something. Without any, the
// axes are spelled out, as an empty text is no grid.
func (x *expression) name() string {
	var parts []string
	if !slices.Equal(x.axes, Axes()) {
		parts = append(parts, "axis="+strings.Join(texts(x.axes), ","))
	}
	if len(x.sizes) < len(Sizes()) {
		parts = append(parts, "size="+SizesText(x.sizes))
	}
	if len(x.codes) < len(CodeTypes()) {
		parts = append(parts, "code="+strings.Join(texts(x.codes), ","))
	}
	if len(x.tasks) < len(Refactorings()) {
		parts = append(parts, "task="+strings.Join(texts(x.tasks), ","))
	}
	if len(x.variants) > 0 {
		parts = append(parts, "variant="+strings.Join(x.variants, ","))
	}
	if x.first > 1 {
		parts = append(parts, fmt.Sprintf("instances=%d..%d", x.first, x.last))
	} else if x.last < x.most() {
		parts = append(parts, fmt.Sprintf("instances=%d", x.last))
	}
	if len(parts) == 0 {
		return "axis=" + strings.Join(texts(Axes()), ",")
	}
	return strings.Join(parts, "; ")
}

// SizesText is the inverse of ParseSizes for sizes in ascending order, at least
// one. It writes three or more sizes without a gap as a range.
func SizesText(sizes []int) string {
	first := slices.Index(Sizes(), sizes[0])
	end := first + len(sizes)
	if len(sizes) >= 3 && end <= len(Sizes()) && slices.Equal(Sizes()[first:end], sizes) {
		return fmt.Sprintf("%d..%d", sizes[0], sizes[len(sizes)-1])
	}
	return strings.Join(numbers(sizes), ",")
}
