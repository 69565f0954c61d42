package refactor

import (
	"slices"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
	"cabra-run/tasks/program"
)

// guarded writes programs in which every function is an if/else. The number of
// steps changes nothing but the guards' last two arguments.
type guarded struct {
	*base
	steps int
}

// generate writes starter and reference of a refactoring on a sample.
func (b guarded) generate(r tasks.Refactoring, s *callgraph.Sample) pair {
	if e, changes := editOf(r); changes {
		return b.generateEdit(e, s)
	}
	return b.generateDeadCode(s)
}

// guard returns the guard of a node.
func (b guarded) guard(g *callgraph.Graph, v int) guard {
	return b.draws.guard(b.keyOf(g.Name(v), len(g.Out(v))), b.steps)
}

// unwrapped returns the program of a graph with bodies that are still plain,
// and the nodes of its functions.
func (b guarded) unwrapped(g *callgraph.Graph, library, entries []string) (program.Program, []int) {
	p := b.program(g, library, entries)
	p.Helper = checkFunction
	return p, fileOrder(b.seed, g.Len())
}

// generateEdit changes the branches that run. The others stay those of the
// starter, even where they no longer fit the functions that they call.
func (b guarded) generateEdit(e edit, s *callgraph.Sample) pair {
	form, library := e.form(s), []string{e.library(b.language)}
	starter, order := b.unwrapped(form.Combined, library, names(form.Combined, form.Combined.Roots()))
	reference := starter
	reference.Functions = slices.Clone(starter.Functions)

	sites := newSites(form, b.language)
	for i, v := range order {
		seeded, solved := starter.Functions[i], starter.Functions[i]
		other := starter.Functions[i]
		if v >= form.EditStart() {
			e.seed(sites.ofBranch(v, &seeded))
			e.solve(sites.ofBranch(v, &solved))
			if e.seedsBoth {
				e.seed(sites.ofBranch(v, &other))
			}
		}
		guard := b.guard(form.Combined, v)
		seeded.Body, solved.Body = guard.wrap(seeded.Body, other.Body), guard.wrap(solved.Body, other.Body)
		starter.Functions[i], reference.Functions[i] = seeded, solved
	}
	return pair{
		starter:   starter.Text(program.Normal),
		reference: reference.Text(program.Normal),
		check:     b.checkOf(form, library),
	}
}

// generateDeadCode removes all edit functions. Those that stay call them only
// in branches that do not run, where the calls give way to the argument.
func (b guarded) generateDeadCode(s *callgraph.Sample) pair {
	form := &s.Dead
	starter, order := b.unwrapped(form.Combined, nil, deadCodeEntries(form))
	reference := starter
	reference.Functions = slices.Clone(starter.Functions)

	dead := nameSet(form.Edit)
	others := b.deadBranches(form)
	for i, v := range order {
		guard, live := b.guard(form.Combined, v), starter.Functions[i].Body
		starter.Functions[i].Body = guard.wrap(live, others[v])
		reference.Functions[i].Body = guard.wrap(live, withoutCalls(dead, others[v]))
	}
	reference.Functions = withoutEdits(form, reference.Functions)
	return pair{
		starter:   starter.Text(program.Raw),
		reference: reference.Text(program.Normal),
		check:     b.checkOf(form, []string{}),
	}
}

// withoutCalls puts the argument in place of calls of the given functions.
func withoutCalls(functions map[string]bool, body []program.Stmt) []program.Stmt {
	body = slices.Clone(body)
	for i, stmt := range body {
		line, isAssign := stmt.(program.Assign)
		if !isAssign {
			continue
		}
		if call, isCall := line.Value.(program.Call); isCall && functions[call.Func] {
			line.Value = program.Atom(argument)
			body[i] = line
		}
	}
	return body
}

func (b guarded) checkOf(form *callgraph.Form, library []string) tasks.Check {
	check := checkOf(form, library)
	check.Branches, check.Live = true, make(map[string]bool, form.Combined.Len())
	for v := range form.Combined.Len() {
		check.Live[form.Combined.Name(v)] = b.guard(form.Combined, v).truth
	}
	return check
}

// deadBranches writes, per node, the branch of dead code that does not run.
// Functions that stay call functions that go there and the other way round, so
// that looking for callers alone does not tell the two apart; no function calls
// itself over any branches.
//
// The published programs draw from a set whose order changes from process to
// process. These take the nodes in graph order instead, and draw from the stream
// of the function behind its guard; they are not the published ones.
func (b guarded) deadBranches(form *callgraph.Form) map[int][]program.Stmt {
	calls := make([][]int, form.Combined.Len())
	for v := range calls {
		calls[v] = slices.Clone(form.Combined.Out(v))
	}
	others := make(map[int][]program.Stmt, len(calls))
	for _, v := range drawOrder(b.seed, len(calls)) {
		stream, live := b.draws.stream(b.keyOf(form.Combined.Name(v), len(form.Combined.Out(v))))
		stream.Random() // the seed of the guard
		d := otherBranch{stream: stream, form: form, calls: calls, node: v}
		callees := d.callees()
		operators := d.operators(live, len(b.bank(len(callees))))
		others[v] = b.body(names(form.Combined, callees), pick(b.bank(len(callees)), operators))
	}
	return others
}

// otherBranch draws what a function does in the branch that does not run.
type otherBranch struct {
	stream *callgraph.Stream
	form   *callgraph.Form
	calls  [][]int // callees per node over all branches drawn so far
	node   int
}

// callees draws as many callees as the running branch has, and adds them to
// the calls.
func (d otherBranch) callees() []int {
	live := d.form.Combined.Out(d.node)
	var drawn []int
	for range live {
		c := d.callee(live, drawn)
		drawn = append(drawn, c)
		d.calls[d.node] = append(d.calls[d.node], c)
	}
	return drawn
}

// callee prefers functions that the other branch does not call either, then
// those that were not drawn yet.
func (d otherBranch) callee(live, drawn []int) int {
	pool := d.pool()
	if len(pool) == 0 {
		return callgraph.Choice(d.stream, live)
	}
	for _, avoid := range [][]int{slices.Concat(live, drawn), drawn} {
		if best := without(pool, avoid); len(best) > 0 {
			return callgraph.Choice(d.stream, best)
		}
	}
	return callgraph.Choice(d.stream, pool)
}

// pool returns the functions of the other side, from which this one is not
// reached, in graph order.
func (d otherBranch) pool() []int {
	dead := d.node >= d.form.EditStart()
	var pool []int
	for v := range d.calls {
		if (v >= d.form.EditStart()) != dead && !callgraph.Reaches(d.calls, v, d.node) {
			pool = append(pool, v)
		}
	}
	return pool
}

func without(nodes, avoid []int) []int {
	return slices.DeleteFunc(slices.Clone(nodes), func(v int) bool { return slices.Contains(avoid, v) })
}

// operators draws as many operators as the running branch has, but not the same.
func (d otherBranch) operators(live []int, bank int) []int {
	const tries = 20
	drawn := make([]int, len(live))
	for range tries {
		for i := range drawn {
			drawn[i] = d.stream.Below(bank)
		}
		if !slices.Equal(drawn, live) {
			return drawn
		}
	}
	at := d.stream.Below(len(drawn))
	drawn[at] = (drawn[at] + 1) % bank
	return drawn
}
