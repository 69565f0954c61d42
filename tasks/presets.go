package tasks

// Preset is a grid with a name of its own.
type Preset struct {
	Name        string
	Description string // one line
	Grid        Grid
}

// Presets returns the presets of this version in grid order.
func Presets() []Preset {
	return []Preset{
		{
			Name:        "traversal",
			Description: "the traversal axis: 25 init functions, 5 to 200 edit functions; all cells, 20 instances each",
			Grid:        axisGrid(Traversal),
		},
		{
			Name:        "search",
			Description: "the search axis: 25 edit functions, 5 to 200 init functions; all cells, 20 instances each",
			Grid:        axisGrid(Search),
		},
		{
			Name:        "smoke",
			Description: "30 small tasks: each refactoring in each code type on both axes, at size 5 or 10",
			Grid:        smokeGrid(),
		},
	}
}

func axisGrid(a Axis) Grid {
	return Grid{
		Cells:     cellsOf([]Axis{a}, Sizes(), Refactorings(), CodeTypes()),
		Instances: InstancesPerCell,
		Name:      string(a),
	}
}

// smokeGrid takes the first instance of one cell for every axis, refactoring
// and code type. The two sizes alternate like the fields of a chess board, so
// that each pair of words meets both of them; at about four seconds a trial
// and two at a time it takes one to two minutes.
func smokeGrid() Grid {
	s := selection{}
	for i, a := range Axes() {
		for j, r := range Refactorings() {
			for k, c := range CodeTypes() {
				size := Sizes()[(i+j+k)%2]
				s.add(Cell{Axis: a, Size: size, Refactoring: r, Code: c}, 1)
			}
		}
	}
	return s.grid("smoke")
}

func presetNames() []string {
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
	}
	return names
}
