package refactor

import (
	"fmt"
	"strconv"
	"sync"

	"cabra-run/tasks/callgraph"
	"cabra-run/tasks/program"
)

const argument = "val" // the one parameter that every function hands on

// base writes the programs of one code type before any refactoring.
type base struct {
	*language
	seed  int64
	draws *operatorCache
}

// plain returns the function of a node: it calls its callees and folds their
// results with operators that depend on seed and name alone.
func (b *base) plain(g *callgraph.Graph, v int) program.Function {
	name, callees := g.Name(v), g.Out(v)
	f := program.Function{Name: name, Params: []program.Param{{Name: argument, Type: b.value}}, Returns: b.value}
	var results []program.Expr
	for _, c := range callees {
		result := resultOf(g.Name(c))
		f.Body = append(f.Body, program.Assign{Targets: []string{result}, Value: callOf(g.Name(c))})
		results = append(results, program.Atom(result))
	}
	if len(results) == 0 {
		results = []program.Expr{program.Atom(argument)}
	}
	f.Body = append(f.Body, program.Return{Value: fold(b.operators(name, len(callees)), results)})
	return f
}

// fold applies a unary operator to one operand, or binary operators to more,
// from the left.
func fold(operators []string, operands []program.Expr) program.Expr {
	if len(operands) == 1 {
		return program.Call{Func: operators[0], Args: operands}
	}
	value := operands[0]
	for i, op := range operators {
		value = program.Call{Func: op, Args: []program.Expr{value, operands[i+1]}}
	}
	return value
}

// operators returns one unary operator for a function with at most one callee,
// otherwise one binary operator less than there are callees.
func (b *base) operators(name string, callees int) []string {
	if callees < 2 {
		return b.draws.get(operatorKey{name, 1, len(b.unary)}, b.unary)
	}
	return b.draws.get(operatorKey{name, callees - 1, len(b.binary)}, b.binary)
}

// main returns the function that calls all entry points.
func (b *base) main(entries []string) program.Function {
	calls := make(program.Tuple, len(entries))
	for i, name := range entries {
		calls[i] = callOf(name)
	}
	var value program.Expr = calls
	if len(calls) == 1 {
		value = program.Group{Inner: calls[0]}
	}
	return program.Function{Name: "main", Params: []program.Param{{Name: argument, Type: b.value}},
		Body: []program.Stmt{program.Return{Value: value}}}
}

// run returns the call of main with the first command-line argument.
func (b *base) run() program.Expr {
	return program.Call{Func: "main", Args: []program.Expr{b.convert(program.Atom("sys.argv[1]"))}}
}

// importsWith returns the imports of a program that takes the given names from
// the hidden library.
func (b *base) importsWith(library []string) []program.Import {
	var imports []program.Import
	for _, name := range library {
		imports = append(imports, program.Import{Module: "mylibrary", Name: name})
	}
	imports = append(imports, b.imports...)
	return append(imports, program.Import{Module: "sys"})
}

// fileOrder returns the nodes in the order in which their functions stand in
// the file. It depends on seed and number alone.
func fileOrder(seed int64, nodes int) []int {
	order := make([]int, nodes)
	for v := range order {
		order[v] = v
	}
	callgraph.Shuffle(callgraph.NewTextStream(fmt.Sprintf("%d:if_node_order", seed)), order)
	callgraph.Shuffle(callgraph.NewStream(seed), order)
	return order
}

func callOf(name string) program.Call {
	return program.Call{Func: name, Args: []program.Expr{program.Atom(argument)}}
}

func resultOf(name string) string { return name + "_val" }

// operatorKey is all that the draws for a function depend on, beside the seed:
// its name, their number and the size of the bank.
type operatorKey struct {
	name        string
	count, bank int
}

// operatorCache remembers drawn operators: making a stream costs more than all
// else about a function, and programs share names. It is safe for concurrent
// use.
type operatorCache struct {
	seed  int64
	mu    sync.Mutex
	drawn map[operatorKey][]int
}

func newOperatorCache(seed int64) *operatorCache {
	return &operatorCache{seed: seed, drawn: make(map[operatorKey][]int)}
}

func (c *operatorCache) get(key operatorKey, bank []string) []string {
	operators := make([]string, key.count)
	for i, index := range c.indexes(key) {
		operators[i] = bank[index]
	}
	return operators
}

func (c *operatorCache) indexes(key operatorKey) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if indexes, ok := c.drawn[key]; ok {
		return indexes
	}
	stream := callgraph.NewTextStream(strconv.FormatInt(c.seed, 10) + ":" + key.name)
	indexes := make([]int, key.count)
	for i := range indexes {
		indexes[i] = stream.Below(key.bank)
	}
	c.drawn[key] = indexes
	return indexes
}
