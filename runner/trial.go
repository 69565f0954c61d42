package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"cabra-run/results"
	"cabra-run/runner/score"
	"cabra-run/sandbox"
	"cabra-run/tasks"
)

// trial makes attempts until the trial is decided, and has the last one's code
// scored. Only a store that cannot be written ends the sweep.
func (s *Sweep) trial(ctx context.Context, open *openTrial, task *tasks.Task) {
	if open.toScore != nil { // its attempts are made
		s.finish(ctx, open, task, open.toScore, nil)
		return
	}
	attempts, retry := open.attempts, s.retryOf(open)
	var code tasks.Files
	for retry.Again(attempts) {
		if s.Stop.Level() >= Drain {
			return // the next attempt is for a resume
		}
		if err := s.pauseBefore(ctx, attempts[len(open.attempts):]); err != nil {
			return
		}
		if !s.awaitEngine(ctx) || !s.awaitRoom(ctx) {
			return
		}
		a, err := s.attempt(ctx, open, task)
		s.leaveRoom(a)
		if err != nil {
			s.fail(fmt.Errorf("recording an attempt of %s: %w", task.ID, err))
			return
		}
		attempts = append(attempts, a.record)
		code = a.code
		s.judgeSweep(a)
		if a.record.Outcome == results.Cancelled {
			return
		}
		if a.evidence.Diverged != "" {
			break // it would again
		}
	}
	s.finish(ctx, open, task, &attempts[len(attempts)-1], code)
}

// retryOf says how often a trial is tried. It is a function of its own because
// a lock is large, and what a trial holds on its stack it may hold for hours.
//
//go:noinline
func (s *Sweep) retryOf(open *openTrial) results.Retry { return s.Store.Lock().RetryOf(open.trial) }

// pauseBefore waits between two attempts that this process makes.
func (s *Sweep) pauseBefore(ctx context.Context, made []results.Attempt) error {
	if len(made) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a drain does not wait for a pause to end
		select {
		case <-s.Stop.Reached(Drain):
			cancel()
		case <-ctx.Done():
		}
	}()
	return s.Pause(ctx, pause(len(made)-1))
}

// judgeSweep pauses the sweep when too much goes wrong outside of the agents.
func (s *Sweep) judgeSweep(a *attempt) {
	if a.staged && a.record.Outcome != results.InfraError {
		return // a scripted failure is meant, it says nothing about the provider
	}
	if a.record.Outcome == results.InfraError && s.noteEngine(a.evidence.Fault, a.spell) {
		return // many attempts that one engine took along are one failure
	}
	if why := s.breaker.record(a.record.Outcome, a.record.Reason, a.permanent); why != "" {
		s.pause(why)
	}
}

// judgeScoring pauses the sweep where nothing can be scored any more, before
// more is paid for. A task or code that cannot be scored alone, and a sweep that
// ends, say nothing about the scorer.
func (s *Sweep) judgeScoring(ctx context.Context, err error) {
	var broken *score.TaskDefect
	if ctx.Err() != nil || s.Stop.Level() > Running || errors.As(err, &broken) || errors.Is(err, fs.ErrNotExist) {
		return
	}
	if why := s.scoring.unscored(err); why != "" {
		s.pause(why)
	}
}

func (s *Sweep) pause(why string) {
	s.mu.Lock()
	first := s.paused == ""
	if first {
		s.paused = why
	}
	s.mu.Unlock()
	s.Stop.Raise(Drain, why)
	if first {
		s.Observer.observe(Event{Kind: Notice, Reason: "pausing: " + why})
	}
}

// finish scores the code of a trial's last attempt and says that it is done.
// The word that it says goes by the run's first verdict.
func (s *Sweep) finish(ctx context.Context, open *openTrial, task *tasks.Task, last *results.Attempt, code tasks.Files) {
	word, reason := string(last.Outcome), last.Reason
	if last.Outcome.HasCode() && !last.Unscored {
		verdicts, err := s.score(ctx, open, task, last, code)
		if err == nil || len(verdicts) == 0 { // a scorer that gives one of two verdicts is not broken
			s.judgeScoring(ctx, err)
		}
		if err != nil {
			s.Observer.observe(Event{Who: s.who(open.pair), Kind: Notice, Task: task.ID,
				Repetition: open.trial.Repetition, Attempt: last.Number, Reason: plainLine(notScored(verdicts, err))})
			return
		}
		if v := verdictOf(verdicts, s.Store.Lock().Verdict()); v != nil && last.Outcome == results.Answered {
			word, reason = results.Failed, v.Reason
			if v.Solved {
				word = results.Solved
			}
		}
	}
	s.Observer.observe(Event{Who: s.who(open.pair), Kind: TrialDone, Task: task.ID,
		Repetition: open.trial.Repetition, Attempt: last.Number, Outcome: last.Outcome, Word: word, Reason: reason})
}

// notScored says what is missing of a trial's verdicts, and why.
func notScored(have []results.Verdict, err error) string {
	if len(have) == 0 {
		return fmt.Sprintf("not scored yet, a resume will do it: %v", err)
	}
	return fmt.Sprintf("only the %s verdict was given, a resume will add the other: %v", have[0].Scorer, err)
}

func verdictOf(list []results.Verdict, scorer string) *results.Verdict {
	for i := range list {
		if list[i].Scorer == scorer {
			return &list[i]
		}
	}
	return nil
}

// score records the verdicts that a trial lacks and returns all that it has
// then. One that could not be given costs no other; it is tried again as an
// attempt would be.
func (s *Sweep) score(ctx context.Context, open *openTrial, task *tasks.Task, a *results.Attempt, code tasks.Files) ([]results.Verdict, error) {
	have := open.verdicts
	if code == nil { // of an attempt that an earlier process made
		var err error
		if code, err = StoredCode(s.Store, *a, task); err != nil {
			return have, err
		}
	}
	for k := 0; ; k++ {
		missing := slices.DeleteFunc(s.verdicts(), func(name string) bool { return verdictOf(have, name) != nil })
		if len(missing) == 0 {
			return have, nil
		}
		spell := s.engine.now()
		given, err := s.Scorer.ScoreBy(ctx, task, code, missing...)
		s.passed(StepScored)
		for _, v := range given {
			if err := s.Store.SetVerdict(context.WithoutCancel(ctx), open.trial.Key, a.Number, v); err != nil {
				s.fail(fmt.Errorf("recording a verdict on %s: %w", task.ID, err))
				return have, err
			}
			have = append(have, v)
			s.passed(StepVerdict)
		}
		if err == nil && len(given) < len(missing) {
			err = fmt.Errorf("the scorer gave %d of the verdicts %s", len(given), strings.Join(missing, ", "))
		}
		if err == nil {
			return have, nil
		}
		var broken *score.TaskDefect // the same tomorrow
		if k >= s.retryOf(open).Infra || ctx.Err() != nil || errors.As(err, &broken) {
			return have, err
		}
		s.noteEngine(err, spell)
		if why := s.Pause(ctx, pause(k)); why != nil {
			return have, why
		}
		if !s.awaitEngine(ctx) {
			return have, err
		}
	}
}

// verdicts names those that a trial of this sweep gets.
func (s *Sweep) verdicts() []string {
	if len(s.Verdicts) > 0 {
		return slices.Clone(s.Verdicts)
	}
	return slices.Clone(s.Store.Lock().Verdicts())
}

// StoredCode reads the starter's files as a recorded attempt left them.
func StoredCode(store *results.Store, a results.Attempt, task *tasks.Task) (tasks.Files, error) {
	root, err := store.OpenAttempt(a)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	code := tasks.Files{}
	for p := range task.Starter {
		text, err := readBounded(root, path.Join(results.FilesDir, p))
		if err != nil {
			return nil, fmt.Errorf("reading code of attempt %d of %s: %w", a.Number, task.ID, err)
		}
		code[p] = string(text)
	}
	return code, nil
}

// readBounded reads a file no longer than one that is collected: a run may come
// from elsewhere.
func readBounded(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	most := sandbox.DefaultCollectLimits().FileBytes
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%q has more than %d bytes", name, most)
	}
	return text, err
}
