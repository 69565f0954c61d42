// Package tasks owns what a benchmark problem is: the Task with its starter
// files, problem statement, reference and check, the names of axes,
// refactorings and code types, the Grid that selects tasks, and the Source that
// yields them. It must not know how tasks are generated (the packages below it
// do), run or scored.
package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Axis is the one property of a task that a grid scales, or the family for
// tasks outside of the four axes.
type Axis string

// The four axes of the full grid.
const (
	Traversal    Axis = "traversal"    // size = number of edit functions, 25 init functions
	Search       Axis = "search"       // size = number of init functions, 25 edit functions
	Runtime      Axis = "runtime"      // size = steps of each guard's check, 10 functions of either kind
	Instructions Axis = "instructions" // size = number of rules, 10 functions of either kind
)

// The families outside of the full grid.
const (
	Combined    Axis = "combined"     // size = number of init functions and of edit functions
	Merge       Axis = "merge"        // size = number of lines that the two classes share
	CommentCopy Axis = "comment-copy" // size = number of words of the comment
	Rename      Axis = "rename"       // size = number of variables to be renamed
)

// Refactoring is the kind of change that a task asks for.
type Refactoring string

// The five refactorings of the benchmark.
const (
	DeadCode      Refactoring = "dead-code"
	AddParameter  Refactoring = "add-parameter"
	AddReturn     Refactoring = "add-return"
	CacheFunction Refactoring = "cache-function"
	DontRepeat    Refactoring = "dont-repeat"
)

// CodeType is the kind of value that the functions of a program compute on.
type CodeType string

// The three code types of the benchmark.
const (
	Math   CodeType = "math"
	String CodeType = "string"
	Array  CodeType = "array"
)

// SolutionFile is the one file of a call-graph task.
const SolutionFile = "solution.py"

// Cell is a group of tasks that differ only in their instance. Fields that do
// not apply to a family are empty.
type Cell struct {
	Axis        Axis        `json:"axis"`
	Size        int         `json:"size"`
	Refactoring Refactoring `json:"refactoring"`
	Code        CodeType    `json:"code"`
	// Variant tells cells of a family apart that differ in something else
	// than size, such as the allowed transformations of merge.
	Variant string `json:"variant,omitempty"`
}

// ID names a task: "traversal/add-parameter/math/n050/07", "merge/n050/07" or
// "merge/hint/n050/07". It is a slash
// separated path whose segments hold only a-z, 0-9, '.', '_' and '-', so it can
// be used as a folder name as it is.
type ID string

var idPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}(/[a-z0-9][a-z0-9._-]{0,63}){0,7}$`)

// Valid reports whether id has the form described at ID.
func (id ID) Valid() bool { return idPattern.MatchString(string(id)) }

// CellID returns the id of one instance (counted from 1) of a cell. Words that
// the cell does not have leave no segment.
func CellID(c Cell, instance int) ID {
	var words strings.Builder
	for _, w := range []string{string(c.Axis), string(c.Refactoring), string(c.Code), c.Variant} {
		if w != "" {
			words.WriteString(w)
			words.WriteByte('/')
		}
	}
	return ID(fmt.Sprintf("%sn%03d/%02d", words.String(), c.Size, instance))
}

// Files maps a relative slash path to the file's text.
type Files map[string]string

// Paths returns the paths in ascending order.
func (f Files) Paths() []string {
	paths := make([]string, 0, len(f))
	for p := range f {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}

// Equal reports whether both hold the same files with the same texts.
func (f Files) Equal(g Files) bool {
	if len(f) != len(g) {
		return false
	}
	for p, text := range f {
		if other, ok := g[p]; !ok || other != text {
			return false
		}
	}
	return true
}

// CheckKind says which checker understands a Check.
type CheckKind string

// CallGraphCheck is the check of the five refactorings on call-graph programs.
const CallGraphCheck CheckKind = "callgraph"

// Check is what a scorer has to know beside the starter and the reference.
type Check struct {
	Kind CheckKind `json:"kind"`
	// Edited holds the functions that the reference changes or, for dead
	// code, removes, in graph order.
	Edited []string `json:"edited"`
	// Library holds the names that the starter imports from mylibrary.
	Library []string `json:"library"`
	// Branches is set where every function but main and check is one if/else,
	// of which one branch runs and the other one must stay as it is.
	Branches bool `json:"branches,omitempty"`
	// Live says for each of these functions which branch runs: true stands for
	// that of the if, false for that of the else.
	Live map[string]bool `json:"live,omitempty"`
	// Values is the number of values that a refactoring passes around where
	// they are numbered from 1; 0 stands for one value without a number.
	Values int `json:"values,omitempty"`
	// Rules holds what has to be done to each value in every edited function,
	// in the order of their sampling.
	Rules []Rule `json:"rules,omitempty"`
	// Inserted holds the lines that the rules add to every edited function, in
	// the order that is asked for.
	Inserted []string `json:"inserted,omitempty"`
	// Comment is the line that every edited function has to get, if any.
	Comment string `json:"comment,omitempty"`
	// Merge is set for the kind "merge" alone.
	Merge *MergeCheck `json:"merge,omitempty"`
	// Renames holds what has to be renamed for the kind "rename", in the order
	// of the statement. No name is both an old and a new one.
	Renames []Renaming `json:"renames,omitempty"`
}

// Rule is one instruction about one generated value.
type Rule struct {
	Value int    `json:"value"` // number of the value, from 1
	Var   string `json:"var"`   // name of the value
	Kind  string `json:"kind"`  // one of the kinds of the rule bank, such as "assert_not"
	// Rand and Rand2 are the literals of the line, string literals with their
	// quotes; Rand of a comment is its label.
	Rand     string `json:"rand,omitempty"`
	Rand2    string `json:"rand2,omitempty"`
	Prefix   string `json:"prefix,omitempty"`
	Suffix   string `json:"suffix,omitempty"`
	NewVar   string `json:"new_var"`  // drawn for every rule, used by those that make a variable
	Phrasing int    `json:"phrasing"` // which of the five paraphrases of its kind, from 0
	Line     string `json:"line"`     // the line that has to be inserted
	Sentence string `json:"sentence"` // how the statement asks for it; not part of the digest
}

// Task is one problem. Statement, Starter are what the agent sees; Reference
// and Check are hidden from it.
type Task struct {
	ID        ID     `json:"id"`
	Cell      Cell   `json:"cell"`
	Instance  int    `json:"instance"` // from 1, in generation order
	SampleID  string `json:"sample_id"`
	Statement string `json:"statement"`
	Starter   Files  `json:"starter"`
	Reference Files  `json:"reference"`
	Check     Check  `json:"check"`
}

// Digest is a hash over everything that determines the task except its
// statement: "sha256:" and 64 hex digits.
func (t *Task) Digest() string {
	h := sha256.New()
	t.hashInto(h)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func (t *Task) hashInto(h hash.Hash) {
	writeField(h, "cabra-task-1", string(t.ID), string(t.Cell.Axis), fmt.Sprint(t.Cell.Size),
		string(t.Cell.Refactoring), string(t.Cell.Code), fmt.Sprint(t.Instance), t.SampleID)
	for _, files := range []Files{t.Starter, t.Reference} {
		writeField(h, fmt.Sprint(len(files)))
		for _, p := range files.Paths() {
			writeField(h, p, files[p])
		}
	}
	writeField(h, string(t.Check.Kind), strings.Join(t.Check.Edited, ","), strings.Join(t.Check.Library, ","))
	t.hashAdditions(h)
}

// hashAdditions hashes what not every task has, each under a word of its own:
// tasks without it keep the digests that they had before it was thought of.
func (t *Task) hashAdditions(h hash.Hash) {
	if t.Cell.Variant != "" {
		writeField(h, "variant", t.Cell.Variant)
	}
	if t.Check.Branches {
		writeField(h, "branches")
		for _, name := range slices.Sorted(maps.Keys(t.Check.Live)) {
			writeField(h, name, fmt.Sprint(t.Check.Live[name]))
		}
	}
	if t.Check.Values != 0 {
		writeField(h, "values", fmt.Sprint(t.Check.Values))
	}
	for _, r := range t.Check.Rules {
		writeField(h, "rule", fmt.Sprint(r.Value), r.Var, r.Kind, r.Rand, r.Rand2, r.Prefix, r.Suffix, r.NewVar,
			fmt.Sprint(r.Phrasing), r.Line)
	}
	if len(t.Check.Inserted) > 0 {
		writeField(h, "inserted", strings.Join(t.Check.Inserted, "\n"))
	}
	if t.Check.Comment != "" {
		writeField(h, "comment", t.Check.Comment)
	}
	if t.Check.Merge != nil {
		t.Check.Merge.hashInto(h)
	}
	for _, r := range t.Check.Renames {
		writeField(h, "rename", r.Old, r.New)
	}
}

// writeField hashes each text behind its length, so that no two lists of
// texts hash alike.
func writeField(h hash.Hash, texts ...string) {
	var n [8]byte
	for _, s := range texts {
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
}

// StatementDigest is a hash of the statement alone.
func (t *Task) StatementDigest() string {
	sum := sha256.Sum256([]byte(t.Statement))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Source yields the tasks of a set, always the same ones in the same order.
// Ranging again starts anew; stopping early is allowed. After an error nothing
// more is yielded.
type Source interface {
	// Len is the number of tasks, known without generating them.
	Len() int
	// Tasks generates the tasks as they are consumed.
	Tasks(ctx context.Context) iter.Seq2[Task, error]
}

// SetDigest hashes the tasks of a set in their order: the first digest covers
// all but the statements, the second the statements.
func SetDigest(ctx context.Context, src Source) (set, statements string, err error) {
	hs, hp := sha256.New(), sha256.New()
	for t, err := range src.Tasks(ctx) {
		if err != nil {
			return "", "", err
		}
		t.hashInto(hs)
		writeField(hp, string(t.ID), t.Statement)
	}
	return "sha256:" + hex.EncodeToString(hs.Sum(nil)), "sha256:" + hex.EncodeToString(hp.Sum(nil)), nil
}
