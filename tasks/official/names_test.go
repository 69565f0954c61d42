package official

import (
	"testing"

	"cabra-run/tasks"
)

func TestRunNames(t *testing.T) {
	const rest = "_prop=(0.45,0.55)_psame=(0.9,0.9)_ce=(0.3,0.3)_ee=(0.3,0.3)_attach=(0.3,0.3)_centry=(1,1)_eentry=(1,1)"
	tests := []struct {
		axis tasks.Axis
		size int
		name string
	}{
		{tasks.Traversal, 5, "function_traversal_cn=(25,25)_en=(5,5)" + rest},
		{tasks.Search, 5, "function_search_cn=(5,5)_en=(25,25)" + rest},
		{tasks.Runtime, 200, "runtime_resolution_n=(10,10)" + rest + "_ifhops=200"},
		{tasks.Instructions, 100, "add_instructions_n=(10,10)" + rest + "_nc=(100,100)_cp=(0.0,0.0)"},
		{tasks.Combined, 50, "combined_n=(50,50)" + rest},
		{tasks.CommentCopy, 25, "comment_copy_n=(10,10)" + rest + "_nw=25"},
	}
	for _, tt := range tests {
		if got := taskRun(tt.axis, tt.size); got != tt.name {
			t.Errorf("%s %d: %q, want %q", tt.axis, tt.size, got, tt.name)
		}
		if a, n, ok := parseRun(tt.name); a != tt.axis || n != tt.size || !ok {
			t.Errorf("%q: %s %d %v", tt.name, a, n, ok)
		}
	}
	if got := graphRun(tasks.Runtime, 200); got != "runtime_resolution_n=(10,10)"+rest {
		t.Errorf("graph run %q", got)
	}
}

func TestOldAndOtherRuns(t *testing.T) {
	const rest = "_prop=(0.45,0.55)_psame=(0.9,0.9)_ce=(0.3,0.3)_ee=(0.3,0.3)_attach=(0.3,0.3)_centry=(1,1)_eentry=(1,1)"
	tests := []struct {
		name string
		axis tasks.Axis
		size int
	}{
		{"distractor_code_cn=(50,50)_en=(25,25)" + rest, tasks.Search, 50},
		{"main_sweep_fair_cn=(25,25)_en=(10,10)" + rest, tasks.Traversal, 10},
		{"add_instructions_fixed_n=(10,10)" + rest + "_nc=(25,25)_cp=(0.0,0.0)", tasks.Instructions, 25},
		{"testing_runtime_n=(10,10)" + rest + "_ifhops=50", tasks.Runtime, 50},
		{"function_traversal_cn=(25,25)_en=(5,5)", "", 0},
		{"function_traversal_cn=(30,30)_en=(5,5)" + rest, "", 0},
		{"function_search_cn=(50,50)_en=(25,25)" + rest + "_more", "", 0},
		{"../function_search", "", 0},
		{"", "", 0},
	}
	for _, tt := range tests {
		if a, n, ok := parseRun(tt.name); a != tt.axis || n != tt.size || ok != (tt.size > 0) {
			t.Errorf("%q: %s %d %v, want %s %d", tt.name, a, n, ok, tt.axis, tt.size)
		}
	}
}

func TestMergeRuns(t *testing.T) {
	all := mergeTransforms()
	tests := []struct {
		name       string
		transforms []string
		want       tasks.Cell
	}{
		{"merge_codebases_n=50_d=1_p=10_b=2_seed=42_tf=0", all, tasks.Cell{Axis: tasks.Merge, Size: 50}},
		{"testing_n=5_d=1_p=10_b=2_seed=42_tf=0_pt=all", all, tasks.Cell{Axis: tasks.Merge, Size: 5}},
		{"merge_codebases_n=50_d=3_p=10_b=2_seed=42_tf=0", all, tasks.Cell{Axis: tasks.Merge, Size: 50, Variant: "differences-3"}},
		{"merge_codebases_n=50_d=1_p=10_b=2_seed=42_tf=4", []string{}, tasks.Cell{Axis: tasks.Merge, Size: 50, Variant: "no-transforms"}},
		{"merge_codebases_n=50_d=1_p=10_b=2_seed=42_tf=1", []string{"reorder"}, tasks.Cell{Axis: tasks.Merge, Size: 50, Variant: "only-reorder"}},
		{"merge_codebases_n=50_d=1_p=10_b=2_seed=42_tf=1", all[1:], tasks.Cell{Axis: tasks.Merge, Size: 50, Variant: "without-rename-variables"}},
		{"merge_codebases_hint_n=50_d=1_p=10_b=2_seed=42_tf=0", all, tasks.Cell{Axis: tasks.Merge, Size: 50, Variant: "hint"}},
		{"merge_codebases_n=50_d=1_p=8_b=2_seed=42_tf=0", all, tasks.Cell{}},
		{"merge_codebases_n=50_d=1_p=10_b=2_seed=7_tf=0", all, tasks.Cell{}},
		{"merge_codebases_n=50_d=1_p=10_b=2_seed=42_tf=0", all[:2], tasks.Cell{}},
		{"merge_codebases_n=50_d=1_p=10_b=2_seed=42_tf=0_pt=flip_sign", all, tasks.Cell{}},
	}
	for _, tt := range tests {
		if got, ok := parseMergeRun(tt.name, tt.transforms); got != tt.want || ok != (got.Size > 0) {
			t.Errorf("%q %v: %v %v, want %v", tt.name, tt.transforms, got, ok, tt.want)
		}
	}
	// Every merge cell of ours has a run of its own.
	seen := map[string]tasks.Cell{}
	for _, p := range tasks.Presets() {
		for _, c := range p.Grid.Cells {
			if c.Axis != tasks.Merge {
				continue
			}
			name, ok := mergeRun(c)
			if other, taken := seen[name]; !ok || taken && other != c {
				t.Errorf("run %q of %v and %v", name, c, other)
			}
			seen[name] = c
		}
	}
}
