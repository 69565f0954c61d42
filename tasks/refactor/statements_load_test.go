package refactor

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"cabra-run/tasks"
)

// writtenStatements is a folder with our own statements.
func writtenStatements(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	own, err := OwnStatements()
	if err != nil {
		t.Fatal(err)
	}
	files, err := WriteStatements(root, own)
	if err != nil || len(files) != 15+15+12+12 || files[0] != "dead-code.math.md" ||
		files[15] != "runtime/dead-code.math.md" || files[30] != "instructions/add-parameter.math.md" ||
		files[53] != "comment-copy/dont-repeat.array.md" {
		t.Fatalf("wrote %q, %v", files, err)
	}
	return dir
}

func TestStatementsWrittenAndLoadedAreTheSame(t *testing.T) {
	dir := writtenStatements(t)
	loaded, err := LoadStatements(dir)
	own, _ := OwnStatements()
	if err != nil || !reflect.DeepEqual(loaded, own) {
		t.Errorf("loaded other statements: %v", err)
	}
}

func TestLoadedStatementsReplaceOurs(t *testing.T) {
	dir := writtenStatements(t)
	const text = "Mach es besser — ohne Wiederholung.\n"
	if err := os.WriteFile(filepath.Join(dir, "dont-repeat.string.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadStatements(dir)
	if err != nil {
		t.Fatal(err)
	}
	cell := tasks.Cell{Axis: tasks.Search, Size: 10, Refactoring: tasks.DontRepeat, Code: tasks.String}
	if got, err := loaded.For(cell); err != nil || got != text {
		t.Errorf("got %q, %v", got, err)
	}
	cell.Code = tasks.Math
	if got, err := loaded.For(cell); err != nil || got != ownText(t, tasks.DontRepeat, tasks.Math) {
		t.Errorf("got %q, %v", got, err)
	}
	if own, err := Statements(nil).For(cell); err != nil || own != ownText(t, tasks.DontRepeat,
		tasks.Math) {
		t.Errorf("got %q, %v", own, err)
	}
	cell.Axis = "rename"
	if got, err := loaded.For(cell); err == nil {
		t.Errorf("got %q for an axis without statements", got)
	}
}

func TestLoadStatementsOfSomeCellsOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "add-return.array.md"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	cell := tasks.Cell{Axis: tasks.Search, Size: 10, Refactoring: tasks.AddReturn, Code: tasks.Array}
	twice := cell
	twice.Size = 25
	loaded, err := LoadStatements(dir, cell, twice)
	if err != nil || !reflect.DeepEqual(loaded, Statements{"add-return.array": "text"}) {
		t.Errorf("got %q, %v", loaded, err)
	}
	other := cell
	other.Code = tasks.Math
	if _, err := loaded.For(other); err == nil {
		t.Error("no error for a statement that was not loaded")
	}
	if _, err := LoadStatements(dir, cell, other); err == nil || !strings.Contains(err.Error(),
		"1 of 2 statements are missing") ||
		!strings.HasSuffix(err.Error(), ": add-return.math.md") {
		t.Errorf("got %v", err)
	}
}

func TestLoadStatementsRefuses(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		put  func(path string) error
		want string
	}{
		{"nothing", func(string) error { return nil },
			"1 of 15 statements are missing"},
		{"link to the outside", func(p string) error { return os.Symlink(secret, p) },
			`reading statement "cache-function.math.md"`},
		{"link to the inside", func(p string) error { return os.Symlink("dead-code.math.md", p) },
			"not a regular file"},
		{"link to nothing", func(p string) error { return os.Symlink("nowhere", p) },
			"not a regular file"},
		{"folder", func(p string) error { return os.Mkdir(p, 0o755) },
			"not a regular file"},
		{"pipe", func(p string) error { return syscall.Mkfifo(p, 0o644) },
			"not a regular file"},
		{"one byte too much", func(p string) error { return os.WriteFile(p, make([]byte, 1<<20+1), 0o644) },
			"larger than 1 MiB"},
		{"not UTF-8", func(p string) error { return os.WriteFile(p, []byte("caf\xe9"), 0o644) },
			"not a UTF-8 text"},
		{"null byte", func(p string) error { return os.WriteFile(p, []byte("a\x00b"), 0o644) },
			"not a UTF-8 text"},
		{"empty", func(p string) error { return os.WriteFile(p, []byte(" \n"), 0o644) },
			"empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writtenStatements(t)
			path := filepath.Join(dir, "cache-function.math.md")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := c.put(path); err != nil {
				t.Fatal(err)
			}
			loaded, err := LoadStatements(dir)
			if err == nil || loaded != nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "cache-function.math.md") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestLoadStatementsAtTheSizeBound(t *testing.T) {
	dir := writtenStatements(t)
	text := strings.Repeat("x", 1<<20)
	if err := os.WriteFile(filepath.Join(dir, "add-return.math.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadStatements(dir)
	if err != nil || loaded["add-return.math"] != text {
		t.Errorf("got %d bytes, %v", len(loaded["add-return.math"]), err)
	}
}

func TestLoadStatementsWithoutFolder(t *testing.T) {
	if _, err := LoadStatements(filepath.Join(t.TempDir(), "none")); err == nil ||
		!strings.Contains(err.Error(), "none") {
		t.Errorf("got %v", err)
	}
	_, err := LoadStatements(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "15 of 15 statements are missing") ||
		!strings.Contains(err.Error(), "add-parameter.math.md") {
		t.Errorf("got %v", err)
	}
}

func TestWriteStatementsOverwritesNothing(t *testing.T) {
	dir := writtenStatements(t)
	kept := filepath.Join(dir, "dead-code.math.md")
	if err := os.WriteFile(kept, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	own, _ := OwnStatements()
	if files, err := WriteStatements(root, own); err == nil || len(files) != 0 {
		t.Errorf("wrote %q, %v", files, err)
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "mine" {
		t.Errorf("the file now holds %q, %v", text, err)
	}
}

// A folder with base texts alone is enough for what uses them alone.
func TestLoadStatementsWithoutThoseOfOtherAxes(t *testing.T) {
	dir := writtenStatements(t)
	for _, folder := range []string{"runtime", "instructions", "comment-copy"} {
		if err := os.RemoveAll(filepath.Join(dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := LoadStatements(dir)
	if err != nil || len(loaded) != 15 {
		t.Errorf("%d statements, %v", len(loaded), err)
	}
	for axis, file := range map[tasks.Axis]string{
		tasks.Runtime: "runtime/add-return.math.md", tasks.Instructions: "instructions/add-return.math.md",
		tasks.CommentCopy: "comment-copy/add-return.math.md", tasks.Combined: "",
	} {
		_, err := LoadStatements(dir, tasks.Cell{Axis: axis, Size: 5, Refactoring: tasks.AddReturn,
			Code: tasks.Math})
		if file == "" && err != nil || file != "" && (err == nil || !strings.HasSuffix(err.Error(),
			": "+file)) {
			t.Errorf("%s: %v", axis, err)
		}
	}
}

func TestLoadStatementsWantsThePlaceholder(t *testing.T) {
	cell := tasks.Cell{Axis: tasks.Instructions, Size: 5, Refactoring: tasks.AddReturn, Code: tasks.Math}
	for text, want := range map[string]string{
		"Do it.\n":                     "0 lines are {{RULES}}, want 1",
		"Obey {{RULES}} now.\n":        "0 lines are {{RULES}}, want 1",
		"{{COMMENT}}\n":                "0 lines are {{RULES}}, want 1",
		"{{RULES}}\nDo it.\n{{RULES}}": "2 lines are {{RULES}}, want 1",
		"{{RULES}}":                    "",
		"Do it:\r\n  {{RULES}}\r\nThen stop.\r\n": "",
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "instructions"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "instructions", "add-return.math.md"), []byte(text),
			0o644); err != nil {
			t.Fatal(err)
		}
		loaded, err := LoadStatements(dir, cell)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if want != "" {
			loaded = Statements{"instructions/add-return.math": text}
		}
		if err := loaded.Check(cell); (err != nil) != (want != "") {
			t.Errorf("checking %q: %v", text, err)
		}
	}
}

func TestLoadStatementsFollowsNoFolder(t *testing.T) {
	dir := writtenStatements(t)
	if err := os.Rename(filepath.Join(dir, "runtime"), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", filepath.Join(dir, "runtime")); err != nil {
		t.Fatal(err)
	}
	cell := tasks.Cell{Axis: tasks.Runtime, Size: 5, Refactoring: tasks.AddReturn, Code: tasks.Math}
	if _, err := LoadStatements(dir, cell); err == nil || !strings.Contains(err.Error(),
		`"runtime" is not a folder`) {
		t.Errorf("got %v", err)
	}
}
