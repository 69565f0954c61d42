package official

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"cabra-run/tasks"
)

// Foreign is the axis of tasks whose run is none that we know.
const Foreign tasks.Axis = "official"

// Bounds on a tree.
const (
	maxName      = 255
	maxFiles     = 20_000
	maxFileBytes = 256 << 20
	maxRecords   = 10_000
	maxText      = 8 << 20
)

// TreeOptions say how a tree is read.
type TreeOptions struct {
	// Own returns all tasks that the generator has for a cell, or nil where it
	// has none. With it, the generator's tasks are recognised: see Tree. It may
	// be nil.
	Own func(tasks.Cell) (tasks.Source, error)
}

// Tree is the tasks of a tree of official files: a tasks.Source that yields them
// in grid order, those of unknown runs first. Statements, starters and
// references are those of the files.
//
// Official files number nothing, so instances are found in this way: a record
// whose dag_id is the sample of one of the generator's instances of the cell has
// the number of that instance; so has a merge record with the starter and the
// solution of one. The others get the numbers that are left, in the order of
// their dag_id, merge records in file order. Where starter and solution are
// those of the generator's instance byte for byte, the task also has its sample
// id and its check: what we wrote is read as what it was, with the same digest.
// For all others the check is derived from the files.
type Tree struct {
	root    *os.Root
	options TreeOptions
	files   []file
	notices Notices
}

// file is a file of tasks.
type file struct {
	path    string
	key     Key // without DagID
	cell    tasks.Cell
	entries []entry // in the order of their instances
}

// entry is a record of a file that is a task.
type entry struct {
	place    int // in the file
	dagID    string
	instance int
}

// OpenTree reads through the tree below root, which must stay open while the
// tree is used. A file that cannot be read as a whole is an error; records that
// cannot be used are noted.
func OpenTree(ctx context.Context, root *os.Root, o TreeOptions) (*Tree, error) {
	t := &Tree{root: root, options: o}
	if err := t.list(); err != nil {
		return nil, err
	}
	cells := map[tasks.Cell]bool{}
	for i := range t.files {
		if err := t.index(ctx, &t.files[i], cells); err != nil {
			return nil, fmt.Errorf("reading %q: %w", t.files[i].path, err)
		}
	}
	order := tasks.CellOrder()
	slices.SortStableFunc(t.files, func(a, b file) int { return order(a.cell, b.cell) })
	return t, nil
}

// Notices says what was odd in the files.
func (t *Tree) Notices() []Notice { return t.notices.List() }

// Only returns the tree with those of its tasks that are kept.
func (t *Tree) Only(keep func(tasks.ID) bool) *Tree {
	part := *t
	part.files = nil
	for _, f := range t.files {
		f.entries = slices.DeleteFunc(slices.Clone(f.entries), func(e entry) bool { return !keep(f.id(e)) })
		if len(f.entries) > 0 {
			part.files = append(part.files, f)
		}
	}
	return &part
}

// Keys maps where the tasks are in official files to their ids. The names of
// runs are those of today.
func (t *Tree) Keys() map[Key]tasks.ID {
	keys := map[Key]tasks.ID{}
	for _, f := range t.files {
		for _, e := range f.entries {
			k := f.key
			k.Run, k.DagID = CurrentRun(k.Run), e.dagID
			keys[k] = f.id(e)
		}
	}
	return keys
}

// Len is the number of tasks.
func (t *Tree) Len() int {
	n := 0
	for _, f := range t.files {
		n += len(f.entries)
	}
	return n
}

// Tasks reads the files again, one at a time.
func (t *Tree) Tasks(ctx context.Context) iter.Seq2[tasks.Task, error] {
	return func(yield func(tasks.Task, error) bool) {
		for _, f := range t.files {
			if !t.yieldFile(ctx, f, yield) {
				return
			}
		}
	}
}

func (t *Tree) yieldFile(ctx context.Context, f file, yield func(tasks.Task, error) bool) bool {
	fail := func(err error) bool {
		yield(tasks.Task{}, fmt.Errorf("reading %q: %w", f.path, err))
		return false
	}
	records, err := t.read(f)
	if err != nil {
		return fail(err)
	}
	own, err := t.own(ctx, f.cell)
	if err != nil {
		return fail(err)
	}
	for _, e := range f.entries {
		if err := ctx.Err(); err != nil {
			return fail(err)
		}
		if e.place >= len(records) || records[e.place].DagID != e.dagID {
			return fail(errors.New("the file has changed"))
		}
		task, err := t.task(f, e, &records[e.place], own)
		if err != nil {
			return fail(fmt.Errorf("task %q: %w", e.dagID, err))
		}
		if !yield(task, nil) {
			return false
		}
	}
	return true
}

func (f file) id(e entry) tasks.ID { return tasks.CellID(f.cell, e.instance) }

// task makes the task of a record.
func (t *Tree) task(f file, e entry, r *readRecord, own ownTasks) (tasks.Task, error) {
	k := f.key
	k.DagID = e.dagID
	task := tasks.Task{ID: f.id(e), Cell: f.cell, Instance: e.instance, SampleID: e.dagID,
		Statement: r.Prompt, Starter: tasks.Files(r.Starter), Reference: tasks.Files(r.Solution)}
	if same := own.same(f, r); same != nil {
		task.SampleID, task.Check = same.SampleID, same.Check
		return task, nil
	}
	var err error
	starter, reference := r.Starter[tasks.SolutionFile], r.Solution[tasks.SolutionFile]
	if f.key.Set == "" {
		task.Check, err = checkOfMerge(k, r.Spaced, reference, r.Transforms)
		return task, err
	}
	task.Check, err = checkOfPrograms(f.cell.Refactoring, starter, reference, t.graphOrder(k, f.cell.Refactoring))
	if err != nil {
		return task, err
	}
	return task, addMetadata(&task.Check, r.Metadata)
}

// graphOrder is the order of the edit functions, nil if there is no dag.json that
// tells it.
func (t *Tree) graphOrder(k Key, r tasks.Refactoring) []string {
	run := taskSuffix.ReplaceAllString(k.Run, "")
	encoded, err := t.content(path.Join("dag", run, k.DagID, "dag.json"))
	if err != nil {
		return nil
	}
	names, err := editNodes(encoded, r)
	if err != nil {
		return nil
	}
	return names
}

// list finds the files of tasks.
func (t *Tree) list() error {
	runs, err := fs.ReadDir(t.root.FS(), "tasks")
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("there is no folder \"tasks\" in it")
	}
	if err != nil {
		return err
	}
	for _, run := range runs {
		if !run.IsDir() {
			name, isJSON := strings.CutSuffix(run.Name(), ".json")
			t.found(run, path.Join("tasks", run.Name()), isJSON, Key{Run: name})
			continue
		}
		if err := t.listRun(run.Name()); err != nil {
			return err
		}
	}
	if len(t.files) == 0 {
		return errors.New("there are no files of tasks in its folder \"tasks\"")
	}
	return nil
}

func (t *Tree) listRun(run string) error {
	sets, err := fs.ReadDir(t.root.FS(), path.Join("tasks", run))
	if err != nil {
		return err
	}
	for _, set := range sets {
		dir := path.Join("tasks", run, set.Name())
		if _, known := codeOf(set.Name()); !known || !set.IsDir() {
			t.notices.Add(ForeignFile, dir)
			continue
		}
		entries, err := fs.ReadDir(t.root.FS(), dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name, isJSON := strings.CutSuffix(e.Name(), ".json")
			_, known := refactoringOf(name)
			t.found(e, path.Join(dir, e.Name()), isJSON && known, Key{Run: run, Set: set.Name(), Type: name})
		}
	}
	return nil
}

func (t *Tree) found(e fs.DirEntry, name string, belongs bool, k Key) {
	if !belongs || !e.Type().IsRegular() || len(t.files) == maxFiles {
		t.notices.Add(ForeignFile, name)
		return
	}
	t.files = append(t.files, file{path: name, key: k})
}

// index finds out which tasks a file has.
func (t *Tree) index(ctx context.Context, f *file, taken map[tasks.Cell]bool) error {
	records, err := t.read(*f)
	if err != nil {
		return err
	}
	f.cell = t.cellOf(f, records)
	if taken[f.cell] { // by another run of the same tasks
		f.cell.Variant = runWord(f.key.Run)
	}
	taken[f.cell] = true
	own, err := t.own(ctx, f.cell)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range records {
		r := &records[i]
		where := fmt.Sprintf("%s: record %d", f.path, i+1)
		if seen[r.DagID] {
			t.notices.Add(RepeatedTask, where)
			continue
		}
		e := entry{place: i, dagID: r.DagID, instance: own.instance(*f, r)}
		err := r.problem()
		if err == nil {
			_, err = t.task(*f, e, r, own)
		}
		if err != nil {
			t.notices.Add(UnusableTask, where+": "+err.Error())
			continue
		}
		seen[r.DagID] = true
		f.entries = append(f.entries, e)
	}
	f.number()
	return nil
}

// number gives instances to the entries that have none yet.
func (f *file) number() {
	if f.key.Set != "" {
		slices.SortFunc(f.entries, func(a, b entry) int { return strings.Compare(a.dagID, b.dagID) })
	}
	taken := map[int]bool{0: true}
	for i := range f.entries {
		e := &f.entries[i]
		if taken[e.instance] {
			e.instance = 0
		}
		taken[e.instance] = true
	}
	next := 0
	for i := range f.entries {
		e := &f.entries[i]
		for e.instance == 0 {
			if next++; !taken[next] {
				e.instance = next
			}
		}
	}
	slices.SortFunc(f.entries, func(a, b entry) int { return a.instance - b.instance })
}

// cellOf says which cell the tasks of a file are of.
func (t *Tree) cellOf(f *file, records []readRecord) tasks.Cell {
	code, _ := codeOf(f.key.Set)
	refactoring, _ := refactoringOf(f.key.Type)
	axis, size, ok := parseRun(f.key.Run)
	if ok && f.key.Set == setName(axis, code) && (!numbered(axis) || refactoring != tasks.DeadCode) {
		return tasks.Cell{Axis: axis, Size: size, Refactoring: refactoring, Code: code}
	}
	if f.key.Set == "" && len(records) > 0 {
		if c, ok := parseMergeRun(f.key.Run, records[0].Transforms); ok {
			return c
		}
	}
	t.notices.Add(UnknownRun, f.path)
	return tasks.Cell{Axis: Foreign, Refactoring: refactoring, Code: code, Variant: runWord(f.key.Run)}
}

// runWord stands for the name of a run where only few characters are allowed.
func runWord(run string) string {
	sum := sha256.Sum256([]byte(run))
	return fmt.Sprintf("run-%x", sum[:5])
}

// ownTasks is what the generator has for a cell.
type ownTasks struct {
	bySample map[string]*tasks.Task
	byText   map[[2]string]*tasks.Task
}

func (t *Tree) own(ctx context.Context, c tasks.Cell) (ownTasks, error) {
	own := ownTasks{map[string]*tasks.Task{}, map[[2]string]*tasks.Task{}}
	if t.options.Own == nil || c.Axis == Foreign {
		return own, nil
	}
	src, err := t.options.Own(c)
	if err != nil || src == nil {
		return own, err
	}
	for task, err := range src.Tasks(ctx) {
		if err != nil {
			return own, fmt.Errorf("generating the same tasks: %w", err)
		}
		own.bySample[task.SampleID] = &task
		own.byText[[2]string{task.Starter[tasks.SolutionFile], task.Reference[tasks.SolutionFile]}] = &task
	}
	return own, nil
}

// same returns the generator's task that the record is.
func (o ownTasks) same(f file, r *readRecord) *tasks.Task {
	same := o.byText[[2]string{r.Starter[tasks.SolutionFile], r.Solution[tasks.SolutionFile]}]
	if same == nil || len(r.Starter) != 1 || len(r.Solution) != 1 || f.key.Set != "" && same.SampleID != r.DagID {
		return nil
	}
	return same
}

// instance is the number of the generator's task on the same sample, 0 if there
// is none.
func (o ownTasks) instance(f file, r *readRecord) int {
	same := o.same(f, r)
	if same == nil && f.key.Set != "" {
		same = o.bySample[r.DagID]
	}
	if same == nil {
		return 0
	}
	return same.Instance
}
