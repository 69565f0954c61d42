package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
)

func newAudit(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "audit RUN",
		Short: "hold everything that a run says against what it was made from",
		Long: `Checks a run that is not being worked on, and changes nothing: the database and its
books; the plan against the lock; the task set against what this version generates;
for every attempt the artefacts, and the recorded traffic against the booked requests
and tokens; the verdicts of every finished trial; and keys in stored files, as far as
this machine knows them. The exit code is 1 when anything does not fit.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			store, err := a.openRun(args[0], results.ReadOnly)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			return audit(ctx, a, store)
		},
	}
}

// auditing collects what does not fit.
type auditing struct {
	app   *app
	store *results.Store
	wrong int
}

func audit(ctx context.Context, a *app, store *results.Store) error {
	if _, held, err := results.Held(store.Dir()); err == nil && held {
		return hinted(errors.New("this run is being worked on"), "audit it when it has ended; until then: "+a.command("status", store.Dir())+" --watch")
	}
	u := &auditing{app: a, store: store}
	u.say("database, its references and its sums", store.CheckSound(ctx))
	u.say("plan and task set", u.checkPlan(ctx))
	if err := u.checkTrials(ctx); err != nil {
		return err
	}
	if err := a.scanBeforeBundle(ctx, store); err != nil {
		u.say("keys in stored files", err)
	}
	drifts, err := store.Drifts(ctx)
	if err != nil {
		return err
	}
	for _, d := range drifts {
		fmt.Fprintf(a.stdout, "note   continued under other conditions since %s: %s\n", d.At.Format(time.DateTime), printableLine(d.Difference.String()))
	}
	if u.wrong > 0 {
		return fmt.Errorf("%d things do not fit", u.wrong)
	}
	fmt.Fprintln(a.stdout, "everything fits")
	return nil
}

// say prints one line of the audit.
func (u *auditing) say(what string, err error) {
	if err == nil {
		fmt.Fprintf(u.app.stdout, "ok     %s\n", what)
		return
	}
	u.wrong++
	fmt.Fprintf(u.app.stdout, "WRONG  %s: %s\n", what, printableLine(err.Error()))
}

// checkPlan holds the planned trials against the lock, and the lock's task set
// against what is generated today.
func (u *auditing) checkPlan(ctx context.Context) error {
	lock := u.store.Lock()
	src, err := lockedSource(lock)
	if err != nil {
		return err
	}
	set, statements, err := tasks.SetDigest(ctx, src)
	if err != nil {
		return err
	}
	if set != lock.Tasks.Digest || statements != lock.Tasks.Statements {
		return errors.New("this version generates other tasks or statements than the run was made with")
	}
	want := 0
	for seq := range src.Len() * lock.Repetitions * len(lock.Pairs()) {
		if lock.Shard.Has(seq) {
			want++
		}
	}
	counts, err := u.store.Counts(ctx)
	if err != nil {
		return err
	}
	whole := lock.Origin == nil || lock.Origin.Filter == ""
	if counts.Planned > want || whole && counts.Planned != want {
		return fmt.Errorf("%d trials are planned, by the lock it is %d", counts.Planned, want)
	}
	return nil
}

// checkTrials looks at every trial with its attempts, and prints what is wrong
// with each, and a line for all that is right.
func (u *auditing) checkTrials(ctx context.Context) error {
	before, trials, attempts, requests := u.wrong, 0, 0, 0
	for t, err := range u.store.Results(ctx) {
		if err != nil {
			return err
		}
		trials++
		if err := checkVerdicts(t, u.store.Lock()); err != nil {
			u.say(string(t.TaskID)+": verdicts", err)
		}
		for _, at := range t.Attempts {
			attempts++
			n, err := u.checkAttempt(ctx, at.Attempt)
			requests += n
			if err != nil {
				u.say(fmt.Sprintf("%s: attempt %d", t.TaskID, at.Number), err)
			}
		}
	}
	if u.wrong == before {
		u.say(fmt.Sprintf("%d trials: verdicts, artefacts of %d attempts, %d recorded requests", trials, attempts, requests), nil)
	}
	return nil
}

// checkVerdicts wants exactly the lock's verdicts on a trial whose code was kept.
func checkVerdicts(t results.TrialResult, lock results.Lock) error {
	if t.State != results.StateDone || t.Scorable() == nil {
		return nil
	}
	for _, name := range lock.Verdicts() {
		if t.VerdictOf(name) == nil {
			return fmt.Errorf("the %s one is missing", name)
		}
	}
	for _, v := range t.Verdicts {
		if v.Attempt != t.Verdicts[0].Attempt {
			return errors.New("they are on different attempts")
		}
	}
	return nil
}

// checkAttempt holds the recording of an attempt against the booked requests. It
// returns how many it has compared.
func (u *auditing) checkAttempt(ctx context.Context, at results.Attempt) (int, error) {
	if !at.HasArtefacts {
		return 0, nil
	}
	root, err := u.store.OpenAttempt(at)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	booked, err := u.store.Exchanges(ctx, at.TrialKey, at.Number)
	if err != nil {
		return 0, err
	}
	f, err := root.Open(results.RecordingFile)
	if errors.Is(err, fs.ErrNotExist) && len(booked) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	bySeq := map[int]results.Exchange{}
	for _, e := range booked {
		bySeq[e.Seq] = e
	}
	n := 0
	for rec, err := range gateway.ReadRecording(f) {
		switch {
		case err != nil && at.Outcome == results.Cancelled:
			return n, nil // cut off in the middle of a line
		case err != nil:
			return n, err
		case rec.Seq == 0:
			continue
		}
		n++
		e, ok := bySeq[rec.Seq]
		if !ok {
			return n, fmt.Errorf("request %d is recorded and not booked", rec.Seq)
		}
		if err := sameUsage(rec, e); err != nil {
			return n, err
		}
		delete(bySeq, rec.Seq)
	}
	for seq, e := range bySeq {
		if e.Complete { // one that was cut off need not have been recorded
			return n, fmt.Errorf("request %d is booked as complete and not recorded", seq)
		}
	}
	return n, nil
}

func sameUsage(rec gateway.Record, e results.Exchange) error {
	if rec.Usage == nil {
		return nil
	}
	for _, pair := range [][2]*int64{{rec.Usage.Input, e.Usage.Input}, {rec.Usage.Output, e.Usage.Output}, {rec.Usage.Cached, e.Usage.Cached}} {
		if (pair[0] == nil) != (pair[1] == nil) || pair[0] != nil && *pair[0] != *pair[1] {
			return fmt.Errorf("request %d is booked with other tokens than were recorded", rec.Seq)
		}
	}
	return nil
}
