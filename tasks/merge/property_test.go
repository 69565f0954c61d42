package merge

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyConfig draws a configuration that is fine, also beyond the published ones.
func anyConfig(t *rapid.T) config {
	c := config{
		differences: rapid.IntRange(1, 4).Draw(t, "differences"),
		params:      rapid.IntRange(1, 26).Draw(t, "params"),
		minBlock:    rapid.IntRange(1, 4).Draw(t, "least block"),
		kinds:       rapid.Permutation(allPerturbations()).Draw(t, "kinds")[:rapid.IntRange(1, 4).Draw(t, "number of kinds")],
	}
	c.shared = (c.differences+1)*c.minBlock + rapid.IntRange(0, 40).Draw(t, "more lines")
	for _, name := range allTransforms() {
		if rapid.Bool().Draw(t, name) {
			c.transforms = append(c.transforms, name)
		}
	}
	return c
}

// drawn draws a configuration and what it yields; nil if the seed is rejected.
func drawn(t *rapid.T, c config) *problem {
	seed := rapid.Int64Range(-maxSeed, maxSeed).Draw(t, "seed")
	p, err := draw(c, seed)
	if r := rejection(""); errors.As(err, &r) {
		return nil
	}
	if err != nil {
		t.Fatalf("%+v, seed %d: %v", c, seed, err)
	}
	return p
}

func TestCanonicalInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t)
		p := drawn(t, c)
		if p == nil {
			return
		}
		program := p.drawn
		shared := 0
		for k, block := range program.blocks {
			shared += len(block)
			if len(block) < c.minBlock {
				t.Fatalf("block %d has %d lines", k, len(block))
			}
			if k > 0 && !slices.Contains(reads(block[0]), program.differences[k-1].versions[0].target) {
				t.Fatalf("block %d does not begin with a use of the difference", k)
			}
		}
		if shared != c.shared || len(program.differences) != c.differences {
			t.Fatalf("%d shared lines, %d differences", shared, len(program.differences))
		}
		for _, versions := range []uint{0, program.full()} {
			for i, l := range program.lines(versions) {
				checkLine(t, c, l, i)
			}
		}
		for k, d := range program.differences {
			if !slices.Contains(c.kinds, d.kind) || changes(d) != 1 {
				t.Fatalf("difference %d by %s changes %d terms", k, d.kind, changes(d))
			}
		}
	})
}

// checkLine checks the i-th line of a program that was not rewritten.
func checkLine(t *rapid.T, c config, l line, i int) {
	if l.target != c.params+i {
		t.Fatalf("line %d computes variable %d", i, l.target)
	}
	if len(l.terms) < 2 || len(l.terms) > 3 || i > 0 && !l.readsFrom(c.params) {
		t.Fatalf("line %d is %+v", i, l)
	}
	for _, term := range l.terms {
		if n := len(term.factors); n < 1 || n > 3 || term.coefficient < 1 || term.coefficient > 5 {
			t.Fatalf("line %d has %+v", i, term)
		}
		if slices.Max(term.factors) >= l.target || slices.Min(term.factors) < 0 {
			t.Fatalf("line %d reads what is not there: %+v", i, term)
		}
	}
}

// changes counts the terms that differ between the versions.
func changes(d difference) int {
	n := 0
	for i, a := range d.versions[0].terms {
		b := d.versions[1].terms[i]
		if !slices.Equal(a.factors, b.factors) || a.signed() != b.signed() {
			n++
		}
	}
	return n
}

func TestRewritingKeepsValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyConfig(t)
		p := drawn(t, c)
		if p == nil {
			return
		}
		arguments := rapid.SliceOfN(rapid.IntRange(-1_000_000, 1_000_000), c.params, c.params).Draw(t, "arguments")
		for i, class := range p.classes {
			want := p.drawn.exact(p.drawn.lines(p.drawn.full()*uint(i)), arguments)
			if got := p.drawn.exact(class.lines(), arguments); got.Cmp(want) != 0 {
				t.Fatalf("class %d computes %v, want %v", i, got, want)
			}
			checkClass(t, c, p, i)
		}
	})
}

// checkClass checks what the transformations must leave alone.
func checkClass(t *rapid.T, c config, p *problem, index int) {
	class := p.classes[index]
	if len(class.groups) != 2*c.differences+1 {
		t.Fatalf("%d blocks and differences", len(class.groups))
	}
	old := canonicalNames(c.params, p.drawn.targets())
	names := slices.Clone(class.names)
	if !c.allows(renameVariables) && !slices.Equal(names[:len(old)], old) {
		t.Fatalf("names %v", names)
	}
	for _, name := range names {
		if c.allows(renameVariables) && slices.Contains(old, name) {
			t.Fatalf("the name %s is still in use", name)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(class.names) {
		t.Fatalf("two variables with one name among %v", class.names)
	}
	if !c.allows(multiLines) && len(class.names) != len(old) {
		t.Fatalf("temporaries without %s", multiLines)
	}
	same := expressions(p, index, p.drawn.lines(p.drawn.full()*uint(index)))
	if got := expressions(p, index, class.lines()); onlyRenames(c) && !slices.Equal(got, same) {
		t.Fatalf("got %q, want %q", got, same)
	}
	for k, d := range p.drawn.differences {
		got := expressions(p, index, class.groups[2*k+1])
		if want := expressions(p, index, d.versions[index:index+1]); !slices.Equal(got, want) {
			t.Fatalf("difference %d is %q, want %q", k, got, want)
		}
	}
}

func onlyRenames(c config) bool {
	return !slices.ContainsFunc(c.transforms, func(name string) bool { return name != renameVariables })
}

func expressions(p *problem, index int, lines []line) (list []string) {
	for _, l := range lines {
		list = append(list, p.classes[index].names[l.target]+" = "+expression(l, p.classes[index].names))
	}
	return list
}

// Vectors of the strict verdict show every mixture of versions, exactly.
func TestStrictVectors(t *testing.T) {
	t.Parallel()
	for _, variant := range []string{"", "differences-3", "differences-5"} {
		for _, p := range fifty(t, 50, variant)[:5] {
			if len(p.vectors) != strictVectors || !slices.Equal(p.vectors[0], counting(10)) {
				t.Fatalf("%d vectors, first %v", len(p.vectors), p.vectors[0])
			}
			full := p.drawn.full()
			for versions := range full + 1 {
				lines := p.drawn.lines(versions)
				if versions != 0 && !p.drawn.anyDiffers([2][]line{lines, p.drawn.lines(0)}, p.vectors) ||
					versions != full && !p.drawn.anyDiffers([2][]line{lines, p.drawn.lines(full)}, p.vectors) {
					t.Errorf("%s, seed %d: versions %b are not told apart", variant, p.seed, versions)
				}
			}
		}
	}
}
