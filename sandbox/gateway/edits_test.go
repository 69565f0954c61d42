package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSegments(t *testing.T) {
	text := readTestdata(t, "starter.py")
	segs := segments(text)
	if join(segs) != text {
		t.Fatal("the pieces do not make up the file")
	}
	names := []string{}
	for _, s := range segs {
		names = append(names, s.name)
	}
	if len(names) != 33 || names[0] != "" || names[1] != "f1" || names[31] != "main" || names[32] != "" {
		t.Errorf("%d pieces: %q", len(names), names)
	}
}

// program draws a starter and a reference in the manner of the benchmark.
func program(t *rapid.T) (starter, reference string) {
	n := rapid.IntRange(1, 30).Draw(t, "functions")
	from, to := []string{"import math\nimport sys"}, []string{"import math\nimport sys"}
	for i := range n {
		f := fmt.Sprintf("def f%d(val: float) -> float:\n    return math.sin(val)", i)
		from = append(from, f)
		switch rapid.IntRange(0, 3).Draw(t, "fate") {
		case 0: // goes
		case 1: // changes
			f = strings.Replace(f, "val: float)", "val: float, mult: float=1.0)", 1)
			to = append(to, strings.Replace(f, "return ", "return mult * ", 1))
		default:
			to = append(to, f)
		}
	}
	tail := []string{"def main(val: float):\n    return f0(val)", "if __name__ == '__main__':\n    main(1.0)"}
	return strings.Join(append(from, tail...), "\n\n"), strings.Join(append(to, tail...), "\n\n")
}

func TestEditsLeadThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		starter, reference := program(t)
		most := rapid.IntRange(1, 8).Draw(t, "most")
		es := edits(starter, reference, most)
		if starter == reference {
			if es != nil {
				t.Fatalf("edits without a difference: %v", es)
			}
			return
		}
		if len(es) == 0 || len(es) > most {
			t.Fatalf("%d edits, at most %d wanted", len(es), most)
		}
		text := starter
		for _, e := range es {
			if strings.Count(text, e.old) != 1 {
				t.Fatalf("%q stands %d times", e.old, strings.Count(text, e.old))
			}
			text = strings.Replace(text, e.old, e.new, 1)
		}
		if text != reference {
			t.Fatalf("got\n%s\nwant\n%s", text, reference)
		}
	})
}

func TestNoEdits(t *testing.T) {
	for name, c := range map[string][2]string{
		"other order":    {"def a():\n    pass\n\ndef b():\n    pass", "def b():\n    pass\n\ndef a():\n    pass"},
		"added function": {"def a():\n    pass", "def a():\n    pass\n\ndef b():\n    pass"},
		"from nothing":   {"", "x = 1\n"},
		"ambiguous":      {"def a():\n    x\n\ndef a():\n    x\n\n", "def a():\n    x\n\n"},
	} {
		if es := edits(c[0], c[1], 6); es != nil {
			t.Errorf("%s: %q", name, es)
		}
	}
}

func TestWrongTextIsWrong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Script
		s.Starter, s.Reference = program(t)
		s.Place = rapid.IntRange(0, 10000).Draw(t, "place")
		text := s.wrongText()
		if text == s.Reference || text != s.wrongText() {
			t.Fatalf("the wrong text is right or not the same every time:\n%s", text)
		}
		// Every piece of it comes from one of the two files, all but one from
		// the reference, and that one matters.
		from, to := segments(s.Starter), segments(s.Reference)
		var strange []segment
		for _, g := range segments(text) {
			if !slices.Contains(to, g) {
				strange = append(strange, g)
			}
		}
		if s.Starter == s.Reference || strings.HasSuffix(text, "nothing else to change\n") {
			if !strings.HasPrefix(text, s.Starter+"\n#") {
				t.Fatalf("got\n%s", text)
			}
			return
		}
		if len(strange) != 1 || !slices.Contains(from, strange[0]) {
			t.Fatalf("%d pieces are not the reference's in\n%s", len(strange), text)
		}
	})
}

// What must not be chosen: a root whose first line stays, or a sink whose body
// stays. Leaving those as they were might go unnoticed.
func TestForgettable(t *testing.T) {
	for _, c := range []struct {
		name string
		h    edit
		want bool
	}{
		{"f", edit{"def f(val):\n    return g(val)\n\n", ""}, true},
		{"f", edit{"def f(val):\n    return g(val)\n\n", "def f(val, m=1):\n    return g(val, m)\n\n"}, true},
		{"f", edit{"def f(val):\n    return g(val)\n\n", "def f(val):\n    return g(val, m)\n\n"}, false},
		{"f", edit{"def f(val):\n    return g(val)\n\n", "def f(val) -> tuple:\n    return g(val)\n\n"}, false},
		{"main", edit{"def main(val):\n    return (g(val))\n\n", "def main(v):\n    return g(v)\n\n"}, false},
		{"f", edit{"def f(val):\n    return 1\n\n", "def f(val):\n    return 1\n\n"}, false},
	} {
		if got := forgettable(c.name, c.h); got != c.want {
			t.Errorf("%s %q: %v", c.name, c.h, got)
		}
	}
}
