package callgraph

import (
	"slices"
	"strings"
	"testing"
)

const paperSeed = 42

// draw returns the first count samples of a pair of sizes.
func draw(t testing.TB, seed int64, init, edit, count int) []*Sample {
	t.Helper()
	sampler, err := NewSampler(seed, init, edit)
	if err != nil {
		t.Fatal(err)
	}
	samples := make([]*Sample, count)
	for i := range samples {
		if samples[i], err = sampler.Next(); err != nil {
			t.Fatalf("seed %d, sizes %d, %d, sample %d: %v", seed, init, edit, i+1, err)
		}
	}
	return samples
}

func TestFirstSampleIDs(t *testing.T) {
	for _, c := range []struct {
		init, edit int
		id         string
	}{
		{25, 5, "1b66b5a9-e3c4-3657-1d8c-bbac43b409ef"},
		{25, 10, "d450281c-6c6f-7633-a260-772317a0df49"},
		{25, 25, "74daaebf-1f11-5b76-d92c-9227eadf5085"},
		{25, 50, "6a8a616f-c3b2-90d0-8edd-dfcd1e52d770"},
		{25, 100, "4f199ec0-c32d-4526-b3e4-110a45f50c52"},
		{25, 200, "bc36dc59-e134-edfc-9777-7f10f2d2393f"},
		{5, 25, "43b409ef-2260-e70f-e0cc-edc5f05db76e"},
		{10, 25, "afffcfd2-341e-f40b-57c7-00aab7b56ea7"},
		{50, 25, "fb02bebb-4872-9a4d-98c7-472a864e9a13"},
		{100, 25, "adb14670-ad9f-b00d-4882-d73c1c6345ab"},
		{200, 25, "5ab28d4a-8bd8-8fcd-57a2-be4e887b03e5"},
		{10, 10, "1825bc54-30be-b45f-6835-14f2ceb81f9d"},
		{5, 5, "5715bd6f-a416-1293-c4c2-e2e3444ea7c8"},
	} {
		if id := draw(t, paperSeed, c.init, c.edit, 1)[0].ID; id != c.id {
			t.Errorf("sizes %d, %d: first sample %s, want %s", c.init, c.edit, id, c.id)
		}
	}
}

// edgesOf writes a node's callees as "u→v,w".
func edgesOf(g *Graph, name string) string {
	u := slices.Index(g.Names(), name)
	if u < 0 {
		return "no node " + name
	}
	callees := make([]string, 0, len(g.Out(u)))
	for _, v := range g.Out(u) {
		callees = append(callees, g.Name(v))
	}
	return name + "→" + strings.Join(callees, ",")
}

func namesOf(g *Graph, nodes []int) []string {
	list := make([]string, len(nodes))
	for i, v := range nodes {
		list[i] = g.Name(v)
	}
	return list
}

// The example that the paper prints.
func TestPaperSample(t *testing.T) {
	sample := draw(t, paperSeed, 5, 5, 11)[10]
	if want := "0a8076ec-e558-2e16-bd29-ede9cab4923b"; sample.ID != want {
		t.Fatalf("id %s, want %s", sample.ID, want)
	}
	g := sample.Parameter.Combined
	for _, want := range []string{"d→g,r", "g→l,i", "r→n,i,s", "s→q", "q→b,f,a,j",
		"l→", "i→", "n→", "b→", "f→", "a→", "j→"} {
		node, _, _ := strings.Cut(want, "→")
		if got := edgesOf(g, node); got != want {
			t.Errorf("edges %s, want %s", got, want)
		}
	}
	same(t, "entry points", namesOf(g, g.Roots()), []string{"d"})
	same(t, "wrapper", []string{sample.Parameter.Wrapper()}, []string{"s"})
	if attach := sample.Parameter.Attach; len(attach) != 1 || g.Name(attach[0][0])+g.Name(attach[0][1]) != "rs" {
		t.Errorf("attach edges %v, want r→s alone", attach)
	}
}

func TestFirstSampleOfTen(t *testing.T) {
	s := draw(t, paperSeed, 10, 10, 1)[0]
	same(t, "init nodes", s.Init.Names(), strings.Split("l,d,aa,c,a,o,ac,b,m,z,h", ","))
	for _, want := range []string{"h→l,d,aa", "l→c", "d→c", "c→a,o,ac,b,m,z", "aa→", "a→", "z→"} {
		node, _, _ := strings.Cut(want, "→")
		if got := edgesOf(s.Init, node); got != want {
			t.Errorf("init edges %s, want %s", got, want)
		}
	}
	same(t, "wrappers of return, parameter, dead, cache, repeat",
		[]string{s.Return.Wrapper(), s.Parameter.Wrapper(), s.Dead.Wrapper(), s.Cache.Wrapper(), s.Repeat.Wrapper()},
		[]string{"i", "ah", "ah", "ai", "f"})
	var attach []string
	for _, e := range s.Parameter.Attach {
		attach = append(attach, s.Parameter.Combined.Name(e[0])+"→"+s.Parameter.Combined.Name(e[1]))
	}
	slices.Sort(attach)
	same(t, "attach pairs of the parameter form", attach, []string{"a→n", "c→ah", "c→ah", "m→k"})
}

func TestSamplerRefusesSizes(t *testing.T) {
	for _, sizes := range [][2]int{{0, 5}, {5, 0}, {-1, 5}, {5, 100_000}} {
		if _, err := NewSampler(1, sizes[0], sizes[1]); err == nil {
			t.Errorf("sizes %v: no error", sizes)
		}
	}
}

// A forest of one function has no second root to be shared.
func TestSamplerGivesUp(t *testing.T) {
	sampler, err := NewSampler(1, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sampler.Next(); err == nil {
		t.Fatal("a sample with one edit function was drawn")
	}
}

func same[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
