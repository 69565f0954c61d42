package refactor

import (
	"cabra-run/tasks"
	"cabra-run/tasks/program"
)

// language is what the programs of one code type are made of.
type language struct {
	value   string // type of the values that functions compute on
	helper  string // type of the values that the refactorings pass around
	derived string // name of a passed value that is applied to a result
	apply   string // operator that applies it
	getter  string // library function that computes it from the argument
	neutral string // default of a passed value that is always given
	imports []program.Import
	convert func(argument program.Expr) program.Expr // command-line argument to value
	unary   []string
	binary  []string
}

// languageOf returns the language of a code type, nil for an unknown one.
func languageOf(code tasks.CodeType) *language {
	switch code {
	case tasks.Math:
		return mathLanguage()
	case tasks.String:
		return stringLanguage()
	case tasks.Array:
		return arrayLanguage()
	}
	return nil
}

func mathLanguage() *language {
	return &language{
		value: "float", helper: "float", derived: "mult", apply: "*", getter: "get_multiplier", neutral: "0.0",
		imports: []program.Import{{Module: "math"}, {Module: "operator"}},
		convert: converter("float"),
		unary: []string{"abs", "round", "math.sin", "math.cos", "math.tanh", "math.atan", "math.erf",
			"math.degrees", "math.radians", "operator.neg"},
		binary: []string{"operator.add", "operator.sub", "min", "max", "math.hypot", "math.copysign",
			"math.atan2"},
	}
}

func stringLanguage() *language {
	return &language{
		value: "str", helper: "str", derived: "prefix", apply: "+", getter: "get_key", neutral: "''",
		imports: []program.Import{{Module: "strops"}},
		convert: converter("str"),
		unary: []string{"strops.rot13", "strops.reverse", "strops.swap_case", "strops.char_rotate",
			"strops.char_rotate_by_3", "strops.mirror"},
		binary: []string{"strops.interleave", "strops.swap_halves", "strops.zip_chars",
			"strops.alternate_chars", "strops.xor_chars"},
	}
}

func arrayLanguage() *language {
	toArray, evaluate := converter("np.array"), converter("eval")
	return &language{
		value: "np.ndarray", helper: "float", derived: "mult", apply: "*", getter: "get_multiplier", neutral: "0.0",
		imports: []program.Import{{Module: "numpy", As: "np"}},
		convert: func(e program.Expr) program.Expr { return toArray(evaluate(e)) },
		unary: []string{"np.abs", "np.sign", "np.round", "np.sin", "np.cos", "np.tanh", "np.cumsum",
			"np.cumprod", "np.sort", "np.flip"},
		binary: []string{"np.add", "np.subtract", "np.multiply", "np.maximum", "np.minimum", "np.hypot",
			"np.arctan2"},
	}
}

func converter(function string) func(program.Expr) program.Expr {
	return func(e program.Expr) program.Expr {
		return program.Call{Func: function, Args: []program.Expr{e}}
	}
}
