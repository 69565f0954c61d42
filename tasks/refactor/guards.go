package refactor

import (
	"math/big"
	"strconv"

	"cabra-run/tasks/callgraph"
	"cabra-run/tasks/program"
)

// checkFunction is the function that all guards call. It computes with whole
// numbers of any size.
const checkFunction = `def check(x: int, a: int, b: int, target: int, num_steps: int) -> bool:
    for step in range(num_steps):
        if x % 2 == 0:
            x = x // 2
        else:
            x = a * x + b
    return x % 2 == target`

// guard is the condition of a function: a call of check with these arguments.
type guard struct {
	x, a, b, target, steps int
	truth                  bool // what check returns
}

// drawGuard draws a guard from the stream of a function behind its operators.
func drawGuard(function *callgraph.Stream, steps int) guard {
	rng := callgraph.NewRealStream(function.Random())
	g := guard{truth: rng.Random() < 0.5, steps: steps}
	odd := []int{1, 3, 5, 7, 9}
	g.x = rng.Between(1, 100)
	g.a = callgraph.Choice(rng, odd)
	g.b = callgraph.Choice(rng, odd)
	g.target = finalParity(g.x, g.a, g.b, steps)
	if !g.truth {
		g.target = 1 - g.target
	}
	return g
}

// finalParity runs the loop of check: values outgrow 64 bits.
func finalParity(x, a, b, steps int) int {
	value, factor, term := big.NewInt(int64(x)), big.NewInt(int64(a)), big.NewInt(int64(b))
	for range steps {
		if value.Bit(0) == 0 {
			value.Rsh(value, 1)
		} else {
			value.Mul(value, factor).Add(value, term)
		}
	}
	return int(value.Bit(0))
}

// expr is the guard as it stands in the program.
func (g guard) expr() program.Expr {
	call := program.Call{Func: "check"}
	for _, n := range []int{g.x, g.a, g.b, g.target} {
		call.Args = append(call.Args, program.Atom(strconv.Itoa(n)))
	}
	steps := program.Keyword{Name: "num_steps", Value: program.Atom(strconv.Itoa(g.steps))}
	call.Args = append(call.Args, steps)
	return call
}

// wrap makes an if/else of two bodies, of which live is the one that runs.
func (g guard) wrap(live, other []program.Stmt) []program.Stmt {
	if g.truth {
		return []program.Stmt{&program.If{Cond: g.expr(), Then: live, Else: other}}
	}
	return []program.Stmt{&program.If{Cond: g.expr(), Then: other, Else: live}}
}
