package official

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"cabra-run/tasks"
)

// suiteRecord is the test cases of one task. Each of them is an object of its
// own form.
type suiteRecord struct {
	DagID    string   `json:"dag_id"`
	TaskType string   `json:"task_type"`
	UUID     string   `json:"test_case_uuid"`
	Cases    []any    `json:"test_cases"`
	Metadata struct{} `json:"metadata"`
}

// kindCase is a check that has no settings.
type kindCase struct {
	Kind string `json:"kind"`
}

// behavioralCase compares outputs.
type behavioralCase struct {
	Kind               string   `json:"kind"`
	NumTests           int      `json:"num_tests"`
	Seed               int      `json:"seed"`
	TimeoutSeconds     int      `json:"timeout_seconds"`
	PrefixBlocks       any      `json:"prefix_blocks"`
	IncludeMain        bool     `json:"include_main"`
	MaxFailures        int      `json:"max_failures"`
	SemanticCategories []string `json:"semantic_categories"`
	SemanticCategory   *string  `json:"semantic_target_category"`
	SemanticDocstring  *string  `json:"semantic_target_docstring"`
}

type commentCase struct {
	Kind    string `json:"kind"`
	Comment string `json:"expected_comment"`
}

type branchCase struct {
	Kind     string `json:"kind"`
	Branches bool   `json:"runtime_branches"`
}

// suiteOf returns the test cases of a task. blocks stands in the place of the
// prefix blocks.
func suiteOf(t *tasks.Task, k Key, blocks any) suiteRecord {
	var structure any = kindCase{"constraint_structure"}
	if t.Cell.Axis == tasks.CommentCopy {
		structure = commentCase{"function_comments", t.Check.Comment}
	}
	return suiteRecord{
		DagID: k.DagID, TaskType: k.Type, UUID: suiteID(k),
		Cases: []any{
			kindCase{"compilation"}, kindCase{"function_existence"},
			behavioralCase{Kind: "behavioral", NumTests: 5, Seed: 42, TimeoutSeconds: 2, PrefixBlocks: blocks,
				MaxFailures: 5, SemanticCategories: []string{}},
			kindCase{"edit_path"}, structure,
			branchCase{"branch_placement", !numbered(t.Cell.Axis)},
		},
	}
}

// suiteID is a random UUID in the published files; ours follows from the task.
func suiteID(k Key) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "cabra-test-cases-1/%s/%s/%s/%s", k.Run, k.Set, k.Type, k.DagID))
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // version 4, its variant
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// blocksMark takes the place of the prefix blocks until they are inserted: all
// records of a file repeat them, so they are encoded once.
const blocksMark = "prefix blocks"

// suiteWriter encodes the records of suites.
type suiteWriter struct{ blocks map[string][]byte }

// record encodes the suite of a task as an element of a file's array.
func (w *suiteWriter) record(t *tasks.Task, k Key) ([]byte, error) {
	encoded, err := indentedJSON(suiteOf(t, k, blocksMark), indentStep)
	if err != nil {
		return nil, err
	}
	blocks, err := w.blocksOf(t.Cell)
	if err != nil {
		return nil, err
	}
	return bytes.Replace(encoded, []byte(`"`+blocksMark+`"`), blocks, 1), nil
}

// blocksOf encodes the prefix blocks as they stand in a record.
func (w *suiteWriter) blocksOf(c tasks.Cell) ([]byte, error) {
	set := setName(c.Axis, c.Code)
	if w.blocks[set] == nil {
		const depth = 4 // array, record, test cases, case
		encoded, err := indentedJSON(prefixBlocks(c.Code, numbered(c.Axis)), strings.Repeat(indentStep, depth))
		if err != nil {
			return nil, err
		}
		if w.blocks == nil {
			w.blocks = map[string][]byte{}
		}
		w.blocks[set] = encoded
	}
	return w.blocks[set], nil
}

// raw is JSON that is in a record as it is.
type raw = json.RawMessage
