package score

import (
	"encoding/binary"
	"math"
	"slices"
)

// The tolerances of the published scorer, relative and absolute.
const (
	officialRel = 1e-6
	officialAbs = 1e-9
)

// officialEqual compares as the published scorer does; ok is false where the
// comparison itself fails.
func officialEqual(e, a value) (equal, ok bool) {
	switch {
	case e.Kind == 'a' || a.Kind == 'a':
		return officialArrays(e, a)
	case e.sequence() && a.sequence():
		if e.Kind != a.Kind || len(e.Items) != len(a.Items) {
			return false, true
		}
		for i := range e.Items {
			if equal, ok := officialEqual(e.Items[i], a.Items[i]); !equal || !ok {
				return false, ok
			}
		}
		return true, true
	}
	return officialScalars(e, a), true
}

func (v value) sequence() bool { return v.Kind == 't' || v.Kind == 'l' }

// officialScalars mixes numbers of all kinds; a bool is only expected as one.
func officialScalars(e, a value) bool {
	switch e.Kind {
	case 'b':
		return a.Kind == 'b' && e.Bool == a.Bool
	case 'i', 'f':
		if e.Kind == 'i' && a.Kind == 'i' {
			if e.Int.Cmp(a.Int) == 0 {
				return true
			}
		}
		x, ok := a.anyNumber()
		return ok && officialClose(e.asFloat(), x)
	case 's':
		return a.Kind == 's' && e.Text == a.Text
	case 'd':
		return a.Kind == 'd' && officialDicts(e.Items, a.Items)
	}
	return a.Kind == e.Kind // None
}

// anyNumber returns a number, also that of a bool.
func (v value) anyNumber() (float64, bool) {
	if v.Kind == 'b' {
		if v.Bool {
			return 1, true
		}
		return 0, true
	}
	return v.asFloat(), v.number()
}

func officialDicts(e, a []value) bool {
	if len(e) != len(a) {
		return false
	}
	for i := 0; i < len(e); i += 2 {
		found := false
		for j := 0; j < len(a); j += 2 {
			if a[j].Text == e[i].Text {
				found = officialScalars(e[i+1], a[j+1])
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func officialClose(e, a float64) bool {
	switch {
	case e == a || math.IsNaN(e) && math.IsNaN(a):
		return true
	case math.IsInf(e, 0) || math.IsInf(a, 0) || math.IsNaN(e) || math.IsNaN(a):
		return false
	}
	return math.Abs(a-e) <= math.Max(officialRel*math.Abs(e), officialAbs)
}

// officialArrays makes arrays of both sides. Lists are as good as arrays, and
// types do not matter.
func officialArrays(e, a value) (equal, ok bool) {
	x, y := grid{}, grid{}
	if !x.add(e, 0) || !y.add(a, 0) {
		return false, true
	}
	if x.text || y.text {
		return false, false
	}
	if !slices.Equal(x.shape, y.shape) {
		return false, true
	}
	for i, want := range x.flat {
		got := y.flat[i]
		near := math.Abs(got-want) <= officialAbs+float64(officialRel*math.Abs(want))
		same := got == want || math.IsNaN(want) && math.IsNaN(got)
		infinite := math.IsInf(want, 0) || math.IsInf(got, 0)
		if !same && (!near || infinite) {
			return false, true
		}
	}
	return true, true
}

// grid is an array of floats of any shape.
type grid struct {
	shape []int
	flat  []float64
	text  bool // it is one of texts or objects
}

// add reads a value at a depth; false means that it is no array at all, such
// as a list of lists of different lengths.
func (g *grid) add(v value, depth int) bool {
	switch {
	case v.Kind == 'a':
		for i, n := range v.Array.Shape {
			if !g.size(depth+i, n) {
				return false
			}
		}
		flat, ok := v.Array.numbers()
		g.flat = append(g.flat, flat...)
		return ok && len(g.shape) == depth+len(v.Array.Shape)
	case v.sequence():
		if !g.size(depth, len(v.Items)) {
			return false
		}
		for _, item := range v.Items {
			if !g.add(item, depth+1) {
				return false
			}
		}
		return true
	}
	x, ok := v.anyNumber()
	g.text = g.text || !ok
	g.flat = append(g.flat, x)
	return len(g.shape) == depth
}

// size notes the length of a dimension, which must be the same everywhere.
func (g *grid) size(depth, n int) bool {
	if depth == len(g.shape) && len(g.flat) == 0 {
		g.shape = append(g.shape, n)
		return true
	}
	return depth < len(g.shape) && g.shape[depth] == n
}

// numbers returns the elements of an array of any type as floats.
func (a array) numbers() ([]float64, bool) {
	if out, ok := a.floats(); ok {
		return out, true
	}
	size := a.itemSize()
	if size == 0 || a.DType[0] == '>' {
		return nil, false
	}
	var out []float64
	for item := range slices.Chunk(a.Data, size) {
		var padded [8]byte
		copy(padded[:], item)
		bits := binary.LittleEndian.Uint64(padded[:])
		switch a.DType[1] {
		case 'b', 'u':
			out = append(out, float64(bits))
		case 'i':
			shift := 64 - 8*size
			out = append(out, float64(int64(bits<<shift)>>shift))
		default:
			if size != 4 {
				return nil, false
			}
			out = append(out, float64(math.Float32frombits(uint32(bits))))
		}
	}
	return out, true
}
