package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"cabra-run/results"
	"cabra-run/tasks"
	"cabra-run/tasks/official"
)

// importFile says in a run's folder where its answers came from.
const importFile = "import.json"

// fill makes the run.
func (im *importing) fill(ctx context.Context, lock results.Lock) (err error) {
	var k *kit
	if !im.options.noScore {
		if k, err = im.app.openKit(ctx, nil, "", min(im.options.jobs, runtime.NumCPU())); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, k.close(context.WithoutCancel(ctx))) }()
		fillEnvironment(&lock, k)
	}
	store, err := results.Create(im.app.runPath(im.options.run), lock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := im.store(ctx, store); err != nil {
		return hinted(fmt.Errorf("the import was cut off: %w", err),
			"remove the folder "+store.Dir()+" and import again")
	}
	if k != nil {
		if err := im.score(ctx, store, k); err != nil {
			return hinted(err, "all answers are in the run; score those that are left: cabra-run score "+im.options.run)
		}
	}
	return im.conclude(ctx, store)
}

// store plans the trials and records all attempts.
func (im *importing) store(ctx context.Context, store *results.Store) error {
	im.record.Outcomes = map[string]int{}
	var trials []results.Trial
	for _, g := range im.groups {
		for _, t := range g.tasks {
			t.trial.Agent, t.trial.Version, t.trial.Model = im.who.Agent, unknownVersion, im.who.Model
			t.trial.Settings, t.trial.Seq = store.Lock().Settings, len(trials)
			t.trial.Key = results.TrialKey(t.trial)
			trials = append(trials, t.trial)
		}
	}
	if err := store.Plan(ctx, trials); err != nil {
		return err
	}
	for _, g := range im.groups {
		if err := im.storeGroup(ctx, store, g); err != nil {
			return err
		}
	}
	im.record.Notices = im.notices.List()
	return writeFile(filepath.Join(store.Dir(), importFile), func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(im.record)
	})
}

// storeGroup records the answers of a group. Where several files answer a task,
// as after a run was renamed, the last one counts.
func (im *importing) storeGroup(ctx context.Context, store *results.Store, g *importGroup) error {
	last := map[string]placedResponse{}
	for _, f := range g.files {
		list, odd, err := f.Read(im.root)
		if err != nil {
			return fmt.Errorf("reading %q: %w", f.Path, err)
		}
		im.notices.AddAll(odd)
		for _, r := range list {
			placed := placedResponse{r, fmt.Sprintf("%s: line %d", f.Path, r.Line)}
			if _, again := last[r.DagID]; again {
				im.notices.Add(official.RepeatedName, placed.where)
			}
			last[r.DagID] = placed
		}
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		k := g.key
		k.DagID = id
		if im.known[k] == nil {
			im.notices.Add(official.UnknownTask, last[id].where)
		}
	}
	for _, t := range g.tasks {
		if err := im.storeTask(ctx, store, t, last); err != nil {
			return fmt.Errorf("importing the answer to %s: %w", t.trial.TaskID, err)
		}
	}
	return nil
}

// placedResponse is a response with where it was.
type placedResponse struct {
	official.Response
	where string
}

func (im *importing) storeTask(ctx context.Context, store *results.Store, t *knownTask, last map[string]placedResponse) error {
	r, ok := last[t.key.DagID]
	switch {
	case !ok:
		im.notices.Add(official.MissingAnswer, string(t.trial.TaskID))
		return nil
	case r.Running:
		im.notices.Add(official.RunningRecord, r.where)
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	a, code := im.judge(t, r)
	im.record.Outcomes[string(a.Outcome)]++
	return saveAttempt(context.WithoutCancel(ctx), store, t.trial.Key, a, code, r.Response)
}

// judge says how the attempt of a record ended.
func (im *importing) judge(t *knownTask, r placedResponse) (results.Attempt, tasks.Files) {
	a := results.Attempt{WallSeconds: r.Seconds, TraceState: "none", Requests: 1}
	names := slices.Sorted(maps.Keys(t.starter))
	code, banners := official.SplitOutput(r.Output, names)
	if banners > 0 {
		im.notices.Add(official.BannerLine, r.where)
	}
	switch {
	case r.Output == "" && r.Error != "":
		im.notices.Add(official.ErrorRecord, r.where)
		a.Outcome, a.Reason = results.AgentError, r.Error
		return a, nil
	case r.Output == "":
		im.notices.Add(official.EmptyOutput, r.where)
		a.Outcome, a.Reason = results.NoOutput, "the record has no output"
		return a, nil
	case len(code) < len(names) || strings.TrimSpace(code[tasks.SolutionFile]) == "":
		im.notices.Add(official.NoSolution, r.where)
		a.Outcome, a.Reason = results.NoOutput, "the output lacks "+tasks.SolutionFile+" or another file of the task"
		return a, nil
	}
	a.Outcome, a.Answers = results.Answered, 1
	if maps.Equal(code, t.starter) {
		im.notices.Add(official.UnchangedAnswer, r.where)
		a.Unchanged, a.Reason = true, "the code equals the starter"
	}
	return a, code
}

// saveAttempt records an attempt in the order of every other one: start, usage,
// files, end.
func saveAttempt(ctx context.Context, store *results.Store, key string, a results.Attempt, code tasks.Files, r official.Response) error {
	started, err := store.StartAttempt(ctx, key)
	if err != nil {
		return err
	}
	a.TrialKey, a.Number, a.Path, a.Started = key, started.Number, started.Path, started.Started
	a.Ended = time.Now().UTC()
	// One exchange stands for all that the record does not tell apart.
	err = store.AddExchange(ctx, key, a.Number, results.Exchange{Seq: 1, Started: a.Started, Ended: a.Ended,
		Complete: a.Outcome == results.Answered, Error: r.Error,
		Usage: results.Usage{Input: r.InputTokens, Output: r.OutputTokens}})
	if err != nil {
		return err
	}
	if err := saveFiles(ctx, store, a, code); err != nil {
		return err
	}
	return store.Collected(ctx, a)
}

func saveFiles(ctx context.Context, store *results.Store, a results.Attempt, code tasks.Files) (err error) {
	art, err := store.BeginArtefacts(a.TrialKey, a.Number)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, art.Discard()) }()
	for _, name := range code.Paths() {
		to := filepath.Join(results.FilesDir, filepath.FromSlash(name))
		if err := art.Root().MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := art.Root().WriteFile(to, []byte(code[name]), 0o600); err != nil {
			return err
		}
	}
	return art.Commit(ctx, a)
}

// score judges what was answered.
func (im *importing) score(ctx context.Context, store *results.Store, k *kit) error {
	todo, err := storedCode(ctx, store)
	if err != nil {
		return err
	}
	quiet := *im.app
	quiet.stdout = io.Discard // every verdict is a new one
	r := &rescoring{app: &quiet, store: store, scorer: k.scorer, todo: todo}
	if err := r.run(ctx, im.source, im.options.jobs); err != nil {
		return err
	}
	if r.defective > 0 {
		return fmt.Errorf("%d answers are to defective tasks and were not scored", r.defective)
	}
	return nil
}

// conclude prints what became of the files.
func (im *importing) conclude(ctx context.Context, store *results.Store) error {
	missing := im.record.Tasks
	for _, n := range im.record.Outcomes {
		missing -= n
	}
	if !im.options.noScore {
		if err := printReport(ctx, im.app, store, reportOptions{}); err != nil {
			return err
		}
	}
	im.app.sayNotices(im.notices.List())
	words := []string{}
	for _, o := range results.Outcomes() {
		if n := im.record.Outcomes[string(o)]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, o))
		}
	}
	im.app.say(fmt.Sprintf("imported %d answers of %s %s to %d tasks: %s; %d pending", im.record.Tasks-missing,
		im.who.Agent, im.who.Model, im.record.Tasks, strings.Join(words, ", "), missing))
	next := "again: " + im.app.command("report", im.options.run)
	if im.options.noScore {
		next = "score it: " + im.app.command("score", im.options.run)
	}
	im.app.say(fmt.Sprintf("results: %s   %s", store.Dir(), next))
	if missing > 0 {
		return silent(exitIncomplete)
	}
	return nil
}
