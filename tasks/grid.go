package tasks

import (
	"cmp"
	"slices"
)

// InstancesPerCell is the number of instances that every call-graph cell has.
const InstancesPerCell = 20

// Axes returns the axes whose tasks this version generates, in grid order.
func Axes() []Axis { return []Axis{Traversal, Search} }

// Sizes returns the sizes of a call-graph axis, ascending.
func Sizes() []int { return []int{5, 10, 25, 50, 100, 200} }

// Refactorings returns the five refactorings in grid order.
func Refactorings() []Refactoring {
	return []Refactoring{DeadCode, AddParameter, AddReturn, CacheFunction, DontRepeat}
}

// CodeTypes returns the three code types in grid order.
func CodeTypes() []CodeType { return []CodeType{Math, String, Array} }

// Grid selects tasks: some instances of each of its cells. Use InstancesOf and
// Len rather than Instances alone. The zero value selects nothing.
type Grid struct {
	// Cells is in grid order (axis, size, refactoring, code type) without
	// duplicates. All cells of one graph sample (axis and size) are neighbours.
	Cells []Cell
	// Instances is the number of instances of each cell, the first ones in
	// generation order. It does not apply where Only is set.
	Instances int
	// Only, unless nil, has one element per cell: the instances of that cell,
	// ascending, counted from 1, at least one.
	Only [][]int
	// Name is the normalised text: ParseGrid(Name) is the same grid.
	Name string
}

// Len is the number of tasks that the grid selects.
func (g Grid) Len() int {
	if g.Only == nil {
		return len(g.Cells) * g.Instances
	}
	n := 0
	for _, only := range g.Only {
		n += len(only)
	}
	return n
}

// InstancesOf returns the instances of the i-th cell, ascending, counted from 1.
func (g Grid) InstancesOf(i int) []int {
	if g.Only != nil {
		return slices.Clone(g.Only[i])
	}
	return instanceRange(1, g.Instances)
}

// IDs returns the ids of all selected tasks in grid order.
func (g Grid) IDs() []ID {
	ids := make([]ID, 0, g.Len())
	for i, c := range g.Cells {
		for _, n := range g.InstancesOf(i) {
			ids = append(ids, CellID(c, n))
		}
	}
	return ids
}

func instanceRange(first, last int) []int {
	list := make([]int, 0, max(0, last-first+1))
	for n := first; n <= last; n++ {
		list = append(list, n)
	}
	return list
}

// compareCells orders cells as grids hold them. Cells of unknown words come
// first; they do not occur in a parsed grid.
func compareCells(a, b Cell) int {
	return cmp.Or(
		cmp.Compare(slices.Index(Axes(), a.Axis), slices.Index(Axes(), b.Axis)),
		cmp.Compare(a.Size, b.Size),
		cmp.Compare(slices.Index(Refactorings(), a.Refactoring), slices.Index(Refactorings(), b.Refactoring)),
		cmp.Compare(slices.Index(CodeTypes(), a.Code), slices.Index(CodeTypes(), b.Code)),
	)
}

// cellsOf returns the product of the given words in grid order.
func cellsOf(axes []Axis, sizes []int, refs []Refactoring, codes []CodeType) []Cell {
	cells := make([]Cell, 0, len(axes)*len(sizes)*len(refs)*len(codes))
	for _, a := range axes {
		for _, n := range sizes {
			for _, r := range refs {
				for _, c := range codes {
					cells = append(cells, Cell{Axis: a, Size: n, Refactoring: r, Code: c})
				}
			}
		}
	}
	return cells
}

// selection collects instances per cell and turns them into a grid. It is what
// unions of presets and ids are built with.
type selection map[Cell]map[int]bool

func (s selection) add(c Cell, instances ...int) {
	if s[c] == nil {
		s[c] = map[int]bool{}
	}
	for _, n := range instances {
		s[c][n] = true
	}
}

func (s selection) addGrid(g Grid) {
	for i, c := range g.Cells {
		s.add(c, g.InstancesOf(i)...)
	}
}

// without returns what s has and other has not.
func (s selection) without(other selection) selection {
	rest := selection{}
	for c, instances := range s {
		for n := range instances {
			if !other[c][n] {
				rest.add(c, n)
			}
		}
	}
	return rest
}

// grid returns the selection in grid order. Where every cell has the same first
// instances, Only stays nil, so that equal selections are equal grids.
func (s selection) grid(name string) Grid {
	g := Grid{Name: name}
	for c := range s {
		g.Cells = append(g.Cells, c)
	}
	slices.SortFunc(g.Cells, compareCells)
	only := make([][]int, len(g.Cells))
	uniform := true
	for i, c := range g.Cells {
		for n := range s[c] {
			only[i] = append(only[i], n)
		}
		slices.Sort(only[i])
		last := only[i][len(only[i])-1]
		uniform = uniform && last == len(only[i]) && last == len(only[0])
	}
	if !uniform {
		g.Only = only
		return g
	}
	if len(only) > 0 {
		g.Instances = len(only[0])
	}
	return g
}
