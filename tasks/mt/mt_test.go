package mt

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
)

// recorded is what testdata/streams.py wrote for one seed.
type recorded struct {
	Kind, Seed string
	Random     []float64
	Bits       []uint32
	Bits128    string
	Below      []int
	Between    []int
	Choice     []string
	Uniform    []float64
	Shuffled   []int
	Samples    []struct {
		N, K  int
		Drawn []int
	}
	Last float64
}

func readRecorded(t *testing.T) []recorded {
	t.Helper()
	text, err := os.ReadFile("testdata/streams.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []recorded
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 20 {
		t.Fatalf("%d recorded streams, want 20", len(list))
	}
	return list
}

func (r recorded) stream(t *testing.T) *Stream {
	t.Helper()
	switch r.Kind {
	case "text":
		return NewTextStream(r.Seed)
	case "integer":
		seed, err := strconv.ParseInt(r.Seed, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return NewStream(seed)
	}
	seed, err := strconv.ParseFloat(r.Seed, 64)
	if err != nil {
		t.Fatal(err)
	}
	return NewRealStream(seed)
}

func TestStreamYieldsWhatCPythonYields(t *testing.T) {
	for _, want := range readRecorded(t) {
		t.Run(want.Kind+" "+want.Seed[:min(20, len(want.Seed))], func(t *testing.T) {
			s := want.stream(t)
			same(t, "random", repeat(3, s.Random), want.Random)
			same(t, "bits", counted(32, func(i int) uint32 { return s.Bits(i + 1) }), want.Bits)
			w := s.Bits128()
			same(t, "bits128", []string{fmt.Sprintf("%08x%08x%08x%08x", w[0], w[1], w[2], w[3])},
				[]string{want.Bits128})
			same(t, "below", counted(69, func(i int) int { return s.Below(i + 1) }), want.Below)
			same(t, "between", repeat(10, func() int { return s.Between(-1, 6) }), want.Between)
			letters := []string{"a", "b", "c", "d", "e", "f", "g"}
			same(t, "choice", repeat(10, func() string { return Choice(s, letters) }), want.Choice)
			same(t, "uniform", []float64{s.Uniform(0.45, 0.55), s.Uniform(0.9, 0.9), s.Uniform(-3, 7)},
				want.Uniform)
			shuffled := upTo(30)
			Shuffle(s, shuffled)
			same(t, "shuffled", shuffled, want.Shuffled)
			for _, sample := range want.Samples {
				name := fmt.Sprintf("%d of %d", sample.K, sample.N)
				same(t, name, Choose(s, upTo(sample.N), sample.K), sample.Drawn)
			}
			repeat(700, func() uint32 { return s.Bits(32) })
			same(t, "last", []float64{s.Random()}, []float64{want.Last})
		})
	}
}

// The values that every Python prints for this seed.
func TestStreamOfSeed42(t *testing.T) {
	s := NewStream(42)
	same(t, "random", repeat(3, s.Random), []float64{0.6394267984578837, 0.025010755222666936, 0.27502931836911926})
}

func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func repeat[T any](n int, draw func() T) []T {
	return counted(n, func(int) T { return draw() })
}

func counted[T any](n int, draw func(i int) T) []T {
	drawn := make([]T, n)
	for i := range drawn {
		drawn[i] = draw(i)
	}
	return drawn
}

func upTo(n int) []int { return counted(n, func(i int) int { return i }) }

// Further values that a CPython printed: randrange of numbers wider than one
// output, and the text seeds of a published generator.
func TestStreamOfOtherSeeds(t *testing.T) {
	s := NewStream(7)
	same(t, "below 10^12", repeat(4, func() int { return s.Below(1e12) }),
		[]int{434439589175, 54335349840, 902254243635, 105380810795})
	s = NewTextStream("42-class0")
	same(t, "bits", repeat(3, func() uint32 { return s.Bits(32) }), []uint32{2966440438, 3508515522, 4049004411})
	s = NewTextStream("42-verify")
	same(t, "between", repeat(10, func() int { return s.Between(-5, 5) }), []int{2, -3, -3, -5, 5, -2, -1, 3, -5, -4})
	s = NewStream(42)
	same(t, "first output", []uint32{s.Bits(32)}, []uint32{2746317213})
	shuffled := upTo(10)
	Shuffle(NewStream(42), shuffled)
	same(t, "shuffled", shuffled, []int{7, 3, 2, 8, 5, 6, 9, 4, 0, 1})
}
