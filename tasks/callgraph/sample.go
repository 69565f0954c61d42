package callgraph

import (
	"errors"
	"fmt"
	"slices"

	"cabra-run/tasks/program"
)

// Form is the edit graph as one refactoring uses it.
type Form struct {
	// Edit is the edit graph alone, with its wrapper as the last node.
	Edit *Graph
	// Combined holds the init graph (its root last), then Edit, and the edges
	// between the two.
	Combined *Graph
	// Attach holds the edges between the two as they were drawn, caller first:
	// nodes of Combined, repeats included.
	Attach [][2]int
}

// EditStart is the node of Combined at which the edit functions start.
func (f *Form) EditStart() int { return f.Combined.Len() - f.Edit.Len() }

// Wrapper is the name of the one root (dead code, parameter, cache) or the one
// sink (return, repeat) of the edit graph.
func (f *Form) Wrapper() string { return f.Edit.Name(f.Edit.Len() - 1) }

// Sample is one draw of call graphs: an init graph and the forms of an edit
// graph that are joined with it. The functions of init have the same names in
// all forms; so have those that Dead, Return and Parameter share (all but the
// wrapper of Return) and those that Cache and Repeat share (all but wrappers).
type Sample struct {
	ID   string // 32 hex digits grouped as in a UUID
	Init *Graph // its root last
	// InitLevels is the number of levels of Init with its root, EditLevels
	// that of the edit graph of Dead, Return and Parameter without wrapper.
	InitLevels, EditLevels int

	Dead      Form // under one root; calls init, init never calls it
	Return    Form // over one sink; calls init, init never calls it
	Parameter Form // under one root; init calls it, it never calls init
	Cache     Form // a forest under one root; init calls the root, leaves call init
	Repeat    Form // a reversed forest over one sink; init calls its roots, the sink calls init
}

// Sampler draws samples one after the other from one stream.
type Sampler struct {
	stream     *Stream
	init, edit int
}

// NewSampler returns a sampler of graphs with init + 1 init functions and
// edit + 1 edit functions; the one more is the root or sink that each gets.
func NewSampler(seed int64, init, edit int) (*Sampler, error) {
	const most = 10_000
	if init < 1 || edit < 1 || init > most || edit > most {
		return nil, fmt.Errorf("sizes %d, %d are not between 1 and %d", init, edit, most)
	}
	return &Sampler{stream: NewStream(seed), init: init, edit: edit}, nil
}

// maxForests is how many forests are tried before a sample is given up.
const maxForests = 50

// errNoForest ends a sampler; a forest of one function never fits, for example.
var errNoForest = errors.New("no forest with a nearest shared caller and callee was found")

// Next draws the next sample. After an error the sampler is of no more use.
func (s *Sampler) Next() (*Sample, error) {
	rng := s.stream
	rng.Between(1, 1) // number of init graphs
	main := s.sampleInit()
	rng.Between(1, 1) // number of init graphs that get an edit graph
	j := joiner{stream: rng, main: main,
		density:  rng.Uniform(crossEdges, crossEdges),
		locality: rng.Uniform(localCross, localCross)}

	edit, returnForm, parameterForm := s.sampleEdit(j)
	cacheForm, repeatForm, err := s.sampleForests(j)
	if err != nil {
		return nil, err
	}
	sample := &Sample{Init: main.Graph, InitLevels: len(main.levels), EditLevels: len(edit.levels),
		Return: returnForm, Parameter: parameterForm, Cache: cacheForm, Repeat: repeatForm}
	dealt := s.dealNames(sample)
	sample.Dead = j.joinDead(parameterForm.Edit.clone())
	dealt.name(&sample.Dead, sample.Parameter.Edit.names)

	w := rng.Bits128()
	sample.ID = fmt.Sprintf("%08x-%04x-%04x-%04x-%04x%08x",
		w[0], w[1]>>16, w[1]&0xffff, w[2]>>16, w[2]&0xffff, w[3])
	return sample, nil
}

func (s *Sampler) sampleInit() layered {
	sh := drawShape(s.stream, s.init)
	g := sampleForest(s.stream, sh)
	addExtraEdges(s.stream, g, sh)
	root := addRoot(g.Graph)
	g.levels = append([][]int{{root}}, g.levels...)
	return g
}

func (s *Sampler) sampleEdit(j joiner) (edit layered, returns, parameter Form) {
	sh := drawShape(s.stream, s.edit)
	edit = sampleForest(s.stream, sh)
	addExtraEdges(s.stream, edit, sh)

	below, above := edit.clone(), edit.clone()
	sink, root := addSink(below), addRoot(above)
	nodes := make([]int, edit.Len())
	for v := range nodes {
		nodes[v] = v
	}
	returns = j.join(below, endpoints{toBelow: []int{sink}, above: nodes, upward: true})
	parameter = j.join(above, endpoints{above: []int{root}, toBelow: nodes, downward: true})
	return edit, returns, parameter
}

func (s *Sampler) sampleForests(j joiner) (cache, repeat Form, err error) {
	for range maxForests {
		forest := sampleForest(s.stream, drawShape(s.stream, s.edit))
		leaves := forest.Sinks()

		under := forest.clone()
		root := addRoot(under)
		cache = j.join(under, endpoints{above: []int{root}, toBelow: leaves})
		if !nearest(reverse(cache.Combined.out), cache.Combined.out, cache.EditStart(), root, leaves) {
			continue
		}
		over := forest.reversed()
		sink := addSink(over)
		repeat = j.join(over, endpoints{above: leaves, toBelow: []int{sink}})
		if nearest(repeat.Combined.out, reverse(repeat.Combined.out), repeat.EditStart(), sink, leaves) {
			return cache, repeat, nil
		}
	}
	return Form{}, Form{}, errNoForest
}

// nearest reports whether the wrapper, and no function between it and the
// ends, is reached from all ends along toWrapper; fromWrapper holds the same
// edges the other way round. Wrapper and ends are nodes of the edit graph.
func nearest(toWrapper, fromWrapper [][]int, editStart, wrapper int, ends []int) bool {
	wrapper += editStart
	reachedBy := make([]int, len(toWrapper))
	for _, end := range ends {
		for v, reached := range closure(toWrapper, editStart+end) {
			if reached {
				reachedBy[v]++
			}
		}
	}
	for v, between := range closure(fromWrapper, wrapper) {
		if between && (reachedBy[v] == len(ends)) != (v == wrapper) {
			return false
		}
	}
	return true
}

// dealer hands out names and writes them into the graphs of a sample.
type dealer struct{ init []string }

// name gives a form the names of its edit graph.
func (d dealer) name(f *Form, edit []string) {
	f.Edit.names = edit
	f.Combined.names = slices.Concat(d.init, edit)
}

// dealNames names everything but the dead-code form, which is drawn later.
func (s *Sampler) dealNames(sample *Sample) dealer {
	initNodes, editNodes := sample.Init.Len(), s.edit
	pool := program.SymbolicNames(initNodes + (editNodes + 2) + (editNodes + 2))
	Shuffle(s.stream, pool)
	take := func(k int) []string {
		taken := pool[:k:k]
		pool = pool[k:]
		return taken
	}
	d := dealer{init: take(initNodes)}
	sample.Init.names = d.init
	nodes, sink, root := take(editNodes), take(1), take(1)
	d.name(&sample.Return, slices.Concat(nodes, sink))
	d.name(&sample.Parameter, slices.Concat(nodes, root))
	nodes, root, sink = take(editNodes), take(1), take(1)
	d.name(&sample.Cache, slices.Concat(nodes, root))
	d.name(&sample.Repeat, slices.Concat(nodes, sink))
	return d
}
