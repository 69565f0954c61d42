package tasks

import (
	"cmp"
	"math/bits"
	"slices"
)

// Grid selects tasks: some instances of each of its cells. Use InstancesOf and
// Len rather than Instances alone. The zero value selects nothing.
type Grid struct {
	// Cells is in grid order (axis, variant, size, refactoring, code type)
	// without duplicates. All cells of an axis and size are neighbours.
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

// Of returns the part of the grid that lies on the given axes. It has no name
// of its own, as it need not be what a text can say.
func (g Grid) Of(axes ...Axis) Grid {
	part := Grid{Instances: g.Instances}
	for i, c := range g.Cells {
		if !slices.Contains(axes, c.Axis) {
			continue
		}
		part.Cells = append(part.Cells, c)
		if g.Only != nil {
			part.Only = append(part.Only, g.Only[i])
		}
	}
	return part
}

// cellOrder orders cells as grids hold them. Unknown words come first; they do
// not occur in a parsed grid.
type cellOrder struct {
	axes         map[Axis]int
	variants     map[string]int
	refactorings map[Refactoring]int
	codes        map[CodeType]int
}

func newCellOrder() cellOrder {
	return cellOrder{ranks(AllAxes()), ranks(Variants()), ranks(Refactorings()), ranks(CodeTypes())}
}

// ranks numbers words from 1.
func ranks[T comparable](words []T) map[T]int {
	m := make(map[T]int, len(words))
	for i, w := range words {
		m[w] = i + 1
	}
	return m
}

func (o cellOrder) compare(a, b Cell) int {
	return cmp.Or(
		o.axes[a.Axis]-o.axes[b.Axis],
		o.variants[a.Variant]-o.variants[b.Variant],
		a.Size-b.Size,
		o.refactorings[a.Refactoring]-o.refactorings[b.Refactoring],
		o.codes[a.Code]-o.codes[b.Code],
	)
}

// selection collects instances per cell and turns them into a grid: bit k-1 of
// a cell stands for its instance k, of which there are 64 at most. It is what
// unions of presets and ids are built with.
type selection map[Cell]uint64

func (s selection) add(c Cell, instances ...int) {
	for _, n := range instances {
		s[c] |= 1 << (n - 1)
	}
}

func (s selection) addAll(other selection) {
	for c, instances := range other {
		s[c] |= instances
	}
}

// without returns what s has and other has not.
func (s selection) without(other selection) selection {
	rest := selection{}
	for c, instances := range s {
		if left := instances &^ other[c]; left != 0 {
			rest[c] = left
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
	slices.SortFunc(g.Cells, newCellOrder().compare)
	uniform := true
	for _, c := range g.Cells {
		instances := s[c]
		uniform = uniform && instances == s[g.Cells[0]] && instances&(instances+1) == 0
	}
	if len(g.Cells) > 0 && uniform {
		g.Instances = bits.Len64(s[g.Cells[0]])
	}
	if uniform {
		return g
	}
	for _, c := range g.Cells {
		g.Only = append(g.Only, numbersOf(s[c]))
	}
	return g
}

// numbersOf lists the instances of a cell, ascending.
func numbersOf(instances uint64) (list []int) {
	for ; instances != 0; instances &= instances - 1 {
		list = append(list, bits.TrailingZeros64(instances)+1)
	}
	return list
}
