package runner

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path"
	"time"

	"cabra-run/results"
	"cabra-run/runner/model"
	"cabra-run/sandbox"
	"cabra-run/tasks"
)

// conversationFile is the trace of a bare model, in the attempt's trace folder.
const conversationFile = "conversation.jsonl"

// asked is what came of asking a bare model.
type asked struct {
	model.Result
	err error
}

// performBare makes an attempt of a model without tools: there is no box, the
// gateway is asked from here, and the answer is the code.
func (a *attempt) performBare(ctx context.Context) {
	defer a.close(ctx)
	asker, err := a.openBare()
	if err != nil {
		a.fault(ctx, err)
		return
	}
	said, err := a.converse(ctx, asker)
	a.record.WallSeconds = time.Since(a.started).Seconds()
	if err == nil && a.evidence.Ended == endedItself {
		err = said.err
	}
	a.fault(ctx, errors.Join(err, a.keep(said.Result)))
	a.readTrace()
	a.evidence.Heard = a.evidence.Trace != nil && a.evidence.Trace.Turns > 0
}

// openBare opens the gateway on a listener in memory and returns who asks there.
func (a *attempt) openBare() (model.Asker, error) {
	pipes := newPipes()
	a.conn = pipes
	if err := a.openGateway(); err != nil {
		return nil, err
	}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{DialContext: pipes.dial, DisableCompression: true}}
	asker, err := model.NewAsker(a.job.Wire, a.job.Root, client)
	if err != nil {
		return nil, &sandbox.Fault{Op: "asking the model", Kind: sandbox.FaultBadSpec, Err: err}
	}
	return asker, nil
}

// converse asks the model, and watches over it.
func (a *attempt) converse(ctx context.Context, asker model.Asker) (asked, error) {
	dir, err := makeDir(a.art.Root(), results.TraceDir)
	if err != nil {
		return asked{}, err
	}
	defer dir.Close()
	log, err := dir.Create(conversationFile)
	if err != nil {
		return asked{}, err
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	a.started = a.sweep.now()
	a.sweep.passed(StepRunning)
	done := make(chan asked, 1)
	go func() {
		r, err := model.Solve(asking, asker, a.bareJob(), log)
		done <- asked{r, err}
	}()
	said, ended := a.watchBare(ctx, done)
	if !ended {
		cancel()
		said = <-done
	}
	a.collected.HomeState = "complete"
	return said, log.Close()
}

func (a *attempt) bareJob() model.Job {
	set, ag := a.sweep.Settings, a.pair.Agent
	return model.Job{
		Agent: ag.Name(), Version: ag.Version(), SessionID: a.job.SessionID,
		Form: model.Form(ag.Traits().Bare), Wire: a.job.Wire, Model: a.pair.Model.Wire, Effort: a.job.Effort,
		Code: a.task.Starter, Problem: a.task.Statement, AskTime: set.Timeout + set.MaxWait + slack,
	}
}

// watchBare waits until the conversation ends by itself; ended is false when
// something else has to end it.
func (a *attempt) watchBare(ctx context.Context, done <-chan asked) (said asked, ended bool) {
	tick := time.NewTicker(a.sweep.pollEvery())
	defer tick.Stop()
	for {
		select {
		case said = <-done:
			if ctx.Err() != nil {
				a.evidence.Ended = endedCancelled
			}
			return said, true
		case <-a.diverged():
			return asked{}, false
		case <-a.sweep.Stop.Reached(Halt):
			a.evidence.Ended = endedCancelled
			return asked{}, false
		case <-ctx.Done():
			a.evidence.Ended = endedCancelled
			return asked{}, false
		case now := <-tick.C:
			if s, struck := a.checkBare(now); struck {
				a.strike(s)
				return asked{}, false
			}
		}
	}
}

// checkBare returns the limit that the conversation breaks, if any. A model
// that thinks in silence gives no sign of work; waiting for the provider does.
func (a *attempt) checkBare(now time.Time) (strike, bool) {
	stats, set := a.gate.Stats(), a.sweep.Settings
	active := stats.LastActivity
	if active.Before(a.started) {
		active = a.started
	}
	limits := watchLimits{Timeout: set.Timeout, MaxWait: set.MaxWait, Stall: set.Stall}
	return limits.check(reading{Now: now, Started: a.started, Waited: stats.Waited, Quiet: now.Sub(active) - stats.Waited})
}

// keep writes the answer and the code that was read out of it.
func (a *attempt) keep(r model.Result) error {
	root := a.art.Root()
	err := errors.Join(root.WriteFile(results.StdoutFile, []byte(r.Text), 0o600),
		root.WriteFile(results.StderrFile, nil, 0o600))
	dst, dirErr := makeDir(root, results.FilesDir)
	if err = errors.Join(err, dirErr); err != nil {
		return err
	}
	defer dst.Close()
	if r.Files == nil {
		a.evidence.Detail = orText(a.evidence.Detail, r.Reason)
		return nil
	}
	for _, name := range r.Files.Paths() {
		if err := writeInto(dst, name, r.Files[name]); err != nil {
			return err
		}
		a.collected.Workspace.Files = append(a.collected.Workspace.Files,
			sandbox.CollectedFile{Path: name, Bytes: int64(len(r.Files[name])), Mode: 0o600})
	}
	a.setCode(r.Files)
	return nil
}

func (a *attempt) setCode(code tasks.Files) {
	a.code = code
	a.evidence.HasSolution = true
	a.evidence.Unchanged = code.Equal(a.task.Starter)
}

// writeInto writes a file below dst with the folders that it lies in.
func writeInto(dst *os.Root, name, text string) error {
	if dir := path.Dir(name); dir != "." {
		if err := dst.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return dst.WriteFile(name, []byte(text), 0o600)
}
