// Package program owns a small model of a Python program, as far as generated
// benchmark programs need it, and its printer. It must not know where a program
// comes from or what it is for.
package program

// Program is a Python file: imports, functions, the entry function, and the
// block that runs when the file is executed.
type Program struct {
	Imports []Import
	// Helper is the text of a function in front of all others, without a line
	// end; none if empty.
	Helper    string
	Functions []Function // in file order
	Main      Function
	Run       Expr // the statement of the __main__ block
}

// Import is "import Module", "import Module as As" or "from Module import Name".
type Import struct{ Module, As, Name string }

// Function is a definition at the top of the file.
type Function struct {
	Name    string
	Params  []Param
	Returns string // annotation; none if empty
	Body    []Stmt
}

// Param is an annotated parameter with an optional default.
type Param struct {
	Name, Type string
	Default    Expr // nil for none
}

// Stmt is a statement: Assign, Return, Line or *If.
type Stmt interface{ stmt() }

// Assign binds the value to the targets, of which several unpack a tuple. Only
// a single target may have an annotation.
type Assign struct {
	Targets []string
	Type    string // annotation; none if empty
	Value   Expr
}

// Return ends a function with a value.
type Return struct{ Value Expr }

// Line is a comment, or a statement of one line, as it stands in the program.
type Line string

// If runs one of two branches, neither of which is empty.
type If struct {
	Cond       Expr
	Then, Else []Stmt
}

func (Assign) stmt() {}
func (Return) stmt() {}
func (Line) stmt()   {}
func (*If) stmt()    {}

// Expr is an expression: Atom, Call, Keyword, Chain, Tuple or Group.
type Expr interface{ expr() }

// Atom is a name or a literal as it stands in the program.
type Atom string

// Call is a call of a function, whose name may have dots.
type Call struct {
	Func string
	Args []Expr // Keyword elements last
}

// Keyword is an argument that is passed by its name.
type Keyword struct {
	Name  string
	Value Expr
}

// Chain joins operands with one left-associative operator, such as "*". An
// operand must be an Atom or a Call: they never need brackets.
type Chain struct {
	Op       string
	Operands []Expr
}

// Tuple is a tuple in brackets of at least two elements.
type Tuple []Expr

// Group is an expression in brackets that mean nothing. Only the Raw style
// shows them.
type Group struct{ Inner Expr }

func (Atom) expr()    {}
func (Call) expr()    {}
func (Keyword) expr() {}
func (Chain) expr()   {}
func (Tuple) expr()   {}
func (Group) expr()   {}
