package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"cabra-run/results"
	"cabra-run/sandbox/gateway"
	"cabra-run/tasks"
)

// ReplayFile is what came of a replay, a ReplayResult, among an attempt's
// artefacts.
const ReplayFile = "replay.json"

// ReplayResult compares an attempt with the one that it replays.
type ReplayResult struct {
	Run     string          `json:"run"`
	Attempt int             `json:"attempt"` // of the original's trial
	Outcome results.Outcome `json:"outcome"` // that it had
	gateway.ReplayReport
	// SameCode is whether both left the same code, nil where that was not
	// compared; Differs names the files that differ.
	SameCode *bool    `json:"same_code"`
	Differs  []string `json:"differs,omitempty"`
}

// Replays finds the attempts of an earlier run, so that a sweep can make each
// of them again with the answers that are recorded. Make one with ReplayFrom.
type Replays struct {
	store *results.Store
	index func() (map[replayName][]recordedTrial, error)
}

// replayName is what a trial and its replay have in common, whatever else has
// changed between the two runs.
type replayName struct {
	task         tasks.ID
	agent, model string
	repetition   int
}

type recordedTrial struct {
	version, digest string
	attempts        []results.Attempt // those that left something, by number
}

// ReplayFrom replays the attempts of a run, whose store must stay open. It is
// read when the first of them is asked for.
func ReplayFrom(store *results.Store) *Replays {
	r := &Replays{store: store}
	r.index = sync.OnceValues(r.read)
	return r
}

func (r *Replays) read() (map[replayName][]recordedTrial, error) {
	index := map[replayName][]recordedTrial{}
	for t, err := range r.store.Results(context.Background()) {
		if err != nil {
			return nil, fmt.Errorf("reading the run to be replayed: %w", err)
		}
		rec := recordedTrial{version: t.Version, digest: t.TaskDigest}
		for _, a := range t.Attempts {
			if a.HasArtefacts && a.Outcome != results.Cancelled {
				rec.attempts = append(rec.attempts, a.Attempt)
			}
		}
		n := replayName{t.TaskID, t.Agent, t.Model, t.Repetition}
		index[n] = append(index[n], rec)
	}
	return index, nil
}

// original is the attempt that another one replays.
type original struct {
	attempt results.Attempt
	traffic *gateway.Replay
}

// open reads the recording of an attempt: that of the same number, or else the
// last one, which decided the trial. A number of 0 means the last one. The
// reading ends with stop.
func (r *Replays) open(t results.Trial, number int, name string, stop <-chan struct{}) (*original, error) {
	attempt, err := r.find(t, number)
	if err != nil {
		return nil, err
	}
	root, err := r.store.OpenAttempt(attempt)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Open(results.RecordingFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("attempt %d of the original has no recording", attempt.Number)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	traffic, err := gateway.NewReplay(bounded(gateway.ReadRecording(file), stop), gateway.ReplayOptions{Name: name})
	if err != nil {
		return nil, fmt.Errorf("attempt %d of the original: %w", attempt.Number, err)
	}
	return &original{attempt, traffic}, nil
}

// maxReplayed bounds the bodies of a recording's requests together: each may
// repeat all of the one before in a few bytes, and all of them are read.
const maxReplayed = 4 << 30

// errReplayStopped ends the reading of a recording when the sweep ends.
var errReplayStopped = errors.New("the run was stopped")

// bounded are records up to maxReplayed, or until stop.
func bounded(records iter.Seq2[gateway.Record, error], stop <-chan struct{}) iter.Seq2[gateway.Record, error] {
	return func(yield func(gateway.Record, error) bool) {
		total := 0
		for rec, err := range records {
			select {
			case <-stop:
				err = errReplayStopped
			default:
				if total += len(rec.Request); err == nil && total > maxReplayed {
					err = fmt.Errorf("its requests have more than %d GiB", maxReplayed>>30)
				}
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

func (r *Replays) find(t results.Trial, number int) (results.Attempt, error) {
	index, err := r.index()
	if err != nil {
		return results.Attempt{}, err
	}
	list := index[replayName{t.TaskID, t.Agent, t.Model, t.Repetition}]
	if len(list) == 0 {
		return results.Attempt{}, errors.New("the original has no such trial")
	}
	trial := list[len(list)-1]
	if i := slices.IndexFunc(list, func(o recordedTrial) bool { return o.version == t.Version }); i >= 0 {
		trial = list[i]
	}
	switch {
	case trial.digest != t.TaskDigest:
		return results.Attempt{}, errors.New("the task is not the one that was recorded")
	case len(trial.attempts) == 0:
		return results.Attempt{}, errors.New("the original made no attempt that can be replayed")
	}
	for _, a := range trial.attempts {
		if a.Number == number {
			return a, nil
		}
	}
	return trial.attempts[len(trial.attempts)-1], nil
}

// openOriginal finds what the attempt replays, if anything. In a run that tries
// nothing again there is one attempt for each trial, and it replays the one
// that decided.
func (a *attempt) openOriginal() error {
	if a.sweep.Replay == nil {
		return nil
	}
	number, retry := a.record.Number, a.sweep.Store.Lock().RetryOf(a.trial)
	if len(retry.Classes) == 0 && retry.Infra+retry.Provider == 0 {
		number = 0
	}
	from := "recording" // a replay may have no other upstream
	if up := a.pair.Model.Upstream; up != nil {
		from = up.Name()
	}
	var err error
	a.original, err = a.sweep.Replay.open(a.trial, number, from, a.sweep.Stop.Reached(Halt))
	return err
}

// upstream is what answers the attempt's requests.
func (a *attempt) upstream() gateway.Upstream {
	if a.original != nil {
		return a.original.traffic
	}
	return a.pair.Model.Upstream
}

// diverged is closed when the attempt cannot be replayed any further.
func (a *attempt) diverged() <-chan struct{} {
	if a.original == nil {
		return nil
	}
	return a.original.traffic.Diverged()
}

// concludeReplay notes why a replay stopped. It says nothing about agent,
// provider or engine, and would be the same again.
func (a *attempt) concludeReplay() {
	if a.original == nil {
		return
	}
	a.staged = true
	if d := a.original.traffic.Report().Divergence; d != nil {
		a.evidence.Diverged = fmt.Sprintf("request %d: %s", d.Request, d.Reason)
		if d.Nearest > 0 {
			a.evidence.Diverged += fmt.Sprintf(" (nearest: recorded request %d); see %s", d.Nearest, ReplayFile)
		}
	}
}

// compareReplay says whether the code came out the same, in the reason and in
// what is written into the artefacts.
func (a *attempt) compareReplay() (*ReplayResult, error) {
	o := a.original
	r := &ReplayResult{Run: a.sweep.Replay.store.Lock().Run, Attempt: o.attempt.Number, Outcome: o.attempt.Outcome,
		ReplayReport: o.traffic.Report()}
	if now := a.record.Outcome; now == results.Cancelled || now == results.InfraError || r.Divergence != nil {
		return r, nil
	}
	was, err := a.originalCode()
	if err != nil {
		return r, err
	}
	for _, p := range a.task.Starter.Paths() {
		if text, ok := was[p]; ok != (a.code != nil) || text != a.code[p] {
			r.Differs = append(r.Differs, p)
		}
	}
	same := len(r.Differs) == 0
	if was != nil || a.code != nil {
		r.SameCode = &same
	}
	note := r.note(a.record.Outcome)
	if !same || a.record.Outcome != r.Outcome {
		a.notice(note)
	}
	if a.record.Reason != "" {
		note = a.record.Reason + "; " + note
	}
	a.record.Reason = plainLine(note)
	return r, nil
}

// originalCode is what the original left, nil where it left none. That its
// files are gone since is an error.
func (a *attempt) originalCode() (tasks.Files, error) {
	o := a.original
	was, err := StoredCode(a.sweep.Replay.store, o.attempt, a.task)
	if errors.Is(err, fs.ErrNotExist) && o.attempt.Unscored {
		return nil, nil
	}
	return was, err
}

// note is the result in a line.
func (r *ReplayResult) note(now results.Outcome) string {
	note := fmt.Sprintf("replay of attempt %d: ", r.Attempt)
	switch {
	case r.SameCode == nil:
		note += "neither left code"
	case *r.SameCode:
		note += "same code"
	default:
		note += "code differs in " + strings.Join(r.Differs, ", ")
	}
	if now != r.Outcome {
		note += fmt.Sprintf(", outcome was %s", r.Outcome)
	}
	if n := len(r.Drifts) + r.MoreDrifts; n > 0 {
		note += fmt.Sprintf(", %d texts drifted, %d of them tool results", n, r.ResultDrifts)
	}
	if r.Unused > 0 {
		note += fmt.Sprintf(", %d recorded requests were not made", r.Unused)
	}
	return note
}

// writeReplay compares the attempt with its original and keeps what came of it.
func (a *attempt) writeReplay() error {
	if a.original == nil {
		return nil
	}
	result, err := a.compareReplay()
	if err != nil { // the original's folder, not this run's
		a.notice(fmt.Sprintf("the code of the original could not be compared: %v", err))
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	return a.art.Root().WriteFile(ReplayFile, append(text, '\n'), 0o600)
}

// sessionID names the agent's session by the attempt's identity, so that a
// replay has the same.
func (a *attempt) sessionID() string {
	name := fmt.Sprintf("cabra-run/%s/%d", a.trial.Key, a.record.Number)
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()
}
