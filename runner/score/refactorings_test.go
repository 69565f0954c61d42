package score

import "cabra-run/tasks"

// program puts a head, functions and the usual end around main's expression.
func program(head, functions, typ, result, argument string) tasks.Files {
	return solution(head + "import sys\n\n" + functions + "def main(val: " + typ + "):\n    return " + result +
		"\n\nif __name__ == '__main__':\n    main(" + argument + ")")
}

func tinyOf(r tasks.Refactoring, code tasks.CodeType, starter, reference tasks.Files, check tasks.Check) *tasks.Task {
	cell := tasks.Cell{Axis: tasks.Traversal, Size: 3, Refactoring: r, Code: code}
	check.Kind = tasks.CallGraphCheck
	return &tasks.Task{ID: tasks.CellID(cell, 1), Cell: cell, Instance: 1, Starter: starter, Reference: reference, Check: check}
}

// deadTask removes dead code: q and r are dead, and call live functions.
func deadTask() *tasks.Task {
	live := "def a(val: str) -> str:\n    b_val = b(val)\n    return strops.reverse(b_val)\n\ndef b(val: str) -> str:\n    return strops.rot13(val)\n\n"
	dead := "def q(val: str) -> str:\n    r_val = r(val)\n    b_val = b(val)\n    return strops.zip_chars(r_val, b_val)\n\ndef r(val: str) -> str:\n    return strops.mirror(val)\n\n"
	starter := program("import strops\n", live+dead, "str", "a(val)", "str(sys.argv[1])")
	reference := program("import strops\n", live, "str", "a(val)", "str(sys.argv[1])")
	return tinyOf(tasks.DeadCode, tasks.String, starter, reference, tasks.Check{Edited: []string{"q", "r"}})
}

func deadTable() table {
	return table{name: "dead code", task: deadTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"starter", "S", nil, "failed functions: function q should be gone"},
		{"one left", "S", []string{"def q(val: str) -> str:\n    r_val = r(val)\n    b_val = b(val)\n    return strops.zip_chars(r_val, b_val)\n\n", ""}, "failed functions: function r should be gone"},
		{"a live one gone too", "R", []string{"def b(val: str) -> str:\n    return strops.rot13(val)\n\n", ""}, "failed functions: function b is missing"},
		{"a live one inlined", "R", []string{"    b_val = b(val)\n    return strops.reverse(b_val)", "    return strops.reverse(strops.rot13(val))"}, "failed structure: function a was changed"},
		{"hidden in a condition (FP-3)", "S", []string{"def q(", "if True:\n  def q(", "    r_val = r(val)\n", "    r_val = r(val);", "    b_val = b(val)\n    return strops.zip", "    return strops.zip",
			"def r(val: str) -> str:\n    return strops.mirror(val)\n\n", ""}, "failed structure: If at module level"},
		{"hidden in a function (FP-3)", "R", []string{"    return strops.rot13(val)", "    def r(val: str) -> str:\n        return strops.mirror(val)\n    return strops.rot13(val)"}, "failed structure: function b was changed"},
		{"empty shell kept", "R", []string{"def a(", "def q(val: str) -> str:\n    pass\n\ndef a("}, "failed functions: function q should be gone"},
		{"left as a lambda", "R", []string{"def a(", "q = lambda val: val\n\ndef a("}, "failed structure: Assign at module level"},
		{"left as async", "R", []string{"def a(", "async def q(val: str) -> str:\n    pass\n\ndef a("}, "failed structure: AsyncFunctionDef at module level"},
		{"commented out", "R", []string{"def a(", "# def q(val: str) -> str: return r(val)\n\ndef a("}, "solved"},
	}}
}

// returnTask adds a return value: c is the source, b and a propagate, d does not use it.
func returnTask() *tasks.Task {
	head := "from mylibrary import external\nimport math\nimport operator\n"
	d := "def d(val: float) -> float:\n    return math.tanh(val)\n\n"
	starter := program(head, "def a(val: float) -> float:\n    b_val = b(val)\n    c_val = c(val)\n    d_val = d(val)\n    return operator.add(max(b_val, c_val), d_val)\n\n"+
		"def b(val: float) -> float:\n    c_val = c(val)\n    return math.cos(c_val)\n\ndef c(val: float) -> float:\n    return external(round(val))\n\n"+d, "float", "(a(val), d(val))", "float(sys.argv[1])")
	reference := program(head, "def a(val: float) -> tuple[float, str]:\n    b_val, b_str = b(val)\n    c_val, c_str = c(val)\n    d_val = d(val)\n    return (operator.add(max(b_val, c_val), d_val), b_str)\n\n"+
		"def b(val: float) -> tuple[float, str]:\n    c_val, c_str = c(val)\n    return (math.cos(c_val), c_str)\n\ndef c(val: float) -> tuple[float, str]:\n    return external(round(val))\n\n"+d, "float", "(a(val), d(val))", "float(sys.argv[1])")
	return tinyOf(tasks.AddReturn, tasks.Math, starter, reference, tasks.Check{Edited: []string{"a", "b", "c"}, Library: []string{"external"}})
}

func returnTable() table {
	return table{name: "add return", task: returnTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"starter", "S", nil, "failed behaviour: b("},
		{"another of the equal texts", "R", []string{"d_val), b_str)", "d_val), c_str)"}, "solved"},
		{"without parentheses and annotations", "R", []string{"-> tuple[float, str]", "", "return (math.cos(c_val), c_str)", "return math.cos(c_val), c_str"}, "solved"},
		{"by index", "R", []string{"    c_val, c_str = c(val)\n    return (math.cos(c_val), c_str)", "    pair = c(val)\n    return (math.cos(pair[0]), pair[1])"}, "solved"},
		{"calls twice", "R", []string{"    c_val, c_str = c(val)\n    return (math.cos(c_val), c_str)", "    return (math.cos(c(val)[0]), c(val)[1])"}, "solved"},
		{"unpacked in the source", "R", []string{"    return external(round(val))", "    value, text = external(round(val))\n    return (value, text)"}, "solved"},
		{"typing annotation as text", "R", []string{"-> tuple[float, str]", "-> 'Tuple[float, str]'"}, "solved"},
		{"a list (FP-10)", "R", []string{"return (math.cos(c_val), c_str)", "return [math.cos(c_val), c_str]"}, "failed behaviour: b("},
		{"a text of its own", "R", []string{"return (math.cos(c_val), c_str)", "return (math.cos(c_val), 'cabra')"}, "failed behaviour: b("},
		{"external called again (FP-4)", "R", []string{"return (math.cos(c_val), c_str)", "return (math.cos(c_val), external(c_val)[1])"}, "failed structure: function b: uses external, which belongs elsewhere"},
		{"external called twice at its place (FP-4)", "R", []string{"    return external(round(val))", "    external(round(val))\n    return external(round(val))"}, "failed calls: once more than needed"},
		{"external called with something else", "R", []string{"    return external(round(val))", "    return (round(val), external(0)[1])"}, "failed calls: did not call external"},
		{"d changed too", "R", []string{"    return math.tanh(val)", "    return (math.tanh(val), '')"}, "failed structure: function d was changed"},
	}}
}

// cacheTask caches: b is the lowest caller of c and d, which call slow.
func cacheTask() *tasks.Task {
	head := "from mylibrary import slow\nimport strops\n"
	rest := "def a(val: str) -> str:\n    b_val = b(val)\n    return strops.swap_case(b_val)\n\ndef e(val: str) -> str:\n    return strops.char_rotate(val)\n\n"
	starter := program(head, "def b(val: str) -> str:\n    c_val = c(val)\n    d_val = d(val)\n    return strops.alternate_chars(c_val, d_val)\n\n"+
		"def c(val: str) -> str:\n    return slow() + strops.rot13(val)\n\ndef d(val: str) -> str:\n    e_val = e(val)\n    return slow() + strops.mirror(e_val)\n\n"+rest, "str", "a(val)", "str(sys.argv[1])")
	reference := program(head, "def b(val: str) -> str:\n    temp: str = slow()\n    c_val = c(val, temp)\n    d_val = d(val, temp)\n    return strops.alternate_chars(c_val, d_val)\n\n"+
		"def c(val: str, temp: str='') -> str:\n    return temp + strops.rot13(val)\n\ndef d(val: str, temp: str='') -> str:\n    e_val = e(val)\n    return temp + strops.mirror(e_val)\n\n"+rest, "str", "a(val)", "str(sys.argv[1])")
	return tinyOf(tasks.CacheFunction, tasks.String, starter, reference, tasks.Check{Edited: []string{"b", "c", "d"}, Library: []string{"slow"}})
}

func cacheTable() table {
	return table{name: "cache function", task: cacheTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"starter", "S", nil, "failed structure: has the parameters (val), not (val, temp)"},
		{"named arguments", "R", []string{"c(val, temp)", "c(val, temp=temp)"}, "solved"},
		{"no default", "R", []string{"temp: str=''", "temp: str"}, "solved"},
		{"another constant as default", "R", []string{"temp: str=''", "temp: str=None"}, "failed structure: parameter temp has another default"},
		{"default that calls slow (FP-4)", "R", []string{"temp: str=''", "temp: str=slow()"}, "failed structure: parameter temp has another default"},
		{"slow at each call site (FP-4)", "R", []string{"c(val, temp)", "c(val, slow())"}, "failed calls: once more than needed"},
		{"slow in a loop (FP-4)", "R", []string{"    temp: str = slow()\n", "    for _ in range(3):\n        temp = slow()\n"}, "failed calls: once more than needed"},
		{"slow in the leaves (FP-4)", "R", []string{"    return temp + strops.rot13(val)", "    slow()\n    return temp + strops.rot13(val)"}, "failed structure: function c: uses slow, which belongs elsewhere"},
		{"slow kept in a leaf", "R", []string{"return temp + strops.rot13(val)", "return slow() + strops.rot13(val)"}, "failed behaviour: c("},
		{"too high", "R", []string{"def b(val: str) -> str:\n    temp: str = slow()\n", "def b(val: str, temp: str='') -> str:\n", "b_val = b(val)", "temp = slow()\n    b_val = b(val, temp)"}, "failed structure: function a was changed"},
		{"cached in a module variable", "R", []string{"def a(", "TEMP = slow()\n\ndef a(", "    temp: str = slow()\n", "    temp = TEMP\n"}, "failed structure: Assign at module level"},
		{"cached on the function (FP-16)", "R", []string{"    temp: str = slow()\n", "    if not hasattr(b, 'temp'):\n        b.temp = slow()\n    temp = b.temp\n"}, "failed structure: changes the attribute temp"},
		{"cached by a global statement (FP-16)", "R", []string{"    temp: str = slow()\n", "    global temp\n    temp = slow()\n"}, "failed structure: has a global statement"},
		{"passed beyond", "R", []string{"e(val)\n", "e(val, temp)\n", "def e(val: str)", "def e(val: str, temp: str='')"}, "failed structure: function e was changed"},
	}}
}

// repeatTask extracts a helper: b and c use it, d is the first function both call.
func repeatTask() *tasks.Task {
	head := "from mylibrary import get_multiplier\nimport numpy as np\n"
	rest := "def a(val: np.ndarray) -> np.ndarray:\n    b_val = b(val)\n    c_val = c(val)\n    return np.hypot(b_val, c_val)\n\ndef e(val: np.ndarray) -> np.ndarray:\n    return np.flip(val)\n\n"
	starter := program(head, "def b(val: np.ndarray) -> np.ndarray:\n    mult: float = get_multiplier(val)\n    d_val = d(val)\n    return mult * np.cos(d_val)\n\n"+
		"def c(val: np.ndarray) -> np.ndarray:\n    mult: float = get_multiplier(val)\n    d_val = d(val)\n    return mult * np.sort(d_val)\n\n"+
		"def d(val: np.ndarray) -> np.ndarray:\n    e_val = e(val)\n    return np.tanh(e_val)\n\n"+rest, "np.ndarray", "a(val)", "np.array(eval(sys.argv[1]))")
	reference := program(head, "def b(val: np.ndarray) -> np.ndarray:\n    d_val, mult = d(val)\n    return mult * np.cos(d_val)\n\n"+
		"def c(val: np.ndarray) -> np.ndarray:\n    d_val, mult = d(val)\n    return mult * np.sort(d_val)\n\n"+
		"def d(val: np.ndarray) -> tuple[np.ndarray, float]:\n    mult: float = get_multiplier(val)\n    e_val = e(val)\n    return (np.tanh(e_val), mult)\n\n"+rest, "np.ndarray", "a(val)", "np.array(eval(sys.argv[1]))")
	return tinyOf(tasks.DontRepeat, tasks.Array, starter, reference, tasks.Check{Edited: []string{"b", "c", "d"}, Library: []string{"get_multiplier"}})
}

func repeatTable() table {
	return table{name: "dont repeat", task: repeatTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"starter", "S", nil, "failed behaviour: d("},
		{"other names", "R", []string{"d_val, mult = d(val)", "x, factor = d(val)", "mult * np.cos(d_val)", "factor * np.cos(x)", "mult * np.sort(d_val)", "factor * np.sort(x)"}, "solved"},
		{"commuted", "R", []string{"mult * np.cos(d_val)", "np.cos(d_val) * mult"}, "solved"},
		{"in place", "R", []string{"    return mult * np.cos(d_val)", "    np.cos(d_val, out=d_val)\n    d_val *= mult\n    return d_val"}, "solved"},
		{"called inline", "R", []string{"    mult: float = get_multiplier(val)\n    e_val", "    e_val", "(np.tanh(e_val), mult)", "(np.tanh(e_val), get_multiplier(val))"}, "solved"},
		{"a helper everywhere (FP-4)", "R", []string{"d_val, mult = d(val)", "d_val, _ = d(val)\n    mult = get_multiplier(val)"}, "failed structure: function b: uses get_multiplier, which belongs elsewhere"},
		{"not passed up", "R", []string{"return (np.tanh(e_val), mult)", "return np.tanh(e_val)"}, "failed behaviour: d("},
		{"too deep", "R", []string{"    mult: float = get_multiplier(val)\n    e_val = e(val)", "    e_val, mult = e(val)", "return np.flip(val)", "return (np.flip(val), get_multiplier(val))"}, "failed structure: function e was changed"},
		{"applied too early", "R", []string{"(np.tanh(e_val), mult)", "(mult * np.tanh(e_val), mult)", "mult * np.cos", "np.cos", "mult * np.sort", "np.sort"}, "failed behaviour: d("},
		{"of something else", "R", []string{"get_multiplier(val)", "get_multiplier(np.flip(val))"}, "failed calls: did not call get_multiplier"},
		{"value as numpy's number", "R", []string{"(np.tanh(e_val), mult)", "(np.tanh(e_val), np.float64(mult))"}, "solved"},
		{"list instead of an array (FP-10)", "R", []string{"mult * np.cos(d_val)", "[mult * x for x in np.cos(d_val)]"}, "failed behaviour: b("},
		{"other dtype (FP-10)", "R", []string{"mult * np.cos(d_val)", "(mult * np.cos(d_val)).astype('f4')"}, "failed behaviour: b("},
		{"changes its argument", "R", []string{"    d_val, mult = d(val)\n    return mult * np.cos(d_val)", "    d_val, mult = d(val)\n    val *= 2.0\n    return mult * np.cos(d_val)"}, "failed behaviour: call 1 of main"},
	}}
}
