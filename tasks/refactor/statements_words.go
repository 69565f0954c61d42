package refactor

import (
	"fmt"
	"strconv"

	"cabra-run/tasks"
)

// statementWords is what the texts of a refactoring say differently in each
// code type. Programs are quoted as they are generated.
type statementWords struct {
	Value   string // type of the values that functions compute on
	Helper  string // type of the passed value
	Var     string // name of the passed value
	Getter  string // library function that computes it
	Neutral string // default of a cached value
	Apply   string // operator that applies the passed value

	Applies string // what a function does with the passed value
	Applied string // the same as code, with X for the result

	Imports string // import lines of the example
	Run     string // argument of main in the __main__ block

	One, Two, Three string // unary operators of the example
	Pair            string // binary operator of the example

	Supplied string // sentence about what is not defined yet, or ""
	Removes  bool   // the refactoring removes functions instead of changing them

	// On axes where several values are passed instead of one:
	Count               int    // how many
	CountWord           string // the same in words
	First, Second, Last string // names of values
	Texts               bool   // the values are texts
}

func wordsOf(r tasks.Refactoring, code tasks.CodeType) statementWords {
	l := languageOf(code)
	w := statementWords{Value: l.value, Helper: l.helper, Var: l.derived, Getter: l.getter, Neutral: l.neutral,
		Apply: l.apply, Applied: l.derived + " " + l.apply + " X", Removes: r == tasks.DeadCode}
	switch code {
	case tasks.Math:
		w.Imports, w.Run = "import math\nimport operator\nimport sys", "float(sys.argv[1])"
		w.One, w.Two, w.Three, w.Pair = "math.sin", "abs", "math.cos", "max"
		w.Applies = "multiplies its result by it"
	case tasks.String:
		w.Imports, w.Run = "import strops\nimport sys", "str(sys.argv[1])"
		w.One, w.Two, w.Three, w.Pair = "strops.rot13", "strops.reverse", "strops.mirror", "strops.zip_chars"
		w.Applies = "puts it in front of its result"
	case tasks.Array:
		w.Imports, w.Run = "import numpy as np\nimport sys", "np.array(eval(sys.argv[1]))"
		w.One, w.Two, w.Three, w.Pair = "np.sin", "np.abs", "np.cos", "np.maximum"
		w.Applies = "multiplies its result by it"
	}
	w.Supplied = suppliedSentence(libraryFunction(r, l), code == tasks.String)
	w.Count, w.CountWord = statementValues, "ten"
	stem := valueStem(r, l)
	w.First, w.Second, w.Last = stem+"1", stem+"2", stem+strconv.Itoa(statementValues)
	w.Texts = code == tasks.String || r == tasks.AddReturn
	return w
}

// statementValues is the number of values that the tasks of the axes
// instructions and comment-copy pass around.
const statementValues = 10

// valueStem is the name of these values without their number.
func valueStem(r tasks.Refactoring, l *language) string {
	switch r {
	case tasks.AddReturn:
		return "key"
	case tasks.CacheFunction:
		return "slow"
	}
	return l.derived
}

// libraryFunction is the function that the programs of a refactoring import
// from mylibrary, or "".
func libraryFunction(r tasks.Refactoring, l *language) string {
	switch r {
	case tasks.AddParameter:
		return "default"
	case tasks.AddReturn:
		return "external"
	case tasks.CacheFunction:
		return "slow"
	case tasks.DontRepeat:
		return l.getter
	}
	return ""
}

// suppliedSentence names what the program uses but does not define.
func suppliedSentence(function string, strops bool) string {
	const later = "They will be supplied later; do not define them yourself."
	switch {
	case function != "" && strops:
		return fmt.Sprintf("`mylibrary`, its function `%s`, and `strops` are undefined here. %s", function, later)
	case function != "":
		return fmt.Sprintf("`mylibrary` and its function `%s` are undefined here. %s", function, later)
	case strops:
		return "`strops` is undefined here. It will be supplied later; do not define it yourself."
	}
	return ""
}
