package callgraph

import "slices"

// Graph is a directed graph of functions; an edge u→v says that u calls v. A
// node is its position in the graph, and positions carry meaning (the order of
// entry points, for one). The zero value is an empty graph.
type Graph struct {
	names []string // one per node; empty while the graph is being sampled
	out   [][]int  // callees per node, in the order in which they were added
}

// Len is the number of nodes.
func (g *Graph) Len() int { return len(g.out) }

// Name returns the name of a node.
func (g *Graph) Name(v int) string { return g.names[v] }

// Names returns the names in node order. The caller must not change it.
func (g *Graph) Names() []string { return g.names }

// Out returns the callees of a node in the order of their addition. The caller
// must not change it.
func (g *Graph) Out(v int) []int { return g.out[v] }

// HasEdge reports whether u calls v.
func (g *Graph) HasEdge(u, v int) bool { return slices.Contains(g.out[u], v) }

// EdgeCount is the number of edges.
func (g *Graph) EdgeCount() int {
	n := 0
	for _, callees := range g.out {
		n += len(callees)
	}
	return n
}

// Roots returns the nodes without incoming edge, in node order.
func (g *Graph) Roots() []int {
	called := g.called()
	return g.nodesWhere(func(v int) bool { return !called[v] })
}

// Sinks returns the nodes without outgoing edge, in node order.
func (g *Graph) Sinks() []int {
	return g.nodesWhere(func(v int) bool { return len(g.out[v]) == 0 })
}

// Reachable returns, per node, whether it is start or called by it directly or
// indirectly.
func (g *Graph) Reachable(start int) []bool { return closure(g.out, start) }

// Acyclic reports whether no function calls itself, directly or indirectly.
func (g *Graph) Acyclic() bool {
	callers := make([]int, g.Len())
	for _, callees := range g.out {
		for _, v := range callees {
			callers[v]++
		}
	}
	free := g.Roots()
	for i := 0; i < len(free); i++ {
		for _, v := range g.out[free[i]] {
			if callers[v]--; callers[v] == 0 {
				free = append(free, v)
			}
		}
	}
	return len(free) == g.Len()
}

func (g *Graph) called() []bool {
	called := make([]bool, g.Len())
	for _, callees := range g.out {
		for _, v := range callees {
			called[v] = true
		}
	}
	return called
}

func (g *Graph) nodesWhere(holds func(v int) bool) []int {
	var nodes []int
	for v := range g.out {
		if holds(v) {
			nodes = append(nodes, v)
		}
	}
	return nodes
}

func (g *Graph) addNode() int {
	g.out = append(g.out, nil)
	return len(g.out) - 1
}

// addEdge adds u→v unless it is there already.
func (g *Graph) addEdge(u, v int) {
	if !g.HasEdge(u, v) {
		g.out[u] = append(g.out[u], v)
	}
}

// clone copies the graph without its names, which are dealt later.
func (g *Graph) clone() *Graph {
	out := make([][]int, len(g.out))
	for v, callees := range g.out {
		out[v] = slices.Clone(callees)
	}
	return &Graph{out: out}
}

// reversed returns the graph with every edge turned round and the same nodes.
func (g *Graph) reversed() *Graph { return &Graph{out: reverse(g.out)} }

// beside returns a graph that holds first and then second, whose nodes are
// numbered on.
func beside(first, second *Graph) *Graph {
	joined := first.clone()
	for _, callees := range second.out {
		moved := make([]int, len(callees))
		for i, v := range callees {
			moved[i] = v + first.Len()
		}
		joined.out = append(joined.out, moved)
	}
	return joined
}

// Reaches reports whether from is to or calls it directly or indirectly; out
// holds the callees per node.
func Reaches(out [][]int, from, to int) bool { return closure(out, from)[to] }

func reverse(out [][]int) [][]int {
	in := make([][]int, len(out))
	for u, callees := range out {
		for _, v := range callees {
			in[v] = append(in[v], u)
		}
	}
	return in
}

// closure marks what can be reached from start, start included.
func closure(out [][]int, start int) []bool {
	seen := make([]bool, len(out))
	seen[start] = true
	for stack := []int{start}; len(stack) > 0; {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, v := range out[u] {
			if !seen[v] {
				seen[v] = true
				stack = append(stack, v)
			}
		}
	}
	return seen
}
