package tasks

import "testing"

func mergeTask() Task {
	c := Cell{Axis: Merge, Size: 5}
	return Task{
		ID: CellID(c, 1), Cell: c, Instance: 1, SampleID: "42", Statement: "Merge.\n",
		Starter: Files{SolutionFile: "a"}, Reference: Files{SolutionFile: "b"},
		Check: Check{Kind: MergeKind, Merge: &MergeCheck{
			Seed: 42, Params: 2, Transforms: []string{"reorder"}, Groups: [2][]int{{2, 1, 2}, {3, 1, 2}},
			Differences: []MergeDifference{{Target: "m02", Kind: "flip_sign", Arguments: []string{"a"},
				A: "a + b", B: "-a + b", Operators: 2}},
			Vectors: [][]int{{1, 2}, {3, -4}},
		}},
	}
}

func TestDigestCoversTheMergeCheck(t *testing.T) {
	original := mergeTask()
	seen := map[string]string{original.Digest(): "the original"}
	for name, change := range map[string]func(*MergeCheck){
		"seed":        func(m *MergeCheck) { m.Seed = 43 },
		"params":      func(m *MergeCheck) { m.Params = 3 },
		"transforms":  func(m *MergeCheck) { m.Transforms = nil },
		"groups":      func(m *MergeCheck) { m.Groups[0], m.Groups[1] = m.Groups[1], m.Groups[0] },
		"target":      func(m *MergeCheck) { m.Differences[0].Target = "m03" },
		"kind":        func(m *MergeCheck) { m.Differences[0].Kind = "swap_factor" },
		"arguments":   func(m *MergeCheck) { m.Differences[0].Arguments = []string{"b"} },
		"a":           func(m *MergeCheck) { m.Differences[0].A = "a" },
		"b":           func(m *MergeCheck) { m.Differences[0].B = "a" },
		"operators":   func(m *MergeCheck) { m.Differences[0].Operators = 3 },
		"differences": func(m *MergeCheck) { m.Differences = nil },
		"argument":    func(m *MergeCheck) { m.Vectors[1][1] = 4 },
		"vectors":     func(m *MergeCheck) { m.Vectors = m.Vectors[:1] },
	} {
		task := mergeTask()
		change(task.Check.Merge)
		if other, ok := seen[task.Digest()]; ok {
			t.Errorf("another %s has the digest of %s", name, other)
		}
		seen[task.Digest()] = name
	}
}

func TestDigestCoversTheRenames(t *testing.T) {
	seen := map[string]bool{}
	for _, renames := range [][]Renaming{nil, {{"a", "b"}}, {{"a", "c"}}, {{"b", "c"}},
		{{"a", "b"}, {"c", "d"}}, {{"c", "d"}, {"a", "b"}}} {
		task := Task{ID: "rename/n005/01", Check: Check{Kind: RenameKind, Renames: renames}}
		if seen[task.Digest()] {
			t.Errorf("%v has the digest of other renames", renames)
		}
		seen[task.Digest()] = true
	}
}
