package refactor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cabra-run/tasks"
)

type presetDigest struct {
	Tasks      int    `json:"tasks"`
	Set        string `json:"set"`
	Statements string `json:"statements"`
	NotExact   string `json:"not_bit_exact"` // what of it is our own, beside the statements
}

// The digests at seed 42 are golden: whoever changes a task or a statement on
// purpose writes them anew with CABRA_UPDATE_GOLDEN=1 and says so. Of presets
// with other families too, they cover the axes that this package generates.
//
// Not everything about these tasks is that of the published benchmark: the
// branches of runtime dead code that do not run, the texts of prints, and all
// statements are our own.
func TestPresetDigests(t *testing.T) {
	file := filepath.Join("testdata", "digests.json")
	got := map[string]presetDigest{}
	for _, p := range tasks.Presets() {
		part := p.Grid.Of(allAxes()...)
		if part.Len() > 0 {
			got[p.Name] = digestOf(t, part, Options{Seed: DefaultSeed})
		}
		if p.Name == "smoke" {
			got["smoke, decorrelated"] = digestOf(t, part, Options{Seed: DefaultSeed, Decorrelate: true})
		}
	}
	if os.Getenv("CABRA_UPDATE_GOLDEN") == "1" {
		writeGoldenJSON(t, file, got)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]presetDigest
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != len(got) {
		t.Errorf("%d golden digests for %d presets", len(want), len(got))
	}
	for name, d := range got {
		if d != want[name] {
			t.Errorf("%s: got %+v, want %+v", name, d, want[name])
		}
	}
}

// notExact names what of a grid's tasks is not that of the published benchmark.
func notExact(g tasks.Grid) string {
	var parts []string
	for _, p := range []struct {
		axis tasks.Axis
		text string
	}{
		{tasks.Runtime, "branches of runtime dead code that do not run, text of check"},
		{tasks.Instructions, "texts of prints"},
		{tasks.CommentCopy, "the whole comment-copy control"},
	} {
		if g.Of(p.axis).Len() > 0 {
			parts = append(parts, p.text)
		}
	}
	return strings.Join(append(parts, "statements"), "; ")
}

func digestOf(t *testing.T, g tasks.Grid, o Options) presetDigest {
	t.Helper()
	src := newSource(t, g, o)
	set, statements, err := tasks.SetDigest(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return presetDigest{src.Len(), set, statements, notExact(g)}
}

func writeGoldenJSON(t *testing.T, file string, value any) {
	t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A grid's tasks are those that its ids name, in their order.
func TestSourceYieldsTheIDsOfTheGrid(t *testing.T) {
	g, err := tasks.ParseGrid("axis=search; size=5,10; code=string; instances=2..3")
	if err != nil {
		t.Fatal(err)
	}
	src, err := NewSource(g, Options{Seed: 42})
	if err != nil {
		t.Fatal(err)
	}
	i, ids := 0, g.IDs()
	for task, err := range src.Tasks(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if i >= len(ids) || task.ID != ids[i] {
			t.Fatalf("task %d is %s", i, task.ID)
		}
		if want := ownText(t, task.Cell.Refactoring, task.Cell.Code); task.Statement != want {
			t.Errorf("%s has another statement", task.ID)
		}
		i++
	}
	if i != len(ids) || src.Len() != len(ids) {
		t.Errorf("%d tasks, Len %d, want %d", i, src.Len(), len(ids))
	}
}
