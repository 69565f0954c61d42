package refactor

import (
	"fmt"

	"cabra-run/tasks/callgraph"
	"cabra-run/tasks/program"
)

const argument = "val" // the one parameter that every function hands on

// base writes the programs of one code type before any refactoring.
type base struct {
	*language
	seed  int64
	draws *drawCache
}

// plain returns the function of a node: it calls its callees and folds their
// results with operators that depend on seed and name alone.
func (b *base) plain(g *callgraph.Graph, v int) program.Function {
	return program.Function{
		Name:    g.Name(v),
		Params:  []program.Param{{Name: argument, Type: b.value}},
		Returns: b.value,
		Body:    b.body(names(g, g.Out(v)), b.operators(g.Name(v), len(g.Out(v)))),
	}
}

// body calls the callees and returns their results put together.
func (b *base) body(callees, operators []string) []program.Stmt {
	var body []program.Stmt
	var results []program.Expr
	for _, c := range callees {
		body = append(body, program.Assign{Targets: []string{resultOf(c)}, Value: callOf(c)})
		results = append(results, program.Atom(resultOf(c)))
	}
	if len(results) == 0 {
		results = []program.Expr{program.Atom(argument)}
	}
	return append(body, program.Return{Value: fold(operators, results)})
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
	return pick(b.bank(callees), b.draws.operators(b.keyOf(name, callees)))
}

// keyOf is what the draws for a function depend on.
func (b *base) keyOf(name string, callees int) operatorKey {
	return operatorKey{name: name, count: max(1, callees-1), bank: len(b.bank(callees))}
}

func pick(bank []string, indexes []int) []string {
	list := make([]string, len(indexes))
	for i, index := range indexes {
		list[i] = bank[index]
	}
	return list
}

// bank returns the operators that the results of so many callees are put
// together with.
func (b *base) bank(callees int) []string {
	if callees < 2 {
		return b.unary
	}
	return b.binary
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
	order := drawOrder(seed, nodes)
	callgraph.Shuffle(callgraph.NewStream(seed), order)
	return order
}

// drawOrder returns the nodes in the order in which their functions are drawn,
// as far as one depends on another.
func drawOrder(seed int64, nodes int) []int {
	order := make([]int, nodes)
	for v := range order {
		order[v] = v
	}
	callgraph.Shuffle(callgraph.NewTextStream(fmt.Sprintf("%d:if_node_order", seed)), order)
	return order
}

func callOf(name string) program.Call {
	return program.Call{Func: name, Args: []program.Expr{program.Atom(argument)}}
}

func resultOf(name string) string { return name + "_val" }
