package score

import "cabra-run/tasks"

const checkText = "def check(x: int, a: int, b: int, target: int, num_steps: int) -> bool:\n" +
	"    for step in range(num_steps):\n        if x % 2 == 0:\n            x = x // 2\n        else:\n            x = a * x + b\n" +
	"    return x % 2 == target\n\n"

// guardedTask caches slow in a guarded program: b is the lowest caller of c
// and d. check(2, 1, 1, 1, …) halves 2 and is true after one step; for target 0
// it is false.
func guardedTask() *tasks.Task {
	head := "from mylibrary import slow\nimport math\n"
	rest := "def a(val: float) -> float:\n    if check(2, 1, 1, 1, num_steps=1):\n        b_val = b(val)\n        return math.sin(b_val)\n" +
		"    else:\n        b_val = b(val)\n        return math.sin(b_val)\n\n"
	starter := program(head, checkText+rest+
		"def b(val: float) -> float:\n    if check(2, 1, 1, 0, num_steps=1):\n        c_val = c(val)\n        d_val = d(val)\n        return max(c_val, d_val)\n"+
		"    else:\n        c_val = c(val)\n        d_val = d(val)\n        return max(c_val, d_val)\n\n"+
		"def c(val: float) -> float:\n    if check(2, 1, 1, 1, num_steps=1):\n        return slow() + math.atan(val)\n    else:\n        return slow() + math.atan(val)\n\n"+
		"def d(val: float) -> float:\n    if check(2, 1, 1, 1, num_steps=1):\n        return slow() + math.cos(val)\n    else:\n        return slow() + math.cos(val)\n\n",
		"float", "a(val)", "float(sys.argv[1])")
	reference := program(head, checkText+rest+
		"def b(val: float) -> float:\n    if check(2, 1, 1, 0, num_steps=1):\n        c_val = c(val)\n        d_val = d(val)\n        return max(c_val, d_val)\n"+
		"    else:\n        temp: float = slow()\n        c_val = c(val, temp)\n        d_val = d(val, temp)\n        return max(c_val, d_val)\n\n"+
		"def c(val: float, temp: float=0.0) -> float:\n    if check(2, 1, 1, 1, num_steps=1):\n        return temp + math.atan(val)\n    else:\n        return slow() + math.atan(val)\n\n"+
		"def d(val: float, temp: float=0.0) -> float:\n    if check(2, 1, 1, 1, num_steps=1):\n        return temp + math.cos(val)\n    else:\n        return slow() + math.cos(val)\n\n",
		"float", "a(val)", "float(sys.argv[1])")
	task := tinyOf(tasks.CacheFunction, tasks.Math, starter, reference, tasks.Check{
		Edited: []string{"b", "c", "d"}, Library: []string{"slow"}, Branches: true,
		Live: map[string]bool{"a": true, "b": false, "c": true, "d": true},
	})
	task.Cell.Axis = tasks.Runtime
	return task
}

// Only the branch that runs may change, and nothing around it.
func guardedTable() table {
	const otherC = "    else:\n        return slow() + math.atan(val)"
	return table{name: "guarded", task: guardedTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"starter", "S", nil, "failed structure: has the parameters (val), not (val, temp)"},
		{"local variable in the running branch (FN-12)", "R", []string{"        return temp + math.atan(val)", "        x = math.atan(val)\n        return temp + x"}, "solved"},
		{"docstring (FN-12)", "R", []string{"def c(val: float, temp: float=0.0) -> float:\n", "def c(val: float, temp: float=0.0) -> float:\n    \"\"\"Text.\"\"\"\n"}, "solved"},
		{"other layout of the guard", "R", []string{"check(2, 1, 1, 0, num_steps=1):", "check(2, 1,\n            1, 0, num_steps = 1) :"}, "solved"},
		{"before the if (FN-12)", "R", []string{"    if check(2, 1, 1, 0, num_steps=1):", "    temp: float = slow()\n    if check(2, 1, 1, 0, num_steps=1):", "        temp: float = slow()\n", ""}, "failed structure: function b: is not one if/else any more"},
		{"other branch edited as well (FP-18)", "R", []string{otherC, "    else:\n        return temp + math.atan(val)"}, "failed structure: function c: has another branch that does not run"},
		{"other branch cleared (FP-18)", "R", []string{otherC, "    else:\n        pass"}, "failed structure: function c: has another branch that does not run"},
		{"other branch gone", "R", []string{otherC, "    return slow() + math.atan(val)"}, "failed structure: function c: is not one if/else any more"},
		{"other branch's local renamed (FN-12)", "R", []string{"0, num_steps=1):\n        c_val = c(val)\n        d_val = d(val)\n        return max(c_val, d_val)", "0, num_steps=1):\n        x = c(val)\n        d_val = d(val)\n        return max(x, d_val)"}, "failed structure: function b: has another branch that does not run"},
		{"branches exchanged", "R", []string{"1, num_steps=1):\n        return temp + math.atan(val)\n" + otherC, "0, num_steps=1):\n        return slow() + math.atan(val)\n    else:\n        return temp + math.atan(val)"}, "failed structure: function c: has another condition"},
		{"condition negated", "R", []string{"    if check(2, 1, 1, 0, num_steps=1):", "    if not check(2, 1, 1, 0, num_steps=1):"}, "failed structure: function b: has another condition"},
		{"condition resolved", "R", []string{"    if check(2, 1, 1, 0, num_steps=1):", "    if False:"}, "failed structure: function b: has another condition"},
		{"wrong branch", "R", []string{"        return temp + math.atan(val)\n" + otherC, "        return slow() + math.atan(val)\n    else:\n        return temp + math.atan(val)"}, "failed behaviour: c("},
		{"guard removed from an unedited function", "R", []string{"    if check(2, 1, 1, 1, num_steps=1):\n        b_val = b(val)\n        return math.sin(b_val)\n    else:\n        b_val = b(val)\n        return math.sin(b_val)\n", "    b_val = b(val)\n    return math.sin(b_val)\n"}, "failed structure: function a was changed, but should not be"},
		{"check changed", "R", []string{"x % 2 == target", "x & 1 == target"}, "failed structure: function check was changed"},
		{"slow called again", "R", []string{"c(val, temp)", "c(val, slow())"}, "failed calls: once more than needed"},
		{"nested condition in the running branch", "R", []string{"        return temp + math.atan(val)\n", "        if val > 0:\n            return temp + math.atan(val)\n        return math.atan(val) + temp\n"}, "solved"},
	}}
}

// guardedDeadTask has the dead functions q and r; live ones call them in
// branches that do not run.
func guardedDeadTask() *tasks.Task {
	dead := "def q(val: str) -> str:\n    if check(2, 1, 1, 1, num_steps=1):\n        r_val = r(val)\n        return strops.mirror(r_val)\n    else:\n        b_val = b(val)\n        return strops.rot13(b_val)\n\n" +
		"def r(val: str) -> str:\n    if check(2, 1, 1, 1, num_steps=1):\n        return strops.mirror(val)\n    else:\n        return strops.rot13(val)\n\n"
	live := func(call string) string {
		return "def a(val: str) -> str:\n    if check(2, 1, 1, 0, num_steps=1):\n        q_val = " + call + "\n        return strops.rot13(q_val)\n    else:\n        b_val = b(val)\n        return strops.reverse(b_val)\n\n" +
			"def b(val: str) -> str:\n    if check(2, 1, 1, 1, num_steps=1):\n        return strops.rot13(val)\n    else:\n        return strops.mirror(val)\n\n"
	}
	starter := program("import strops\n", checkText+live("q(val)")+dead, "str", "a(val)", "str(sys.argv[1])")
	reference := program("import strops\n", checkText+live("val"), "str", "a(val)", "str(sys.argv[1])")
	task := tinyOf(tasks.DeadCode, tasks.String, starter, reference, tasks.Check{
		Edited: []string{"q", "r"}, Branches: true, Live: map[string]bool{"a": false, "b": true, "q": true, "r": true},
	})
	task.Cell.Axis = tasks.Runtime
	return task
}

func guardedDeadTable() table {
	return table{name: "guarded dead code", task: guardedDeadTask(), strict: []edit{
		{"reference", "R", nil, "solved"},
		{"starter", "S", nil, "failed functions: function q should be gone"},
		{"call left", "R", []string{"q_val = val", "q_val = q(val)"}, "failed structure: function a still calls removed functions"},
		{"other text in the branch that does not run (FP-18)", "R", []string{"q_val = val", "q_val = ''"}, "failed structure: function a has another branch that does not run"},
		{"branch that does not run simplified (FP-18)", "R", []string{"        q_val = val\n        return strops.rot13(q_val)", "        return strops.rot13(val)"}, "failed structure: function a has another branch that does not run"},
		{"branch that does not run removed", "R", []string{"    if check(2, 1, 1, 0, num_steps=1):\n        q_val = val\n        return strops.rot13(q_val)\n    else:\n        b_val = b(val)\n        return strops.reverse(b_val)", "    b_val = b(val)\n    return strops.reverse(b_val)"}, "failed structure: function a is not one if/else any more"},
		{"running branch changed", "R", []string{"        b_val = b(val)\n        return strops.reverse(b_val)", "        return strops.reverse(b(val))"}, "failed structure: function a was changed in the branch that runs"},
		{"another function changed", "R", []string{"return strops.mirror(val)", "return strops.rot13(val)"}, "failed structure: function b was changed, but should not be"},
		{"check removed", "R", []string{checkText, "", "check(2, 1, 1, 0, num_steps=1)", "False", "check(2, 1, 1, 1, num_steps=1)", "True"}, "failed functions: function check is missing"},
	}}
}
