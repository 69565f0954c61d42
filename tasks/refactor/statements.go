package refactor

import (
	"embed"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"cabra-run/tasks"
)

//go:embed statements/*.tmpl
var statementTemplates embed.FS

// Statements maps the name of a problem statement, "<refactoring>.<code type>",
// to its text. The axes traversal and search share these base texts. The nil
// map stands for our own texts.
type Statements map[string]string

// For returns the statement of a cell's tasks.
func (s Statements) For(c tasks.Cell) (string, error) {
	if s == nil {
		return Statement(c)
	}
	name, err := statementName(c)
	if err != nil {
		return "", err
	}
	text, ok := s[name]
	if !ok {
		return "", fmt.Errorf("no statement %q", name)
	}
	return text, nil
}

// Statement returns our own statement of a cell's tasks.
func Statement(c tasks.Cell) (string, error) {
	name, err := statementName(c)
	if err != nil {
		return "", err
	}
	all, err := ownStatements()
	if err != nil {
		return "", err
	}
	return all[name], nil
}

// OwnStatements returns all of our own statements. The caller may change the map.
func OwnStatements() (Statements, error) { return renderStatements() }

// ownStatements renders the embedded texts once, as every task needs one.
var ownStatements = sync.OnceValues(renderStatements)

// statementName is the key of a cell's statement. It refuses cells of axes that
// have no statements and words that do not exist.
func statementName(c tasks.Cell) (string, error) {
	switch c.Axis {
	case tasks.Traversal, tasks.Search:
	default:
		return "", fmt.Errorf("no statement for axis %q", c.Axis)
	}
	name := baseName(c.Refactoring, c.Code)
	for _, known := range baseNames() {
		if name == known {
			return name, nil
		}
	}
	return "", fmt.Errorf("no statement for refactoring %q in code type %q", c.Refactoring, c.Code)
}

func baseName(r tasks.Refactoring, code tasks.CodeType) string {
	return string(r) + "." + string(code)
}

// baseNames returns the names of the base texts, refactoring by refactoring.
func baseNames() []string {
	var names []string
	for _, r := range tasks.Refactorings() {
		for _, code := range tasks.CodeTypes() {
			names = append(names, baseName(r, code))
		}
	}
	return names
}

func renderStatements() (Statements, error) {
	all := Statements{}
	for _, r := range tasks.Refactorings() {
		file := "statements/" + string(r) + ".tmpl"
		t, err := template.ParseFS(statementTemplates, "statements/layout.tmpl", file)
		if err != nil {
			return nil, fmt.Errorf("parsing statement template %q: %w", file, err)
		}
		for _, code := range tasks.CodeTypes() {
			var text strings.Builder
			if err := t.ExecuteTemplate(&text, "statement", wordsOf(r, code)); err != nil {
				return nil, fmt.Errorf("rendering statement template %q for %s: %w", file, code, err)
			}
			all[baseName(r, code)] = text.String()
		}
	}
	return all, nil
}

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
	return w
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
