package score

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/tasks"
)

// hostileLimits make endless loops cheap.
var hostileLimits = Limits{CPU: time.Second, Wall: 4 * time.Second, Total: 60 * time.Second, Failures: 1}

// attack is a candidate for the tiny task with the verdict it must get:
// "solved", or "failed CHECK: TEXT" where the check fails with such a text.
type attack struct {
	name, source, expect string
	official             bool   // solved under the official verdict
	task                 string // "" for the tiny one
}

// attackTasks are the tasks that candidates in testdata are for.
func attackTasks() map[string]*tasks.Task {
	return map[string]*tasks.Task{
		"": tinyTask(), "merge": mergeTask(), "guarded": guardedTask(), "ruled": ruledTask(),
		"add-parameter": tinyTask(), "add-return": returnTask(), "cache-function": cacheTask(), "dead-code": deadTask(),
		"dont-repeat": repeatTask(), "runtime": guardedTask(), "runtime-dead-code": guardedDeadTask(),
		"instructions": ruledTask(), "instructions-add-return": ruledReturnTask(), "comment-copy": copiedTask(),
		"rename": renameTask(),
	}
}

// head takes the line that begins with the given word from the front of a
// candidate and returns what it says.
func (a *attack) head(word, otherwise string) string {
	line, rest, _ := strings.Cut(a.source, "\n")
	said, ok := strings.CutPrefix(line, "# "+word+": ")
	if !ok {
		return otherwise
	}
	a.source = rest
	return said
}

// fileAttacks reads the candidates in a folder of testdata; lines in front of
// each say what to expect.
func fileAttacks(t *testing.T, folder string) []attack {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.py"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no candidates in %s: %v", folder, err)
	}
	var out []attack
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		a := attack{name: strings.TrimSuffix(filepath.Base(path), ".py"), source: string(text)}
		a.expect, a.task = a.head("expect", ""), a.head("task", "")
		a.official = a.head("official", "failed") == "solved"
		out = append(out, a)
	}
	return out
}

// textAttacks are candidates whose text itself is the trouble.
func textAttacks() []attack {
	right := tinyTask().Reference["solution.py"]
	inG := func(body string) string {
		return strings.Replace(right, "    return mult * abs(val)", "    "+body, 1)
	}
	const anySyntax = "failed compiles: does not compile"
	rows := []struct{ name, source, expect string }{
		{"byte order mark", "\ufeff" + right, "solved"},
		{"carriage returns", strings.ReplaceAll(right, "\n", "\r\n"), "solved"},
		{"old mac line ends", strings.ReplaceAll(right, "\n", "\r"), "solved"},
		{"form feeds", strings.ReplaceAll(right, "\n\n", "\n\f\n"), "solved"},
		{"latin-1 with a cookie", "# coding: latin-1\n# caf\xe9\n" + right, "solved"},
		{"latin-1 without a cookie", "# caf\xe9\n" + right, anySyntax},
		{"unknown encoding", "# coding: no-such-thing\n" + right, anySyntax},
		{"null byte", right + "\x00", anySyntax},
		{"null byte in a comment", "# \x00\n" + right, anySyntax},
		{"utf-16", "\xff\xfe" + string(utf16(right)), anySyntax},
		{"tabs and spaces mixed", inG("if val:\n\t\tpass\n    return mult * abs(val)"), anySyntax},
		{"empty", "", "failed functions: function f is missing"},
		{"ten megabytes of code", right + strings.Repeat("# 4567890\n", 1<<20), "failed compiles: larger than"},
		{"a million statements", right + strings.Repeat("\n1", 1<<18), "failed compiles: does not compile: more than"},
		{"ten thousand parentheses", inG("return " + strings.Repeat("(", 10000) + "val" + strings.Repeat(")", 10000)), anySyntax},
		{"hundred thousand minus signs", inG("return " + strings.Repeat("-", 100000) + "val"), anySyntax},
		{"long chain of additions", inG("return val" + strings.Repeat("+val", 100000)), "failed compiles"},
		{"long chain of attributes", inG("return val" + strings.Repeat(".a", 100000)), "failed compiles"},
		{"deeply indented", inG(nestedIfs(99)), anySyntax},
		{"deep lists", inG("return " + strings.Repeat("[", 150) + strings.Repeat("]", 150)), "failed behaviour: nested more than"},
		{"long digits", inG("return " + strings.Repeat("1", 100000)), anySyntax},
		{"not closed", right + "\nx = (", anySyntax},
		{"return outside of a function", right + "\nreturn 1", anySyntax},
		{"two equal parameters", right + "\ndef f(a, a): pass", anySyntax},
	}
	var out []attack
	for _, row := range rows {
		out = append(out, attack{name: row.name, source: row.source, expect: row.expect, official: row.expect == "solved"})
	}
	return out
}

func utf16(text string) []byte {
	var out bytes.Buffer
	for _, b := range []byte(text) {
		out.Write([]byte{b, 0})
	}
	return out.Bytes()
}

func nestedIfs(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString("if val:\n" + strings.Repeat("    ", i+2))
	}
	return b.String() + "return 1"
}

// TestHostile gives each hostile candidate its verdicts, twice on the same
// workers, and after each of them the reference is still solved.
func TestHostile(t *testing.T) {
	s := scorerWith(t, Options{Workers: 2, Limits: hostileLimits})
	attacks := append(fileAttacks(t, "hostile"), fileAttacks(t, "right")...)
	attacks = append(attacks, textAttacks()...)
	for _, round := range []string{"first", "second"} {
		t.Run(round, func(t *testing.T) {
			for _, a := range attacks {
				t.Run(a.name, func(t *testing.T) {
					t.Parallel() // they queue up for the workers, in any order
					a.check(t, s)
				})
			}
		})
	}
}

func (a attack) check(t *testing.T, s *Scorer) {
	t.Helper()
	a.verdicts(t, s)
	// With another comment the reference is a new text, so that it is parsed again.
	task := attackTasks()[a.task]
	again := solution(task.Reference["solution.py"] + "\n# " + a.name)
	next, err := s.ScoreAll(context.Background(), task, again)
	if err != nil || !next[0].Solved || !next[1].Solved {
		t.Errorf("the next candidate: %+v, %v", next, err)
	}
}

func (a attack) verdicts(t *testing.T, s *Scorer) {
	t.Helper()
	task := attackTasks()[a.task]
	v, err := s.ScoreAll(context.Background(), task, solution(a.source))
	if err != nil {
		t.Fatal(err)
	}
	if !fulfils(v[0], a.expect) {
		t.Errorf("want %s, got solved %v, checks %+v", a.expect, v[0].Solved, v[0].Checks)
	}
	if v[1].Solved != a.official {
		t.Errorf("official: want solved %v, got checks %+v", a.official, v[1].Checks)
	}
}

// fulfils reports whether v is what expect says.
func fulfils(v Verdict, expect string) bool {
	if expect == "solved" {
		return v.Solved && v.Reason == ""
	}
	name, text, _ := strings.Cut(strings.TrimPrefix(expect, "failed "), ": ")
	return !v.Solved && v.Reason != "" && failsWith(v.Checks, name, text)
}

func failsWith(checks []results.Check, name, text string) bool {
	for _, c := range checks {
		if c.Name == name && !c.Pass && strings.Contains(c.Detail, text) {
			return true
		}
	}
	return false
}
