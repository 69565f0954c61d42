package tasks

// Preset is a grid with a name of its own.
type Preset struct {
	Name        string
	Description string // one line
	Grid        Grid
}

// Presets returns the presets of this version in grid order.
func Presets() []Preset {
	var presets []Preset
	for _, p := range namedSelections() {
		presets = append(presets, Preset{Name: p.name, Description: p.description, Grid: p.tasks().grid(p.name)})
	}
	return presets
}

// namedSelection is a preset whose tasks are not selected yet.
type namedSelection struct {
	name, description string
	tasks             func() selection
}

func namedSelections() []namedSelection {
	return []namedSelection{
		{"traversal", "the traversal axis: 25 init functions, 5 to 200 edit functions; all cells, 20 instances each",
			axes(Traversal)},
		{"search", "the search axis: 25 edit functions, 5 to 200 init functions; all cells, 20 instances each",
			axes(Search)},
		{"runtime", "the runtime axis: if/else in all functions, conditions of 5 to 200 steps; 20 instances each",
			axes(Runtime)},
		{"instructions", "the instructions axis: ten values, 5 to 200 rules for them; 20 instances each",
			axes(Instructions)},
		{"full", "all four axes: 6,840 tasks", axes(Axes()...)},
		{"combined", "5 to 200 init functions and as many edit functions; all cells, 20 instances each",
			axes(Combined)},
		{"merge", "merging two programs: 5 to 200 shared lines; 50 instances each", axes(Merge)},
		{"merge-transforms", "merging with no, one, all but one and all transformations; 50 instances each",
			mergeTransforms},
		{"merge-differences", "merging with 1, 3 and 5 different lines among 50; 50 instances each",
			mergeDifferences},
		{"merge-hint", "merging with a statement that tells the number of different lines; 50 instances each",
			mergeHints},
		{"controls", "copying a comment and renaming variables; 20 instances each", axes(CommentCopy, Rename)},
		{"sandbox-rerun", "the math cells of all four axes, and merge: 2,400 tasks", sandboxRerun},
		{"smoke", "30 small tasks: each refactoring in each code type on two axes, at size 5 or 10", smoke},
	}
}

// axes selects all tasks of the plain cells of some axes.
func axes(list ...Axis) func() selection {
	return func() selection { return allOf(axisCells(list...)) }
}

// allOf selects all instances of the cells.
func allOf(cells []Cell) selection {
	s := selection{}
	for _, c := range cells {
		s.add(c, instanceRange(1, familyOf(c.Axis).instances)...)
	}
	return s
}

// axisCells returns the plain cells of the axes.
func axisCells(axes ...Axis) []Cell {
	var cells []Cell
	for _, a := range axes {
		cells = append(cells, cellFilter{}.cells(a)...)
	}
	return cells
}

// sandboxRerun is the part of the benchmark that was run a second time, in
// boxes: the math cells of the four axes and merge, 20 instances each.
func sandboxRerun() selection {
	s := selection{}
	first := instanceRange(1, InstancesPerCell)
	for _, a := range Axes() {
		for _, c := range (cellFilter{codes: []CodeType{Math}}).cells(a) {
			s.add(c, first...)
		}
	}
	for _, c := range axisCells(Merge) {
		s.add(c, first...)
	}
	return s
}

// mergeHint is the variant of merge whose statement tells the number of
// different lines.
const mergeHint = "hint"

// mergeVariants lists the variants of merge in grid order. Beside the number of
// shared lines they differ in the transformations that both programs went
// through, in the number of different lines, or in the statement; the plain
// cells have all transformations and one difference.
func mergeVariants() []variant {
	var list []variant
	for _, word := range mergeTransformWords() {
		list = append(list, variant{word: word, sizes: []int{50, 200}})
	}
	for _, word := range mergeDifferenceWords() {
		list = append(list, variant{word: word, sizes: []int{50}})
	}
	return append(list, variant{word: mergeHint, sizes: Sizes()})
}

// mergeTransformWords names the sets of transformations: none, each alone, and
// all but each.
func mergeTransformWords() []string {
	words := []string{"no-transforms"}
	names := []string{"rename-variables", "shuffle-lines", "multi-lines", "reorder", "logical-equiv"}
	for _, kind := range []string{"only-", "without-"} {
		for _, name := range names {
			words = append(words, kind+name)
		}
	}
	return words
}

func mergeDifferenceWords() []string { return []string{"differences-3", "differences-5"} }

// mergeTransforms has the plain cells too: they have all transformations.
func mergeTransforms() selection {
	plain := cellFilter{sizes: []int{50, 200}}.cells(Merge)
	return allOf(append(plain, cellFilter{variants: mergeTransformWords()}.cells(Merge)...))
}

// mergeDifferences has the plain cell of the size too: it has one difference.
func mergeDifferences() selection {
	plain := cellFilter{sizes: []int{50}}.cells(Merge)
	return allOf(append(plain, cellFilter{variants: mergeDifferenceWords()}.cells(Merge)...))
}

func mergeHints() selection { return allOf(cellFilter{variants: []string{mergeHint}}.cells(Merge)) }

// smoke takes the first instance of one cell for each of two axes,
// refactoring and code type. The two sizes alternate like the fields of a
// chess board, so that each pair of words meets both of them; at about four
// seconds a trial and two at a time it takes one to two minutes.
func smoke() selection {
	s := selection{}
	for i, a := range []Axis{Traversal, Search} {
		for j, r := range Refactorings() {
			for k, c := range CodeTypes() {
				size := Sizes()[(i+j+k)%2]
				s.add(Cell{Axis: a, Size: size, Refactoring: r, Code: c}, 1)
			}
		}
	}
	return s
}

func presetNames(presets []namedSelection) []string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.name
	}
	return names
}
