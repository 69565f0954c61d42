package main

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/tasks"
	"cabra-run/tasks/official"
)

// unknownVersion stands for what official files do not say.
const unknownVersion = "unknown"

type importOptions struct {
	taskOptions
	run     string
	agent   string
	jobs    int
	noScore bool
}

func newImport(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "take a packed run, or answers that another harness recorded",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newImportResponses(a), newImportBundle(a))
	return cmd
}

func newImportResponses(a *app) *cobra.Command {
	o := &importOptions{}
	cmd := &cobra.Command{
		Use:   "responses DIR --run NAME --tasks TREE|--grid GRID",
		Short: "take official response files into a new run, and score them",
		Long: `Reads the official response files in DIR (or in DIR/responses), makes a new run of
one agent and model out of them, and scores it; report then shows it like any
other. Each record becomes one attempt. The tasks are those of a folder of
official files (--tasks) or generated ones (--grid), as far as DIR has files for
them; those without a record stay pending.

What is odd in the files is counted, printed, and kept in the run's import.json.
No response file is changed.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.run == "":
				return usagef("--run is missing: a name for the new run")
			case o.grid == "" && o.files == "":
				return usagef("the tasks are missing: give --tasks TREE, or --grid GRID for generated ones")
			case o.jobs < 1:
				return usagef("--jobs %d: at least 1", o.jobs)
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return importResponses(ctx, a, o, args[0])
		},
	}
	f := cmd.Flags()
	o.taskOptions.addFlags(cmd)
	f.Lookup("grid").Usage = "preset, task id or expression"
	f.StringVar(&o.run, "run", "", "name or path of the new run")
	f.StringVar(&o.agent, "agent", "", "whose answers to take, such as copilot/gpt-5.5, where there are several")
	f.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "trials scored at the same time")
	f.BoolVar(&o.noScore, "no-score", false, "leave the scoring to: cabra-run score RUN")
	return cmd
}

// importing is an import under way.
type importing struct {
	app     *app
	options *importOptions
	dir     string
	root    *os.Root
	source  tasks.Source
	groups  []*importGroup
	who     official.ResponseFile // agent and model alone
	known   map[official.Key]*knownTask
	notices official.Notices
	record  importRecord
}

// importRecord is the contents of import.json.
type importRecord struct {
	Responses string            `json:"responses"` // the folder
	Agent     string            `json:"agent"`
	Model     string            `json:"model"`
	Files     []string          `json:"files"`
	Tasks     int               `json:"tasks"` // with a response file
	Outcomes  map[string]int    `json:"outcomes"`
	Notices   []official.Notice `json:"notices"`
}

// importGroup is the response files for one file of tasks, and its tasks.
type importGroup struct {
	key   official.Key // without DagID
	files []official.ResponseFile
	tasks []*knownTask // in the order of the source
}

// knownTask is what an import has to know of a task.
type knownTask struct {
	key      official.Key
	trial    results.Trial // without agent, settings and place
	starter  map[string]string
	imported bool
}

func importResponses(ctx context.Context, a *app, o *importOptions, dir string) (err error) {
	if _, err := os.Stat(a.runPath(o.run)); err == nil {
		return hinted(fmt.Errorf("there is a run %q already", o.run), "choose another --run NAME")
	}
	im := &importing{app: a, options: o, dir: dir}
	if im.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	defer im.root.Close()
	if im.source, err = o.source(); err != nil {
		return err
	}
	lock, err := im.prepare(ctx)
	if err != nil {
		return err
	}
	return im.fill(ctx, lock)
}

// prepare finds out what there is, before anything is made.
func (im *importing) prepare(ctx context.Context) (results.Lock, error) {
	if tree, ok := im.source.(*official.Tree); ok {
		im.notices.AddAll(tree.Notices())
	}
	files, odd, err := official.ListResponses(im.root)
	if err != nil {
		return results.Lock{}, err
	}
	im.notices.AddAll(odd)
	if files, err = im.choose(files); err != nil {
		return results.Lock{}, err
	}
	im.known = map[official.Key]*knownTask{}
	set, statements, err := tasks.SetDigest(ctx, observed{im.source, im.learner()})
	if err != nil {
		return results.Lock{}, fmt.Errorf("reading tasks: %w", err)
	}
	if err := im.group(files); err != nil {
		return results.Lock{}, err
	}
	return im.lock(set, statements)
}

// choose picks the files of one agent and model.
func (im *importing) choose(files []official.ResponseFile) ([]official.ResponseFile, error) {
	of := map[string][]official.ResponseFile{}
	for _, f := range files {
		name := f.Agent + "/" + f.Model
		of[name] = append(of[name], f)
	}
	names := slices.Sorted(maps.Keys(of))
	want := im.options.agent
	switch {
	case len(names) == 0:
		return nil, hinted(fmt.Errorf("there are no response files in %q", im.dir),
			"their paths end in RUN/TASK_SET/TASK_TYPE/AGENT/MODEL.jsonl or RUN/AGENT/MODEL.jsonl")
	case want == "" && len(names) > 1:
		return nil, usagef("there are answers of several agents; choose one by --agent: %s", strings.Join(names, ", "))
	case want == "":
		want = names[0]
	case len(of[want]) == 0:
		return nil, usagef("--agent %q; there is: %s", want, strings.Join(names, ", "))
	}
	im.who = official.ResponseFile{Agent: "official-" + of[want][0].Agent, Model: of[want][0].Model}
	return of[want], nil
}

// learner notes what has to be known of each task. In a folder of files the
// files say where a task is, else its official name.
func (im *importing) learner() func(t *tasks.Task) {
	keys := map[tasks.ID]official.Key{}
	tree, fromFiles := im.source.(*official.Tree)
	if fromFiles {
		for k, id := range tree.Keys() {
			keys[id] = k
		}
	}
	return func(t *tasks.Task) {
		k, ok := keys[t.ID]
		if !fromFiles {
			k, ok = official.KeyOf(t)
		}
		if !ok {
			return
		}
		known := &knownTask{key: k, starter: map[string]string{}, trial: results.Trial{
			TaskID: t.ID, TaskDigest: t.Digest() + "+" + t.StatementDigest(), Cell: t.Cell,
			Instance: t.Instance, SampleID: t.SampleID, Repetition: 1}}
		for name, text := range t.Starter {
			known.starter[name] = strings.Trim(text, "\n")
		}
		im.known[k] = known
	}
}

// observed shows the tasks of a source to a function as they pass.
type observed struct {
	tasks.Source
	see func(*tasks.Task)
}

func (o observed) Tasks(ctx context.Context) iter.Seq2[tasks.Task, error] {
	return func(yield func(tasks.Task, error) bool) {
		for t, err := range o.Source.Tasks(ctx) {
			if err == nil {
				o.see(&t)
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// group brings the response files together with their tasks.
func (im *importing) group(files []official.ResponseFile) error {
	groups := map[official.Key]*importGroup{}
	for k, t := range im.known {
		k.DagID = ""
		if groups[k] == nil {
			groups[k] = &importGroup{key: k}
		}
		groups[k].tasks = append(groups[k].tasks, t)
	}
	for _, f := range files {
		g := groups[f.Key]
		if g == nil {
			im.notices.Add(official.UnknownFile, f.Path)
			continue
		}
		if len(g.files) == 0 {
			im.groups = append(im.groups, g)
		}
		g.files = append(g.files, f)
		im.record.Files = append(im.record.Files, f.Path)
	}
	if len(im.groups) == 0 {
		im.app.sayNotices(im.notices.List())
		return hinted(fmt.Errorf("none of the response files in %q is for one of the tasks", im.dir),
			"compare their folders with those of: cabra-run tasks write --format official")
	}
	order := tasks.CellOrder()
	for _, g := range im.groups {
		slices.SortFunc(g.tasks, func(a, b *knownTask) int { return a.trial.Instance - b.trial.Instance })
		im.record.Tasks += len(g.tasks)
	}
	slices.SortStableFunc(im.groups, func(a, b *importGroup) int {
		return order(a.tasks[0].trial.Cell, b.tasks[0].trial.Cell)
	})
	return nil
}

// lock is what can be said of a run that somebody else made.
func (im *importing) lock(set, statements string) (results.Lock, error) {
	o := im.options
	grid, err := o.parseGrid(o.grid)
	if err != nil {
		return results.Lock{}, err
	}
	files, err := absolute(o.files)
	if err != nil {
		return results.Lock{}, err
	}
	from, err := absolute(im.dir)
	if err != nil {
		return results.Lock{}, err
	}
	prompts := ownPrompts
	if o.prompts != "" {
		prompts = o.prompts
	}
	im.record.Responses, im.record.Agent, im.record.Model = from, im.who.Agent, im.who.Model
	return results.Lock{
		Run: o.run, Created: time.Now().UTC(), Program: programVersion(),
		Tasks: results.TaskSet{Grid: grid.Name, Seed: o.seed, Scheme: o.scheme(), Count: im.source.Len(),
			Digest: set, Statements: statements, Prompts: prompts, Files: files},
		Agent: results.Agent{Name: im.who.Agent, Version: unknownVersion}, Model: im.who.Model,
		Provider:    results.Provider{Description: "official response files in " + from},
		Repetitions: 1, Network: unknownVersion,
		Retry:  results.Retry{Attempts: 1}, // nothing is tried again
		Scorer: scorerFacts(), Host: hostFacts(),
	}, nil
}
