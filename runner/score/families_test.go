package score

import (
	"path/filepath"
	"testing"

	"cabra-run/tasks"
)

// familyFiles reads the candidates that are sorted by families: right code in
// a style that nobody expects, and code that is wrong in a way that a sloppy
// check would not see. The name of a folder is that of a task.
func familyFiles(t *testing.T) []attack {
	t.Helper()
	var out []attack
	for _, kind := range []string{"right", "wrong"} {
		folders, err := filepath.Glob(filepath.Join("testdata", kind, "*", ""))
		if err != nil || len(folders) == 0 {
			t.Fatalf("no folders in %s: %v", kind, err)
		}
		for _, folder := range folders {
			if filepath.Ext(folder) == ".py" {
				continue
			}
			family := filepath.Base(folder)
			if attackTasks()[family] == nil {
				t.Fatalf("no task for %s", folder)
			}
			for _, a := range fileAttacks(t, filepath.Join(kind, family)) {
				a.name, a.task = kind+"/"+family+"/"+a.name, family
				if (a.expect == "solved") != (kind == "right") {
					t.Errorf("%s expects %q", a.name, a.expect)
				}
				out = append(out, a)
			}
		}
	}
	return out
}

// ruledReturnTask returns two keys from c, which computes them, by way of b
// to a, which gets them twice.
func ruledReturnTask() *tasks.Task {
	head := "from mylibrary import external\nimport strops\n"
	rest := "def d(val: str) -> str:\n    return strops.mirror(val)\n\n"
	starter := program(head, "def a(val: str) -> str:\n    b_val = b(val)\n    c_val = c(val)\n    return strops.zip_chars(b_val, c_val)\n\n"+
		"def b(val: str) -> str:\n    c_val = c(val)\n    d_val = d(val)\n    return strops.alternate_chars(c_val, d_val)\n\n"+
		"def c(val: str) -> str:\n    key1, key2 = external(2)\n    return strops.reverse(val)\n\n"+rest, "str", "a(val)", "str(sys.argv[1])")
	const lines = "    # NOTE: key1\n    assert key2 > '#'\n    print(f'Key: {key2}')\n    key1_copy = '3' + key1\n"
	const typ = "tuple[str, str, str]"
	reference := program(head, "def a(val: str) -> "+typ+":\n    b_val, key1, key2 = b(val)\n    c_val, _, _ = c(val)\n"+lines+"    return (strops.zip_chars(b_val, c_val), key1, key2)\n\n"+
		"def b(val: str) -> "+typ+":\n    c_val, key1, key2 = c(val)\n    d_val = d(val)\n"+lines+"    return (strops.alternate_chars(c_val, d_val), key1, key2)\n\n"+
		"def c(val: str) -> "+typ+":\n    key1, key2 = external(2)\n"+lines+"    return (strops.reverse(val), key1, key2)\n\n"+rest, "str", "a(val)", "str(sys.argv[1])")
	task := tinyOf(tasks.AddReturn, tasks.String, starter, reference, tasks.Check{
		Edited: []string{"a", "b", "c"}, Library: []string{"external"}, Values: 2,
		Inserted: []string{"# NOTE: key1", "assert key2 > '#'", "print(f'Key: {key2}')", "key1_copy = '3' + key1"},
	})
	task.Cell.Axis = tasks.Instructions
	return task
}

// renameTask renames two of the variables of a short program.
func renameTask() *tasks.Task {
	text := func(q, w string) tasks.Files {
		return solution("import sys\n\ndef main(val: float):\n    a = val\n    " + q + " = a + 3\n    b = " + q + " - 2\n    " +
			w + " = b + a\n    c = " + w + " - " + q + "\n    return c + 1\n\nif __name__ == '__main__':\n    main(float(sys.argv[1]))")
	}
	cell := tasks.Cell{Axis: tasks.Rename, Size: 5}
	return &tasks.Task{ID: tasks.CellID(cell, 1), Cell: cell, Instance: 1, Starter: text("q", "w"), Reference: text("x", "y"),
		Check: tasks.Check{Kind: tasks.RenameKind, Edited: []string{"main"}, Renames: []tasks.Renaming{{Old: "q", New: "x"}, {Old: "w", New: "y"}}}}
}
