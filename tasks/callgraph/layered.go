package callgraph

import "math"

// The values that every cell of the benchmark samples with. Ranges are drawn
// from even where they are one point, because each draw moves the stream.
const (
	minDepthExponent = 0.45 // of the number of nodes; gives the number of levels
	maxDepthExponent = 0.55
	localEdge        = 0.9 // probability that an edge spans one level only
	extraEdges       = 0.3 // expected further callees per node of init and edit graph
	crossEdges       = 0.3 // expected edges between the two graphs per init node
	localCross       = 0.9 // probability that such an edge ends next to the cut
)

// shape holds what is drawn for one layered graph before its edges.
type shape struct {
	nodes    int
	depth    float64 // exponent h of the number of levels
	locality float64 // geometric parameter of level offsets
	extra    float64 // expected extra edges per node
}

func drawShape(s *Stream, nodes int) shape {
	return shape{
		nodes:    s.Between(nodes, nodes),
		depth:    s.Uniform(minDepthExponent, maxDepthExponent),
		locality: s.Uniform(localEdge, localEdge),
		extra:    s.Uniform(extraEdges, extraEdges),
	}
}

// layered is a graph whose edges lead from a level to a later one.
type layered struct {
	*Graph
	levels [][]int
}

// sampleForest draws a layered graph in which every node outside of level 0
// has one caller.
func sampleForest(s *Stream, sh shape) layered {
	g := layered{Graph: &Graph{}}
	for _, width := range drawWidths(s, sh) {
		level := make([]int, width)
		for i := range level {
			level[i] = g.addNode()
		}
		g.levels = append(g.levels, level)
	}
	for j := 1; j < len(g.levels); j++ {
		for _, v := range g.levels[j] {
			parents := g.levels[j-drawOffset(s, sh.locality, j)]
			g.addEdge(Choice(s, parents), v)
		}
	}
	return g
}

// drawWidths deals the nodes out to the levels; every level gets at least one.
func drawWidths(s *Stream, sh shape) []int {
	levels := int(max(1, math.RoundToEven(math.Pow(float64(sh.nodes), sh.depth))))
	levels = min(levels, sh.nodes)
	widths := make([]int, 0, levels)
	for left, rest := levels, sh.nodes; left > 0; left-- {
		width := rest
		if left > 1 {
			mean := max(1, float64(rest)/float64(left))
			width = min(max(1, drawPoisson(s, mean)), rest-(left-1))
		}
		widths = append(widths, width)
		rest -= width
	}
	return widths
}

// addExtraEdges gives the nodes of all levels but the last further callees.
func addExtraEdges(s *Stream, g layered, sh shape) {
	last := len(g.levels) - 1
	for j, level := range g.levels[:last] {
		for _, u := range level {
			for range drawCount(s, sh.extra) {
				targets := g.levels[j+drawOffset(s, sh.locality, last-j)]
				g.addEdge(u, Choice(s, targets))
			}
		}
	}
}

// addRoot puts one new caller of all roots above the graph and returns it.
func addRoot(g *Graph) int {
	roots := g.Roots()
	root := g.addNode()
	for _, v := range roots {
		g.addEdge(root, v)
	}
	return root
}

// addSink puts one new callee of all sinks below the graph and returns it.
func addSink(g *Graph) int {
	sinks := g.Sinks()
	sink := g.addNode()
	for _, v := range sinks {
		g.addEdge(v, sink)
	}
	return sink
}

// drawPoisson is Knuth's method.
func drawPoisson(s *Stream, mean float64) int {
	limit := math.Exp(-mean)
	factors := 0
	for product := 1.0; product > limit; factors++ {
		product *= s.Random()
	}
	return factors - 1
}

// drawOffset is geometric from 1 with success probability p, clipped to most.
// Nothing is drawn where there is no choice.
func drawOffset(s *Stream, p float64, most int) int {
	if most <= 1 {
		return 1
	}
	const edge = 1e-6
	p = min(max(p, edge), 1-edge)
	offset := 1 + math.Floor(math.Log(1-s.Random())/math.Log(1-p))
	return int(min(max(offset, 1), float64(most)))
}

// drawCount is an integer with the given expectation.
func drawCount(s *Stream, expectation float64) int {
	if expectation <= 0 {
		return 0
	}
	whole := math.Floor(expectation)
	count := int(whole)
	if s.Random() < expectation-whole {
		count++
	}
	return count
}
