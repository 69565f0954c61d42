package callgraph

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

// The published means over 20 samples, to the digit that is given: init edges,
// init levels, edit levels, attach pairs of dead code, then edges, attach pairs
// and entry points of the parameter and return forms, then leaves, attach pairs
// and entry points of the cache and repeat forms.
const publishedMeans = `
25,5    30.1 5.8   2.0   2.4   5.6 7.5 1.2      6.0 7.8 3.7     3.6 7.8 1.1    3.6 7.8 2.4
25,10   29.6 6.4   3.1   3.8   12.1 7.7 1.2     13.6 7.7 4.3    6.4 7.8 1.1    6.4 7.9 4.6
25,25   29.6 6.1   4.9   8.0   31.1 7.9 1.4     37.6 7.9 5.2    13.3 7.8 1.3   13.3 8.1 11.8
25,50   30.9 6.2   7.1   16.0  61.3 7.8 1.3     72.7 7.8 8.0    24.0 8.0 1.1   24.0 7.6 21.3
25,100  30.0 6.1   10.3  31.4  124.4 7.7 1.2    149.9 7.7 10.9  44.9 7.8 1.2   44.9 7.7 42.5
25,200  30.1 5.8   14.1  61.8  250.6 7.8 1.4    300.0 8.0 17.7  86.4 7.7 1.1   86.4 7.9 84.1
5,25    5.4 3.0    5.2   7.7   30.3 1.8 1.4     36.3 2.0 5.0    13.3 1.8 1.2   13.3 1.7 13.4
10,25   11.6 4.1   5.1   8.6   29.7 3.3 1.3     36.0 3.4 5.5    14.1 3.3 1.3   14.1 3.1 13.8
50,25   61.9 8.3   5.0   7.4   30.7 15.2 1.1    37.1 15.3 5.2   13.8 15.4 1.2  13.8 15.2 9.7
100,25  125.0 10.4 5.0   8.4   29.3 30.3 1.3    35.6 30.6 6.5   13.6 30.2 1.0  13.6 30.4 6.9
200,25  250.2 15.5 5.1   7.2   29.9 60.3 1.1    36.2 60.3 5.8   13.7 60.2 1.1  13.7 60.1 4.1
10,10   11.3 4.2   3.2   3.1   11.3 3.3 1.3     13.7 3.3 3.5    6.3 3.3 1.1    6.3 3.4 5.8`

// figures returns the columns of publishedMeans for one sample.
func figures(s *Sample) []int {
	of := func(f Form, first int) []int {
		return []int{first, len(f.Attach), len(f.Combined.Roots())}
	}
	list := []int{s.Init.EdgeCount(), s.InitLevels, s.EditLevels, len(s.Dead.Attach)}
	list = append(list, of(s.Parameter, s.Parameter.Edit.EdgeCount())...)
	list = append(list, of(s.Return, s.Return.Edit.EdgeCount())...)
	list = append(list, of(s.Cache, len(s.Cache.Edit.Sinks()))...)
	return append(list, of(s.Repeat, len(s.Repeat.Edit.Roots()))...)
}

func TestMeansAreThePublishedOnes(t *testing.T) {
	for line := range strings.Lines(strings.TrimSpace(publishedMeans)) {
		fields := strings.Fields(line)
		var init, edit int
		if _, err := fmt.Sscanf(fields[0], "%d,%d", &init, &edit); err != nil {
			t.Fatal(err)
		}
		sums := make([]int, len(fields)-1)
		samples := draw(t, paperSeed, init, edit, 20)
		for _, sample := range samples {
			for i, figure := range figures(sample) {
				sums[i] += figure
			}
		}
		for i, field := range fields[1:] {
			want, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			const rounding = 0.05 + 1e-9
			if got := float64(sums[i]) / 20; math.Abs(got-want) > rounding {
				t.Errorf("sizes %s, column %d: mean %.2f, published %s", fields[0], i+1, got, field)
			}
		}
	}
}

// callPaths is the number of function executions of one run of all entry
// points, if nothing is remembered.
func callPaths(g *Graph) int {
	paths := make([]int, g.Len())
	var count func(v int) int
	count = func(v int) int {
		if paths[v] == 0 {
			paths[v] = 1
			for _, callee := range g.Out(v) {
				paths[v] += count(callee)
			}
		}
		return paths[v]
	}
	total := 0
	for _, root := range g.Roots() {
		total += count(root)
	}
	return total
}

func TestExtremesAreThePublishedOnes(t *testing.T) {
	callees, paths := 0, 0
	for _, other := range []int{5, 10, 25, 50, 100, 200} {
		for _, sizes := range [][2]int{{25, other}, {other, 25}} {
			for _, s := range draw(t, paperSeed, sizes[0], sizes[1], 20) {
				for _, f := range []Form{s.Dead, s.Return, s.Parameter, s.Cache, s.Repeat} {
					for v := range f.Combined.Len() {
						callees = max(callees, len(f.Combined.Out(v)))
					}
					paths = max(paths, callPaths(f.Combined))
				}
			}
		}
	}
	if callees != 33 {
		t.Errorf("most callees %d, published 33", callees)
	}
	if paths > 80_000 || paths < 40_000 {
		t.Errorf("most executions %d, published a maximum just below 80000", paths)
	}
}
