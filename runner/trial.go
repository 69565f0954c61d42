package runner

import (
	"context"
	"fmt"
	"path"

	"cabra-run/results"
	"cabra-run/tasks"
)

// trial makes attempts until the trial is decided, and has the last one's code
// scored. Only a store that cannot be written ends the sweep.
func (s *Sweep) trial(ctx context.Context, open openTrial, task *tasks.Task) {
	attempts := open.attempts
	var code tasks.Files
	for s.Settings.Retry.Again(attempts) {
		if s.Stop.Level() >= Drain {
			return // the next attempt is for a resume
		}
		if err := s.pauseBefore(ctx, attempts[len(open.attempts):]); err != nil {
			return
		}
		a, err := s.attempt(ctx, open.trial, task)
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
	}
	s.finish(ctx, open.trial, task, attempts[len(attempts)-1], code)
}

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
	if a.staged {
		return // a scripted failure is meant, it says nothing about the provider
	}
	if why := s.breaker.record(a.record.Outcome, a.record.Reason, a.permanent); why != "" {
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
func (s *Sweep) finish(ctx context.Context, t results.Trial, task *tasks.Task, last results.Attempt, code tasks.Files) {
	word, reason := string(last.Outcome), last.Reason
	if last.Outcome.HasCode() && !last.Unscored {
		v, err := s.score(ctx, t, task, last, code)
		if err != nil {
			s.Observer.observe(Event{Kind: Notice, Task: task.ID, Attempt: last.Number,
				Reason: plainLine(fmt.Sprintf("not scored yet, a resume will do it: %v", err))})
			return
		}
		if last.Outcome == results.Answered {
			word, reason = results.Failed, v.Reason
			if v.Solved {
				word = results.Solved
			}
		}
	}
	s.Observer.observe(Event{Kind: TrialDone, Task: task.ID, Attempt: last.Number, Outcome: last.Outcome, Word: word, Reason: reason})
}

// score judges code and records the verdict; a failure of the engine is tried
// again as an attempt would be.
func (s *Sweep) score(ctx context.Context, t results.Trial, task *tasks.Task, a results.Attempt, code tasks.Files) (results.Verdict, error) {
	if code == nil { // of an attempt that an earlier process made
		var err error
		if code, err = StoredCode(s.Store, a, task); err != nil {
			return results.Verdict{}, err
		}
	}
	for k := 0; ; k++ {
		v, err := s.Scorer.Score(ctx, task, code)
		if err == nil {
			if err := s.Store.SetVerdict(context.WithoutCancel(ctx), t.Key, a.Number, v); err != nil {
				s.fail(fmt.Errorf("recording the verdict of %s: %w", task.ID, err))
				return v, err
			}
			return v, nil
		}
		if k >= s.Settings.Retry.Infra || ctx.Err() != nil {
			return v, err
		}
		if err := s.Pause(ctx, pause(k)); err != nil {
			return v, err
		}
	}
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
		text, err := root.ReadFile(path.Join(results.FilesDir, p))
		if err != nil {
			return nil, fmt.Errorf("reading code of attempt %d of %s: %w", a.Number, task.ID, err)
		}
		code[p] = string(text)
	}
	return code, nil
}
