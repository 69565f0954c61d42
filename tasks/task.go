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
	"regexp"
	"slices"
	"strings"
)

// Axis is the one property of a task that a grid scales, or the family for
// tasks outside of the four axes.
type Axis string

// The axes whose tasks this version generates.
const (
	Traversal Axis = "traversal" // size = number of edit functions, 25 init functions
	Search    Axis = "search"    // size = number of init functions, 25 edit functions
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
}

// ID names a task: "traversal/add-parameter/math/n050/07". It is a slash
// separated path whose segments hold only a-z, 0-9, '.', '_' and '-', so it can
// be used as a folder name as it is.
type ID string

var idPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}(/[a-z0-9][a-z0-9._-]{0,63}){0,7}$`)

// Valid reports whether id has the form described at ID.
func (id ID) Valid() bool { return idPattern.MatchString(string(id)) }

// CellID returns the id of one instance (counted from 1) of a call-graph cell.
func CellID(c Cell, instance int) ID {
	return ID(fmt.Sprintf("%s/%s/%s/n%03d/%02d", c.Axis, c.Refactoring, c.Code, c.Size, instance))
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
