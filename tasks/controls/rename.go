package controls

import (
	"fmt"
	"strconv"

	"cabra-run/tasks"
	"cabra-run/tasks/mt"
	"cabra-run/tasks/program"
)

const (
	operations    = 200 // of every program
	maxConstant   = 9
	maxRenames    = 200
	variableCount = operations + 1
)

// operation computes a variable from the one before it.
type operation struct {
	operator string
	operand  int // number of an earlier variable; -1 for a constant
	constant int
}

// sheet is one drawn program with the names that its variables may get. The
// sizes of an instance share it: a smaller one renames the first variables of
// those that a larger one renames.
type sheet struct {
	operations []operation
	names      []string // of the variables in program order
	order      []int    // variables in the order in which they are renamed
	newNames   []string // in the same order; none of them is in names
}

// drawSheet depends on seed and instance alone.
func drawSheet(seed int64, instance int) *sheet {
	stream := mt.NewTextStream(fmt.Sprintf("%d-rename-%d", seed, instance))
	pool := program.SymbolicNames(variableCount + maxRenames)
	mt.Shuffle(stream, pool)
	s := &sheet{names: pool[:variableCount], newNames: pool[variableCount:]}
	for k := range operations {
		s.operations = append(s.operations, drawOperation(stream, k))
	}
	s.order = stream.Positions(variableCount, maxRenames)
	return s
}

// drawOperation draws the operation on variable k. The other operand is older,
// as a variable minus itself would forget all that came before.
func drawOperation(stream *mt.Stream, k int) operation {
	o := operation{operator: mt.Choice(stream, []string{"+", "-"}), operand: -1}
	if k > 0 && stream.Below(2) == 0 {
		o.operand = stream.Below(k)
		return o
	}
	o.constant = stream.Between(1, maxConstant)
	return o
}

// renames returns the first n demands.
func (s *sheet) renames(n int) []tasks.Renaming {
	list := make([]tasks.Renaming, n)
	for i := range list {
		list[i] = tasks.Renaming{Old: s.names[s.order[i]], New: s.newNames[i]}
	}
	return list
}

// text is the program after the first n demands.
func (s *sheet) text(n int) string {
	names := append([]string(nil), s.names...)
	for i, variable := range s.order[:n] {
		names[variable] = s.newNames[i]
	}
	body := []program.Stmt{assign(names[0], program.Atom("val"))}
	for k, o := range s.operations {
		operand := program.Atom(strconv.Itoa(o.constant))
		if o.operand >= 0 {
			operand = program.Atom(names[o.operand])
		}
		value := program.Chain{Op: o.operator, Operands: []program.Expr{program.Atom(names[k]), operand}}
		body = append(body, assign(names[k+1], value))
	}
	body = append(body, program.Return{Value: program.Atom(names[operations])})
	p := program.Program{
		Imports: []program.Import{{Module: "sys"}},
		Main:    program.Function{Name: "main", Params: []program.Param{{Name: "val", Type: "float"}}, Body: body},
		Run: program.Call{Func: "main", Args: []program.Expr{
			program.Call{Func: "float", Args: []program.Expr{program.Atom("sys.argv[1]")}}}},
	}
	return p.Text(program.Normal)
}

func assign(name string, value program.Expr) program.Stmt {
	return program.Assign{Targets: []string{name}, Value: value}
}
