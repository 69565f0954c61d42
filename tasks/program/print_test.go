package program

import "testing"

func val(function string) Call { return Call{Func: function, Args: []Expr{Atom("val")}} }

func example() Program {
	return Program{
		Imports: []Import{{Module: "mylibrary", Name: "default"}, {Module: "numpy", As: "np"}, {Module: "sys"}},
		Functions: []Function{{
			Name:    "k",
			Params:  []Param{{Name: "val", Type: "float"}, {Name: "mult", Type: "float", Default: Call{Func: "default"}}},
			Returns: "tuple[float, str]",
			Body: []Stmt{
				Assign{Targets: []string{"mult"}, Type: "float", Value: Call{Func: "slow"}},
				Assign{Targets: []string{"p_val", "p_str"}, Value: Call{Func: "p",
					Args: []Expr{Atom("val"), Keyword{Name: "mult", Value: Atom("mult")}}}},
				Return{Value: Tuple{Chain{Op: "*", Operands: []Expr{Atom("mult"), val("abs"), Group{Inner: Atom("x")}}},
					Atom("p_str")}},
			},
		}},
		Main: Function{Name: "main", Params: []Param{{Name: "val", Type: "float"}},
			Body: []Stmt{Return{Value: Group{Inner: val("k")}}}},
		Run: val("main"),
	}
}

const exampleText = `from mylibrary import default
import numpy as np
import sys

def k(val: float, mult: float=default()) -> tuple[float, str]:
    mult: float = slow()
    p_val, p_str = p(val, mult=mult)
    return (mult * abs(val) * x, p_str)

def main(val: float):
    return k(val)

if __name__ == '__main__':
    main(val)`

const exampleRaw = `from mylibrary import default
import numpy as np
import sys

def k(val: float, mult: float=default()) -> tuple[float, str]:
    mult: float = slow()
    p_val, p_str = p(val, mult=mult)
    return (mult * abs(val) * (x), p_str)

def main(val: float):
    return (k(val))

if __name__ == '__main__':
    main(val)`

func TestText(t *testing.T) {
	p := example()
	for style, want := range map[Style]string{Normal: exampleText, Raw: exampleRaw} {
		if got := p.Text(style); got != want {
			t.Errorf("style %d:\n%s\nwant\n%s", style, got, want)
		}
	}
}

const branchesText = `import sys

def check(x):
    return x

def k(val: float) -> float:
    if check(1, num_steps=5):
        # note: mult
        return abs(val)
    else:
        p_val = p(val)
        if q:
            return p_val
        else:
            return val

def main(val: float):
    return k(val)

if __name__ == '__main__':
    main(val)`

func TestTextOfBranches(t *testing.T) {
	p := example()
	p.Imports = []Import{{Module: "sys"}}
	p.Helper = "def check(x):\n    return x"
	p.Functions = []Function{{
		Name: "k", Params: []Param{{Name: "val", Type: "float"}}, Returns: "float",
		Body: []Stmt{&If{
			Cond: Call{Func: "check", Args: []Expr{Atom("1"), Keyword{Name: "num_steps", Value: Atom("5")}}},
			Then: []Stmt{Line("# note: mult"), Return{Value: val("abs")}},
			Else: []Stmt{
				Assign{Targets: []string{"p_val"}, Value: val("p")},
				&If{Cond: Atom("q"), Then: []Stmt{Return{Value: Atom("p_val")}}, Else: []Stmt{Return{Value: Atom("val")}}},
			},
		}},
	}}
	if got := p.Text(Normal); got != branchesText {
		t.Errorf("%s\nwant\n%s", got, branchesText)
	}
}
