package callgraph

import "slices"

// joiner draws the edges between the init graph and an edit graph.
type joiner struct {
	stream   *Stream
	main     layered
	density  float64 // expected edges per init node of the levels in question
	locality float64 // geometric parameter of the distance to the cut
}

// endpoints says which edit functions may have edges with the init functions
// above the cut and with those below it. Normally init functions above call
// edit functions and these call init functions below.
type endpoints struct {
	above, toBelow []int
	upward         bool // the edit functions call those above, too
	downward       bool // those below call the edit functions, too
}

// join cuts the init graph at a random level and joins the edit graph to it.
func (j joiner) join(edit *Graph, ends endpoints) Form {
	f := Form{Edit: edit, Combined: beside(j.main.Graph, edit)}
	cut := j.stream.Between(-1, len(j.main.levels)-1)
	above := slices.Clone(j.main.levels[:cut+1])
	slices.Reverse(above) // nearest to the cut first
	j.connect(&f, ends.above, above, !ends.upward)
	j.connect(&f, ends.toBelow, j.main.levels[cut+1:], ends.downward)
	return f
}

// connect draws the edges of one direction; levels are ordered by distance.
func (j joiner) connect(f *Form, ends []int, levels [][]int, initCalls bool) {
	nodes := 0
	for _, level := range levels {
		nodes += len(level)
	}
	if nodes == 0 || len(ends) == 0 {
		return
	}
	for range drawCount(j.stream, float64(j.density*float64(nodes))) {
		end := f.EditStart() + Choice(j.stream, ends)
		level := levels[drawOffset(j.stream, j.locality, len(levels))-1]
		node := Choice(j.stream, level)
		if initCalls {
			f.attach(node, end)
		} else {
			f.attach(end, node)
		}
	}
}

// joinDead lets dead functions call init functions that have a caller there.
func (j joiner) joinDead(edit *Graph) Form {
	f := Form{Edit: edit, Combined: beside(j.main.Graph, edit)}
	called := j.main.called()
	eligible := j.main.nodesWhere(func(v int) bool { return called[v] })
	for dead := f.EditStart(); dead < f.Combined.Len(); dead++ {
		count := min(drawCount(j.stream, j.density), len(eligible))
		for _, v := range Choose(j.stream, eligible, count) {
			f.attach(dead, v)
		}
	}
	return f
}

func (f *Form) attach(caller, callee int) {
	f.Attach = append(f.Attach, [2]int{caller, callee})
	f.Combined.addEdge(caller, callee)
}
