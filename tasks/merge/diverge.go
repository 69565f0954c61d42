package merge

import (
	"slices"

	"cabra-run/tasks/mt"
)

// maxPerturbations is how often a second version of a line is tried.
const maxPerturbations = 64

// difference draws the next line in two versions, which have different values
// for the arguments 1, 2, 3, … and both read something computed.
func (d *drawing) difference() (difference, error) {
	first := d.line(-1)
	value := first.exact(d.values)
	for range maxPerturbations {
		second := first.clone()
		at := d.stream.Below(len(second.terms))
		kind := mt.Choice(d.stream, d.config.kinds)
		d.perturb(&second.terms[at], kind)
		if second.readsFrom(d.config.params) && second.exact(d.values).Cmp(value) != 0 {
			return difference{versions: [2]line{first, second}, kind: kind}, nil
		}
	}
	return difference{}, rejection("no change of a line has an effect")
}

func (d *drawing) perturb(t *term, kind string) {
	switch kind {
	case swapFactor:
		at := d.stream.Below(len(t.factors))
		other := d.stream.Below(len(d.values) - 1) // among all variables but the present one
		if other >= t.factors[at] {
			other++
		}
		t.factors[at] = other
	case flipSign:
		t.negative = !t.negative
	case changeCoeff:
		// The present one counts without its sign. A negative number turns the
		// sign of the term around, so that one of the nine does nothing else.
		others := slices.DeleteFunc(signedCoefficients(), func(x int) bool { return x == t.coefficient })
		x := mt.Choice(d.stream, others)
		t.negative = t.negative != (x < 0)
		t.coefficient = max(x, -x)
	case addFactor:
		t.factors = append(t.factors, d.stream.Below(len(d.values)))
	}
}
