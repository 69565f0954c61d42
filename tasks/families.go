package tasks

import "slices"

// InstancesPerCell is the number of instances that every call-graph cell has.
const InstancesPerCell = 20

// mergeInstances is the number of instances of every merge cell.
const mergeInstances = 50

// Axes returns the four axes of the full grid, in grid order.
func Axes() []Axis { return []Axis{Traversal, Search, Runtime, Instructions} }

// AllAxes returns the axes of the full grid and after them the families that
// are generated only where they are named, in grid order.
func AllAxes() []Axis { return append(Axes(), Combined, Merge, CommentCopy, Rename) }

// Sizes returns the sizes that every axis has, ascending.
func Sizes() []int { return []int{5, 10, 25, 50, 100, 200} }

// Refactorings returns the five refactorings in grid order.
func Refactorings() []Refactoring {
	return []Refactoring{DeadCode, AddParameter, AddReturn, CacheFunction, DontRepeat}
}

// CodeTypes returns the three code types in grid order.
func CodeTypes() []CodeType { return []CodeType{Math, String, Array} }

// family is what the cells of an axis are made of.
type family struct {
	refactorings []Refactoring // none: the cells have no refactoring
	codes        []CodeType    // none: the cells have no code type
	variants     []variant     // beside the plain cells, which have none
	instances    int           // of each cell
}

// variant is a word for cells of a family that differ in more than size.
type variant struct {
	word  string
	sizes []int
}

// familyOf returns the family of an axis, an empty one for an unknown axis.
// Where the four axes call for nothing but additions, there is no dead code:
// there, deleting is all that may be done.
func familyOf(a Axis) family {
	f := family{refactorings: Refactorings(), codes: CodeTypes(), instances: InstancesPerCell}
	switch a {
	case Traversal, Search, Runtime, Combined:
		return f
	case Instructions, CommentCopy:
		f.refactorings = Refactorings()[1:]
		return f
	case Rename:
		return family{instances: InstancesPerCell}
	case Merge:
		return family{instances: mergeInstances, variants: mergeVariants()}
	}
	return family{}
}

// sizesOf returns the sizes of a variant, or of the plain cells for "". It
// reports whether the family has such cells.
func (f family) sizesOf(word string) ([]int, bool) {
	if word == "" {
		return Sizes(), true
	}
	for _, v := range f.variants {
		if v.word == word {
			return v.sizes, true
		}
	}
	return nil, false
}

func (f family) variantWords() []string {
	words := make([]string, len(f.variants))
	for i, v := range f.variants {
		words[i] = v.word
	}
	return words
}

// Variants returns the variants of all families in grid order.
func Variants() []string {
	var words []string
	for _, a := range AllAxes() {
		words = append(words, familyOf(a).variantWords()...)
	}
	return words
}

// cellFilter is what cells are chosen by. Nil lists stand for everything, and
// for what has no such word; a nil list of variants for the plain cells.
type cellFilter struct {
	sizes    []int
	tasks    []Refactoring
	codes    []CodeType
	variants []string
}

// cells returns the cells of an axis that the filter lets through, in grid order.
func (x cellFilter) cells(a Axis) []Cell {
	f := familyOf(a)
	variants := x.variants
	if variants == nil {
		variants = []string{""}
	}
	var cells []Cell
	for _, v := range variants {
		sizes, ok := f.sizesOf(v)
		if !ok {
			continue
		}
		for _, n := range chosenOf(sizes, x.sizes) {
			for _, r := range chosenOf(f.refactorings, x.tasks) {
				for _, c := range chosenOf(f.codes, x.codes) {
					cells = append(cells, Cell{Axis: a, Size: n, Refactoring: r, Code: c, Variant: v})
				}
			}
		}
	}
	return cells
}

// chosenOf returns those of have that are chosen. If there is nothing to choose
// from and nobody asked for anything, it is the one empty word.
func chosenOf[T comparable](have, chosen []T) []T {
	var none T
	if len(have) == 0 && chosen == nil {
		return []T{none}
	}
	if chosen == nil {
		return have
	}
	return slices.DeleteFunc(slices.Clone(have), func(w T) bool { return !slices.Contains(chosen, w) })
}
