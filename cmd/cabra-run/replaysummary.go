package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"cabra-run/results"
	"cabra-run/runner"
)

// maxReplayFile bounds what is read of an attempt's comparison.
const maxReplayFile = 16 << 20

// replaySummary counts what came of a replay.
type replaySummary struct {
	same, differ, stopped, without int
	drifts, unused                 int
}

// printReplay says how many attempts came out as they were recorded, and names
// those that did not.
func printReplay(ctx context.Context, a *app, store *results.Store) error {
	var sum replaySummary
	for t, err := range store.Results(ctx) {
		if err != nil {
			return err
		}
		final := t.Final()
		if final == nil || !final.HasArtefacts {
			sum.without++
			continue
		}
		r, err := readReplay(store, final.Attempt)
		if err != nil {
			return err
		}
		if bad := sum.add(r); bad != "" {
			a.say(fmt.Sprintf("%s (%s, %s): %s", t.TaskID, t.Agent, t.Model, printableLine(cmp.Or(final.Reason, bad))))
		}
	}
	_, err := fmt.Fprintf(a.stdout, "\nReplay: %d came out with the same code, %d with other code, %d stopped at a\n"+
		"request that does not fit the recording, %d without a comparison;\n"+
		"%d texts drifted, %d recorded requests were not made.\n"+
		"Details: replay.json of each attempt.\n", sum.same, sum.differ, sum.stopped, sum.without, sum.drifts, sum.unused)
	if err == nil && sum.differ > 0 {
		err = &codedError{err: fmt.Errorf("%d attempts left other code than was recorded", sum.differ), code: exitIncomplete,
			hint: "see replay.json and changes.patch of these attempts in " + store.Dir()}
	}
	return err
}

// add counts one result and says what is wrong with it, if anything is.
func (s *replaySummary) add(r *runner.ReplayResult) string {
	if r == nil {
		s.without++
		return "without a comparison"
	}
	s.drifts += len(r.Drifts) + r.MoreDrifts
	s.unused += r.Unused
	switch {
	case r.Divergence != nil:
		s.stopped++
		return "stopped at a request that does not fit the recording"
	case r.SameCode == nil:
		s.without++
		return "without a comparison"
	case *r.SameCode:
		s.same++
		return ""
	}
	s.differ++
	return "other code"
}

// readReplay is what an attempt's comparison says, nil where there is none.
func readReplay(store *results.Store, at results.Attempt) (*runner.ReplayResult, error) {
	root, err := store.OpenAttempt(at)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(runner.ReplayFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxReplayFile))
	if err != nil {
		return nil, err
	}
	r := &runner.ReplayResult{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("reading %s of attempt %s: %w", runner.ReplayFile, at.Path, err)
	}
	return r, nil
}
