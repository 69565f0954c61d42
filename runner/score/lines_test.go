package score

import (
	"strings"

	"cabra-run/tasks"
)

// ruledTask passes two values to c, with one line of each kind in a and c.
func ruledTask() *tasks.Task {
	head := "from mylibrary import default\nimport math\n"
	const signature = "(val: float, mult1: float=default(1), mult2: float=default(2)) -> float:\n"
	lines := []string{"# NOTE: mult1", "assert mult1 != -30", "assert mult2 < 50", "print(f'Value: {mult1}')", "mult2_temp = mult2 + 0.2"}
	inserted := "    " + strings.Join(lines, "\n    ") + "\n"
	rest := "def d(val: float) -> float:\n    return math.tanh(val)\n\n"
	starter := program(head, "def a"+signature+"    c_val = c(val)\n    d_val = d(val)\n    return max(c_val, d_val)\n\ndef c(val: float) -> float:\n    return math.cos(val)\n\n"+rest,
		"float", "a(val)", "float(sys.argv[1])")
	reference := program(head, "def a"+signature+inserted+"    c_val = c(val, mult1=mult1, mult2=mult2)\n    d_val = d(val)\n    return max(c_val, d_val)\n\n"+
		"def c"+signature+inserted+"    return mult1 * mult2 * math.cos(val)\n\n"+rest, "float", "a(val)", "float(sys.argv[1])")
	starter[tasks.SolutionFile] = strings.Replace(starter[tasks.SolutionFile], "c(val)\n    d_val = d", "c(val)\n    d_val = d", 1)
	task := tinyOf(tasks.AddParameter, tasks.Math, starter, reference, tasks.Check{
		Edited: []string{"a", "c"}, Library: []string{"default"}, Values: 2, Inserted: lines,
	})
	task.Cell.Axis = tasks.Instructions
	return task
}

func ruledTable() table {
	const inC = "    return mult1 * mult2 * math.cos(val)"
	// Only c is changed where a replacement begins with the line before its return.
	const last = "    mult2_temp = mult2 + 0.2\n" + inC
	with := func(text string) []string { return []string{last, "    mult2_temp = mult2 + 0.2\n" + text} }
	const tail = "    print(f'Value: {mult1}')\n    mult2_temp = mult2 + 0.2\n" + inC
	return table{name: "ruled", task: ruledTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"starter", "S", nil, "failed lines: lacks"},
		{"no lines", "R", []string{"    # NOTE: mult1\n    assert mult1 != -30\n    assert mult2 < 50\n    print(f'Value: {mult1}')\n    mult2_temp = mult2 + 0.2\n", ""}, "failed lines: lacks"},
		{"other order within a kind", "R", []string{"    assert mult1 != -30\n    assert mult2 < 50\n", "    assert mult2 < 50\n    assert mult1 != -30\n"}, "solved"},
		{"other layout", "R", []string{"assert mult1 != -30", "assert(mult1!=-30)", "f'Value: {mult1}'", "f\"Value: {mult1}\"", "mult2 + 0.2", "(mult2 + .20)"}, "solved"},
		{"annotated temporary variable (FN-11)", "R", []string{"mult2_temp = mult2", "mult2_temp: float = mult2"}, "solved"},
		{"docstring in front", "R", []string{"    # NOTE: mult1\n", "    \"\"\"Text.\"\"\"\n    # NOTE: mult1\n"}, "solved"},
		{"blank lines", "R", []string{"    assert mult2 < 50\n", "\n    assert mult2 < 50\n\n"}, "solved"},
		{"comment without a value", "R", []string{"    # NOTE: mult1\n", "    # the comment:\n    # NOTE: mult1\n"}, "solved"},
		{"print without a value", "R", with("    print('here')\n" + inC), "solved"},
		{"variable without a value", "R", with("    x = math.cos(val)\n    return mult1 * mult2 * x"), "solved"},
		{"product in a variable", "R", with("    x = mult1 * mult2 * math.cos(val)\n    return x"), "solved"},
		{"positional arguments", "R", []string{"c(val, mult1=mult1, mult2=mult2)", "c(val, mult1, mult2)"}, "solved"},

		{"order of kinds", "R", []string{"    print(f'Value: {mult1}')\n    mult2_temp = mult2 + 0.2\n", "    mult2_temp = mult2 + 0.2\n    print(f'Value: {mult1}')\n"}, "failed lines: does not stand in the order of kinds"},
		{"comment behind the assertions", "R", []string{"    # NOTE: mult1\n", "", "    print(f", "    # NOTE: mult1\n    print(f"}, "failed lines: the comment \"# NOTE: mult1\" is not asked for there"},
		{"comment at the end of a line (FN-11)", "R", []string{"    # NOTE: mult1\n", "", "!= -30", "!= -30  # NOTE: mult1"}, "failed lines: lacks \"# NOTE: mult1\" at its place"},
		{"comment on the def line (FN-11)", "R", []string{"float:\n    # NOTE: mult1\n", "float:  # NOTE: mult1\n"}, "failed lines: is not asked for there"},
		{"comment in the head", "R", []string{"def c(val: float,", "def c(\n    # NOTE: mult1\n    val: float,", "mult2: float=default(2)) -> float:\n    # NOTE: mult1\n    assert mult1 != -30\n    assert mult2 < 50\n    print(f'Value: {mult1}')\n" + last, "mult2: float=default(2)) -> float:\n    assert mult1 != -30\n    assert mult2 < 50\n    print(f'Value: {mult1}')\n" + last}, "failed lines: function c: the comment"},
		{"comment behind the last statement (FN-11)", "R", []string{"float:\n    # NOTE: mult1\n", "float:\n", inC, inC + "\n    # NOTE: mult1"}, "failed lines: is not asked for there"},
		{"comment in another form", "R", []string{"# NOTE: mult1", "#NOTE: mult1"}, "failed lines: lacks"},
		{"comment as text", "R", []string{"    # NOTE: mult1\n", "    '# NOTE: mult1'\n"}, "failed lines: lacks"},
		{"comment twice", "R", []string{"    # NOTE: mult1\n", "    # NOTE: mult1\n    # NOTE: mult1\n"}, "failed lines: is not asked for there"},
		{"comment in another function", "R", []string{"    return math.tanh(val)", "    # NOTE: mult1\n    return math.tanh(val)"}, "failed lines: function d: has the comment"},
		{"explanation that names a value (FN-11)", "R", with("    # pass mult1 on\n" + inC), "failed lines: the comment \"# pass mult1 on\" is not asked for there"},
		{"commuted operands (FN-11)", "R", []string{"mult2 + 0.2", "0.2 + mult2"}, "failed lines: lacks \"mult2_temp = mult2 + 0.2\""},
		{"turned comparison (FN-11)", "R", []string{"mult2 < 50", "50 > mult2"}, "failed lines: lacks \"assert mult2 < 50\""},
		{"not equal by not (FN-11)", "R", []string{"mult1 != -30", "not mult1 == -30"}, "failed lines: lacks"},
		{"assertion with a message (FP-17)", "R", []string{"assert mult2 < 50", "assert mult2 < 50, 'large'"}, "failed lines: lacks"},
		{"assertions joined (FN-11)", "R", []string{"assert mult1 != -30\n    assert mult2 < 50", "assert mult1 != -30 and mult2 < 50"}, "failed lines: lacks"},
		{"print of two arguments (FN-11)", "R", []string{"f'Value: {mult1}'", "'Value:', mult1"}, "failed lines: lacks"},
		{"print by format (FN-11)", "R", []string{"f'Value: {mult1}'", "'Value: {}'.format(mult1)"}, "failed lines: lacks"},
		{"format in a print (FP-17)", "R", []string{"{mult1}'", "{mult1:.3f}'"}, "failed lines: lacks"},
		{"keyword of a print (FP-17)", "R", []string{"{mult1}'", "{mult1}', end=''"}, "failed lines: lacks"},
		{"behind the return (FP-17)", "R", []string{tail, "    print(f'Value: {mult1}')\n" + inC + "\n    mult2_temp = mult2 + 0.2"}, "failed lines: does not stand with the other inserted lines"},
		{"inside of a condition (FN-11)", "R", []string{tail, "    print(f'Value: {mult1}')\n    if True:\n        mult2_temp = mult2 + 0.2\n" + inC}, "failed lines: lacks"},
		{"behind the calls", "R", []string{"    c_val = c(val, mult1=mult1, mult2=mult2)\n", "", "    # NOTE: mult1\n    assert mult1 != -30\n    assert mult2 < 50\n    print(f'Value: {mult1}')\n    mult2_temp = mult2 + 0.2\n    d_val", "    c_val = c(val, mult1=mult1, mult2=mult2)\n    # NOTE: mult1\n    assert mult1 != -30\n    assert mult2 < 50\n    print(f'Value: {mult1}')\n    mult2_temp = mult2 + 0.2\n    d_val"}, "failed lines: do not stand at their place"},
		{"line twice", "R", []string{"    assert mult2 < 50\n", "    assert mult2 < 50\n    assert mult2 < 50\n"}, "failed lines: has another assertion about a value"},
		{"another assertion (FP-17)", "R", with("    assert mult1 > -50\n" + inC), "failed lines: has another assertion about a value"},
		{"another print", "R", with("    print(mult1)\n" + inC), "failed lines: has another print of a value"},
		{"another temporary variable (FP-17)", "R", with("    x: float = mult1\n" + inC), "failed lines: has another assignment of a value"},
		{"nested temporary variable (FP-17)", "R", with("    if val:\n        x = mult1 + 1\n" + inC), "failed lines: has another assignment of a value"},
		{"stepwise product (FN-11)", "R", with("    x = mult1 * math.cos(val)\n    x = mult2 * x\n    return x"), "failed lines: has another assignment of a value"},
		{"value changed", "R", with("    mult1 += 0.0\n" + inC), "failed lines: changes a value"},
		{"temporary variable used", "R", []string{"mult2 + 0.2", "mult2 * 1.0", "mult1 * mult2 * math", "mult1 * mult2_temp * math"}, "failed lines: uses the temporary variable mult2_temp"},
		{"another name", "R", []string{"mult2_temp", "temp_mult2"}, "failed lines: lacks"},
		{"values exchanged", "R", []string{"mult1=mult1, mult2=mult2", "mult1=mult2, mult2=mult1"}, "failed lines: passes another value as mult1"},
		{"values exchanged by position", "R", []string{"mult1=mult1, mult2=mult2", "mult2, mult1"}, "failed lines: passes another value as mult1"},
		{"defaults exchanged", "R", []string{"default(1)", "default(9)", "default(2)", "default(1)", "default(9)", "default(2)"}, "failed structure: parameter mult1 has another default"},
		{"default without its index", "R", []string{"default(1)", "default()"}, "failed structure: parameter mult1 has another default"},
		{"one value not passed on", "R", []string{", mult2=mult2", ""}, "failed behaviour: a("},
	}}
}

// copiedTask extracts two values to d and wants a comment in b, c and d.
func copiedTask() *tasks.Task {
	const head, wish = "from mylibrary import get_key\nimport strops\n", "# stature kayak"
	rest := "def a(val: str) -> str:\n    b_val = b(val)\n    c_val = c(val)\n    return strops.zip_chars(b_val, c_val)\n\n"
	both := "    prefix2: str = get_key(val, 2)\n    prefix1: str = get_key(val, 1)\n"
	starter := program(head, rest+"def b(val: str) -> str:\n"+both+"    c_val = c(val)\n    return prefix1 + prefix2 + strops.reverse(c_val)\n\n"+
		"def c(val: str) -> str:\n"+both+"    d_val = d(val)\n    return prefix1 + prefix2 + strops.mirror(d_val)\n\ndef d(val: str) -> str:\n    return strops.rot13(val)\n\n", "str", "a(val)", "str(sys.argv[1])")
	starter[tasks.SolutionFile] = strings.ReplaceAll(starter[tasks.SolutionFile], "c_val = c(val)\n    return prefix1", "d_val = d(val)\n    return prefix1")
	starter[tasks.SolutionFile] = strings.ReplaceAll(starter[tasks.SolutionFile], "strops.reverse(c_val)", "strops.reverse(d_val)")
	line := "    " + wish + "\n    d_val, prefix1, prefix2 = d(val)\n"
	reference := program(head, rest+"def b(val: str) -> float:\n"+line+"    return prefix1 + prefix2 + strops.reverse(d_val)\n\n"+
		"def c(val: str) -> float:\n"+line+"    return prefix1 + prefix2 + strops.mirror(d_val)\n\ndef d(val: str) -> tuple[str, str, str]:\n    "+wish+
		"\n    prefix1: str = get_key(val, 1)\n    prefix2: str = get_key(val, 2)\n    return (strops.rot13(val), prefix1, prefix2)\n\n", "str", "a(val)", "str(sys.argv[1])")
	task := tinyOf(tasks.DontRepeat, tasks.String, starter, reference, tasks.Check{
		Edited: []string{"b", "c", "d"}, Library: []string{"get_key"}, Values: 2, Inserted: []string{wish}, Comment: wish,
	})
	task.Cell.Axis = tasks.CommentCopy
	return task
}

func copiedTable() table {
	const line = "    # stature kayak\n"
	return table{name: "copied", task: copiedTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"starter", "S", nil, "failed lines: lacks \"# stature kayak\" at its place"},
		{"annotations of returns are not judged", "R", []string{"-> float", "-> str"}, "solved"},
		{"other comments", "R", []string{line, line + "    # and a note on prefix1\n"}, "solved"},
		{"behind a docstring", "R", []string{line, "    'Text.'\n" + line}, "solved"},
		{"in front of a docstring", "R", []string{line, line + "    'Text.'\n"}, "solved"},
		{"in one function only", "R", []string{"def b(val: str) -> float:\n" + line, "def b(val: str) -> float:\n"}, "failed lines: function b: lacks"},
		{"below other lines", "R", []string{line + "    d_val, prefix1, prefix2 = d(val)\n", "    d_val, prefix1, prefix2 = d(val)\n" + line}, "failed lines: function b: the comment"},
		{"with another word", "R", []string{"# stature kayak", "# stature kayaks"}, "failed lines: lacks"},
		{"in two lines", "R", []string{line, "    # stature\n    # kayak\n"}, "failed lines: lacks"},
		{"in a function that stays", "R", []string{"def a(val: str) -> str:\n", "def a(val: str) -> str:\n" + line}, "failed lines: function a: has the comment"},
		{"in front of the function", "R", []string{"def b(val: str) -> float:\n" + line, "# stature kayak\ndef b(val: str) -> float:\n"}, "failed lines: function b: lacks"},
		{"unpacked in another order", "R", []string{"d_val, prefix1, prefix2 = d", "d_val, prefix2, prefix1 = d", "prefix1 + prefix2 +", "prefix2 + prefix1 +"}, "failed lines: unpacks values in another order"},
		{"by index", "R", []string{"    d_val, prefix1, prefix2 = d(val)\n    return prefix1 + prefix2 + strops.reverse(d_val)", "    all_of_d = d(val)\n    prefix1 = all_of_d[1]\n    prefix2 = all_of_d[2]\n    return prefix1 + prefix2 + strops.reverse(all_of_d[0])"}, "solved"},
		{"by other indexes", "R", []string{"    d_val, prefix1, prefix2 = d(val)\n    return prefix1 + prefix2 + strops.reverse(d_val)", "    all_of_d = d(val)\n    prefix1 = all_of_d[2]\n    prefix2 = all_of_d[1]\n    return prefix2 + prefix1 + strops.reverse(all_of_d[0])"}, "failed lines: takes values by other indexes"},
		{"indexes exchanged", "R", []string{"get_key(val, 1)", "get_key(val, 9)", "get_key(val, 2)", "get_key(val, 1)", "get_key(val, 9)", "get_key(val, 2)"}, "failed lines: computes prefix1 with another index"},
		{"without an index", "R", []string{"get_key(val, 1)", "get_key(val)"}, "failed behaviour: d("},
	}}
}
