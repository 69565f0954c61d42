package official

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

// The golden files hold invented examples as Python encodes them.
func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantText(t *testing.T, got []byte, want string) {
	t.Helper()
	if string(got) == want {
		return
	}
	n := 0
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	t.Errorf("differs at byte %d:\n got %.80q\nwant %.80q", n, got[n:], want[n:])
}

// graph makes a graph record of names and edges, each "ab" for a→b.
func graph(names, edges string) []graphRecord {
	r := graphRecord{Directed: true, Nodes: []nodeRecord{}, Edges: []edgeRecord{}}
	for _, name := range names {
		r.Nodes = append(r.Nodes, nodeRecord{string(name)})
	}
	for _, e := range strings.Fields(edges) {
		r.Edges = append(r.Edges, edgeRecord{e[:1], e[1:]})
	}
	return []graphRecord{r}
}

func pairs(edges string) [][]pairRecord {
	list := []pairRecord{}
	for _, e := range strings.Fields(edges) {
		list = append(list, pairRecord{e[:1], e[1:]})
	}
	return [][]pairRecord{list}
}

func TestDagBytes(t *testing.T) {
	got, err := lineJSON(dagRecord{
		Main: graph("ab", "ba"), NumTarget: 1,
		Dead: graph("cdf", "fc fd"), MainDead: graph("abcdf", "ba ca fc fd"), DeadAttach: pairs("ca"),
		Return: graph("cde", "ce de"), ReturnSinks: []string{"e"}, ReturnInjection: [][]string{{"a"}},
		ReturnAttach: pairs("ea"),
		Parameter:    graph("cdf", "fc fd"), ParameterRoots: []string{"f"}, ParameterInjection: [][]string{{"b"}},
		ParameterAttach: pairs("bf"),
		Cache:           graph("ghi", "ig ih"), CacheRoots: []string{"i"}, CacheInjection: [][]string{{"a", "b"}},
		CacheAttach: pairs("bi ga"), MainCache: graph("abghi", "ba bi ga ig ih"),
		Helper: graph("ghj", "gj hj"), HelperSinks: []string{"j"}, HelperInjection: [][]string{{"a", "b"}},
		HelperAttach: pairs("bg ja"), MainHelper: graph("abghj", "ba bg gj hj ja"),
		MainReturn: graph("abcde", "ba ce de ea"), ReturnTargets: []string{"e"},
		MainParameter: graph("abcdf", "ba bf fc fd"), ParameterTargets: []string{"f"},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, got, golden(t, "dag"))
}

// The graphs of the first sample of (10,10) as the benchmark's description gives them.
func TestDagOfSample(t *testing.T) {
	sampler, err := callgraph.NewSampler(42, 10, 10)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sampler.Next()
	if err != nil {
		t.Fatal(err)
	}
	d := dagOf(s)
	var init []string
	for _, n := range d.Main[0].Nodes {
		init = append(init, n.ID)
	}
	if got := strings.Join(init, ","); got != "l,d,aa,c,a,o,ac,b,m,z,h" {
		t.Errorf("init nodes %s", got)
	}
	wrappers := [][]string{d.ReturnSinks, d.ParameterRoots, d.CacheRoots, d.HelperSinks, d.ReturnTargets, d.ParameterTargets}
	if want := [][]string{{"i"}, {"ah"}, {"ai"}, {"f"}, {"i"}, {"ah"}}; !reflect.DeepEqual(wrappers, want) {
		t.Errorf("wrappers %v, want %v", wrappers, want)
	}
	attach := slices.Clone(d.ParameterAttach[0])
	slices.SortFunc(attach, func(a, b pairRecord) int { return strings.Compare(a[0], b[0]) })
	if want := []pairRecord{{"a", "n"}, {"c", "ah"}, {"c", "ah"}, {"m", "k"}}; !slices.Equal(attach, want) {
		t.Errorf("attach pairs %v, want %v", attach, want)
	}
	if want := [][]string{{"a", "c", "m"}}; !reflect.DeepEqual(d.ParameterInjection, want) {
		t.Errorf("injection nodes %v, want %v", d.ParameterInjection, want)
	}
}

// arrayBytes writes records as a file holds them.
func arrayBytes(t *testing.T, records ...any) []byte {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	w := &writer{root: root}
	err = w.array("file.json", len(records), func(i int) ([]byte, error) { return indentedJSON(records[i], indentStep) })
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "file.json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const tinyID = "00000000-0000-0000-0000-000000000001"

func TestTaskBytes(t *testing.T) {
	var example []taskRecord
	if err := json.Unmarshal([]byte(golden(t, "tasks")), &example); err != nil {
		t.Fatal(err)
	}
	task := tasks.Task{
		Cell:     tasks.Cell{Axis: tasks.Traversal, Size: 5, Refactoring: tasks.AddParameter, Code: tasks.Math},
		SampleID: tinyID, Statement: "…",
		Starter:   tasks.Files{tasks.SolutionFile: example[0].Starter},
		Reference: tasks.Files{tasks.SolutionFile: example[0].Solution},
	}
	k, _ := KeyOf(&task)
	wantText(t, arrayBytes(t, recordOf(&task, k)), golden(t, "tasks"))

	check, err := checkOfPrograms(tasks.AddParameter, example[0].Starter, example[0].Solution, []string{"c", "d", "f"})
	if err != nil || !slices.Equal(check.Edited, []string{"c", "d", "f"}) || !slices.Equal(check.Library, []string{"default"}) {
		t.Errorf("check %+v %v", check, err)
	}
}

func TestMetadataBytes(t *testing.T) {
	task := tasks.Task{
		Cell: tasks.Cell{Axis: tasks.Instructions, Size: 2, Refactoring: tasks.AddParameter, Code: tasks.Math},
		Check: tasks.Check{Values: 2, Rules: []tasks.Rule{
			{Value: 2, Var: "mult2", Kind: "assert_not", Rand: "-30", NewVar: "mult2_stash", Sentence: "…"},
			{Value: 1, Var: "mult1", Kind: "divide_number", Rand: "0.4", NewVar: "snapshot_mult1", Sentence: "…"},
		}},
	}
	m := ruleMetadataOf(&task)
	for i := range m.Rules {
		m.Rules[i].Rules[0].CheckDesc = "…"
	}
	got, err := indentedJSON(m, "")
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, got, golden(t, "metadata"))
}

func TestTestCaseBytes(t *testing.T) {
	task := tasks.Task{
		Cell:     tasks.Cell{Axis: tasks.Traversal, Size: 5, Refactoring: tasks.AddParameter, Code: tasks.Math},
		SampleID: tinyID,
	}
	k, _ := KeyOf(&task)
	r := suiteOf(&task, k, []string{"import math\nimport operator\n\n" + constantText("default", "0.21", "float", false, "")})
	if len(r.UUID) != 36 || r.UUID[14] != '4' || !strings.ContainsRune("89ab", rune(r.UUID[19])) {
		t.Errorf("%q is no random UUID", r.UUID)
	}
	r.UUID = "11111111-2222-4333-8444-555555555555"
	wantText(t, arrayBytes(t, r), golden(t, "test_cases"))

	// The writer inserts the blocks of a file's records in their place.
	w := &suiteWriter{}
	inserted, err := w.record(&task, k)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := indentedJSON(suiteOf(&task, k, prefixBlocks(tasks.Math, false)), indentStep)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, inserted, string(whole))
}

func TestTestCasesOfOtherAxes(t *testing.T) {
	task := tasks.Task{Cell: tasks.Cell{Axis: tasks.CommentCopy, Size: 5, Refactoring: tasks.AddParameter, Code: tasks.Math},
		Check: tasks.Check{Comment: "# some words"}}
	cases := suiteOf(&task, Key{}, nil).Cases
	if cases[4] != (commentCase{"function_comments", "# some words"}) || cases[5] != (branchCase{"branch_placement", false}) {
		t.Errorf("cases %v", cases[4:])
	}
}

// Escapes as Python writes them: everything that is not printable ASCII.
func TestEscapes(t *testing.T) {
	got, err := lineJSON([]any{"a,b: \"q\\\" <&>", "é\u2028\x7f\t😀", map[string]any{"k": []int{}}})
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, got, `["a,b: \"q\\\" <&>", "\u00e9\u2028\u007f\t\ud83d\ude00", {"k": []}]`)
}
