package merge

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
)

func TestSourceYieldsTheIDsOfTheGrid(t *testing.T) {
	const text = "axis=merge; size=5,50; variant=without-reorder,differences-3,hint; instances=2..4"
	g, err := tasks.ParseGrid(text)
	if err != nil {
		t.Fatal(err)
	}
	list := gridTasks(t, text, Options{Seed: 42})
	var ids []tasks.ID
	for _, task := range list {
		ids = append(ids, task.ID)
	}
	if !slices.Equal(ids, g.IDs()) {
		t.Errorf("got %v, want %v", ids, g.IDs())
	}
	for _, task := range list {
		if alone := gridTasks(t, string(task.ID), Options{Seed: 42}); !reflect.DeepEqual(alone[0], task) {
			t.Errorf("%s is another task on its own", task.ID)
		}
	}
}

func TestTaskOfTheGrid(t *testing.T) {
	task := gridTasks(t, "merge/differences-3/n050/09", Options{Seed: 42})[0]
	// 46 is of no use, and 50 is one of those that only the published generator takes.
	if task.SampleID != "52" || task.Check.Merge.Seed != 52 || task.Instance != 9 {
		t.Errorf("sample %s, check of seed %d", task.SampleID, task.Check.Merge.Seed)
	}
	m := task.Check.Merge
	if task.Check.Kind != tasks.MergeKind || m.Params != 10 || len(m.Differences) != 3 || len(m.Vectors) != 50 {
		t.Errorf("check %+v", task.Check)
	}
	first := gridTasks(t, "merge/n005/01", Options{Seed: 42})[0].Check.Merge
	if want := [2][]int{{3, 1, 3}, {3, 1, 3}}; !reflect.DeepEqual(first.Groups, want) {
		t.Errorf("groups %v, want %v", first.Groups, want) // counted in the program that the paper prints
	}
	if !slices.Equal(m.Transforms, allTransforms()) {
		t.Errorf("transforms %v", m.Transforms)
	}
}

// Variants change what they name and nothing else.
func TestVariants(t *testing.T) {
	plain := gridTasks(t, "axis=merge; size=50; instances=3", Options{Seed: 42})
	hinted := gridTasks(t, "axis=merge; size=50; variant=hint; instances=3", Options{Seed: 42})
	bare := gridTasks(t, "axis=merge; size=50; variant=no-transforms; instances=3", Options{Seed: 42})
	for i, task := range plain {
		h, b := hinted[i], bare[i]
		if !task.Starter.Equal(h.Starter) || !task.Reference.Equal(h.Reference) || !reflect.DeepEqual(task.Check, h.Check) {
			t.Errorf("%s is about another program than %s", h.ID, task.ID)
		}
		if !task.Reference.Equal(b.Reference) || task.Starter.Equal(b.Starter) || len(b.Check.Merge.Transforms) != 0 {
			t.Errorf("%s: another reference than %s, or the same starter", b.ID, task.ID)
		}
		if task.Statement != b.Statement || task.Statement == h.Statement {
			t.Errorf("%s: wrong statements", task.ID)
		}
	}
}

func TestDecorrelatedCellsHaveOwnSeeds(t *testing.T) {
	o := Options{Seed: 42, Decorrelate: true}
	seeds := map[int64]bool{}
	list := gridTasks(t, "axis=merge; size=5..25; instances=1", o)
	list = append(list, gridTasks(t, "axis=merge; size=5..25; variant=hint; instances=1", o)...)
	for _, task := range list {
		seeds[task.Check.Merge.Seed] = true
	}
	if len(seeds) != 6 {
		t.Errorf("%d seeds for six cells", len(seeds))
	}
}

func TestSourceRefuses(t *testing.T) {
	cell := tasks.Cell{Axis: tasks.Merge, Size: 5}
	for _, g := range []tasks.Grid{
		{Cells: []tasks.Cell{{Axis: tasks.Search, Size: 5}}, Instances: 1},
		{Cells: []tasks.Cell{{Axis: tasks.Merge, Size: 5, Variant: "hints"}}, Instances: 1},
		{Cells: []tasks.Cell{cell}, Instances: maxSeeds + 1},
		{Cells: []tasks.Cell{cell}, Only: [][]int{{0}}},
	} {
		if _, err := NewSource(g, Options{Seed: 42}); err == nil {
			t.Errorf("%+v is no error", g)
		}
	}
	if _, err := NewSource(tasks.Grid{}, Options{Seed: maxSeed + 1}); err == nil {
		t.Error("the last seed is no error")
	}
}

func TestSourceStops(t *testing.T) {
	src, err := NewSource(tasks.Grid{Cells: []tasks.Cell{{Axis: tasks.Merge, Size: 5}}, Instances: 100}, Options{Seed: 42})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range src.Tasks(ctx) {
		if n++; n == 3 {
			cancel()
		}
		if n == 4 && !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
	}
	if n != 4 {
		t.Errorf("%d tasks", n)
	}
	n = 0
	for range src.Tasks(t.Context()) {
		n++
		break
	}
	// A hundred seeds do not yield a hundred tasks.
	var last error
	n = 0
	for _, err := range src.Tasks(t.Context()) {
		last = err
		n++
	}
	if last == nil || n > maxSeeds || !strings.Contains(last.Error(), "merge/n005/") {
		t.Errorf("%d tasks, at the end %v", n, last)
	}
}

func TestStatement(t *testing.T) {
	plain := statement(false, 1)
	for _, text := range []string{plain, statement(true, 1), statement(true, 3)} {
		if strings.Contains(text, "{{") || strings.Contains(text, "\n\n\n\n") || !strings.HasSuffix(text, ".\n") {
			t.Errorf("the statement has gaps:\n%s", text)
		}
	}
	const hint = "A hint: apart from the way in which they are written, the two methods `compute` differ in exactly "
	for n, lines := range map[int]string{1: "one line", 3: "3 lines"} {
		if rest := strings.Replace(statement(true, n), hint+lines+".\n\n", "", 1); rest != plain {
			t.Errorf("beside the hint about %s there are other changes", lines)
		}
	}
}

type presetDigest struct {
	Tasks      int    `json:"tasks"`
	Set        string `json:"set"`
	Statements string `json:"statements"`
}

// The digests at seed 42 are golden: whoever changes a task or a statement on
// purpose writes them anew with CABRA_UPDATE_GOLDEN=1 and says so.
func TestPresetDigests(t *testing.T) {
	t.Parallel()
	got := map[string]presetDigest{}
	for _, name := range []string{"merge", "merge-transforms", "merge-differences", "merge-hint"} {
		g, err := tasks.ParseGrid(name)
		if err != nil {
			t.Fatal(err)
		}
		src, err := NewSource(g, Options{Seed: 42})
		if err != nil {
			t.Fatal(err)
		}
		set, statements, err := tasks.SetDigest(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = presetDigest{src.Len(), set, statements}
	}
	compareGolden(t, filepath.Join("testdata", "digests.json"), got)
}

func compareGolden(t *testing.T, file string, got map[string]presetDigest) {
	t.Helper()
	if os.Getenv("CABRA_UPDATE_GOLDEN") == "1" {
		text, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]presetDigest
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
