package score

import (
	"bytes"
	"math"
	"math/big"
	"strings"
)

// Floats agree within a relative difference. The absolute one only covers
// rounding noise around zero: a product that is tiny by itself must still be
// right.
const (
	relTolerance = 1e-6
	absTolerance = 1e-12
)

// comparison compares outcomes of one function. Types must agree exactly,
// but for places where the reference itself returns now an int and now a
// float: there a number is a number.
type comparison struct {
	mixed map[string]bool // paths of such places
}

// newComparison looks at all outcomes that the reference gave.
func newComparison(expected []string) comparison {
	seen := map[string]byte{}
	c := comparison{mixed: map[string]bool{}}
	for _, outcome := range expected {
		text, ok := strings.CutPrefix(outcome, "=")
		if !ok {
			continue
		}
		if v, err := parseValue(text); err == nil {
			c.learn(v, "", seen)
		}
	}
	return c
}

func (c comparison) learn(v value, path string, seen map[string]byte) {
	if v.Kind == 'i' || v.Kind == 'f' {
		if kind, ok := seen[path]; ok && kind != v.Kind {
			c.mixed[path] = true
		}
		seen[path] = v.Kind
	}
	for i, item := range v.Items {
		c.learn(item, childPath(path, i), seen)
	}
}

func childPath(path string, i int) string { return path + string(rune('0'+i)) + "." }

// outcomes reports whether the candidate's outcome is the expected one.
// Exceptions are never equal to anything.
func (c comparison) outcomes(expected, actual string) bool {
	e, ok := strings.CutPrefix(expected, "=")
	a, okA := strings.CutPrefix(actual, "=")
	if !ok || !okA {
		return false
	}
	ev, err := parseValue(e)
	av, errA := parseValue(a)
	return err == nil && errA == nil && c.values(ev, av, "")
}

func (c comparison) values(e, a value, path string) bool {
	if e.Kind != a.Kind {
		return c.mixed[path] && e.number() && a.number() && closeFloats(e.asFloat(), a.asFloat())
	}
	switch e.Kind {
	case 'b':
		return e.Bool == a.Bool
	case 'i':
		return e.Int.Cmp(a.Int) == 0
	case 'f':
		return closeFloats(e.Float, a.Float)
	case 's':
		return e.Text == a.Text
	case 't', 'l':
		return c.items(e.Items, a.Items, path)
	case 'd':
		return c.dicts(e.Items, a.Items, path)
	case 'a':
		return equalArrays(e.Array, a.Array)
	}
	return true // None
}

func (c comparison) items(e, a []value, path string) bool {
	if len(e) != len(a) {
		return false
	}
	for i := range e {
		if !c.values(e[i], a[i], childPath(path, i)) {
			return false
		}
	}
	return true
}

// dicts compares without regard to order.
func (c comparison) dicts(e, a []value, path string) bool {
	if len(e) != len(a) {
		return false
	}
	byKey := make(map[string]value, len(a)/2)
	for i := 0; i < len(a); i += 2 {
		byKey[a[i].Text] = a[i+1]
	}
	for i := 0; i < len(e); i += 2 {
		v, ok := byKey[e[i].Text]
		if !ok || !c.values(e[i+1], v, childPath(path, i+1)) {
			return false
		}
	}
	return len(byKey) == len(e)/2
}

func (v value) number() bool { return v.Kind == 'i' || v.Kind == 'f' }

func (v value) asFloat() float64 {
	if v.Kind == 'i' {
		f, _ := new(big.Float).SetInt(v.Int).Float64()
		return f
	}
	return v.Float
}

// closeFloats: NaN equals NaN, an infinity only itself, −0.0 equals 0.0.
func closeFloats(e, a float64) bool {
	if e == a || math.IsNaN(e) && math.IsNaN(a) {
		return true
	}
	if !finiteFloat(e) || !finiteFloat(a) {
		return false
	}
	return math.Abs(a-e) <= math.Max(relTolerance*math.Abs(e), absTolerance)
}

// equalArrays asks for the same dtype and shape.
func equalArrays(e, a array) bool {
	if e.DType != a.DType || len(e.Shape) != len(a.Shape) {
		return false
	}
	for i := range e.Shape {
		if e.Shape[i] != a.Shape[i] {
			return false
		}
	}
	ef, ok := e.floats()
	if !ok {
		return bytes.Equal(e.Data, a.Data)
	}
	af, _ := a.floats()
	for i := range ef {
		if !closeFloats(ef[i], af[i]) {
			return false
		}
	}
	return true
}
