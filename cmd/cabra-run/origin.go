package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cabra-run/results"
	"cabra-run/runner"
)

// followOrigin picks the trials of a rerun, and where it is a replay takes its
// answers from the original. Runs of their own are left as they are.
//
// The function that it returns gives up what the sweep needs of the original.
func (a *app) followOrigin(ctx context.Context, s *runner.Sweep, store *results.Store) (release func() error, err error) {
	release = func() error { return nil }
	from := store.Lock().Origin
	if from == nil {
		return release, nil
	}
	planned, err := store.Trials(ctx)
	if err != nil {
		return release, err
	}
	if len(planned) > 0 { // what the filter took then; the original may have changed since
		s.Select = among(s.Select, planned)
		if !from.Replay { // the original is not needed any more
			return release, nil
		}
	}
	old, err := openOrigin(from)
	if err != nil {
		return release, err
	}
	if len(planned) == 0 {
		picked, err := pickTrials(ctx, old, from.Filter)
		if err != nil {
			return release, errors.Join(err, old.Close())
		}
		s.Select = alike(s.Select, picked, samePairings(old.Lock(), store.Lock()))
	}
	if from.Replay {
		s.Replay = runner.ReplayFrom(old)
	}
	return old.Close, nil
}

// openOrigin opens the run that another one was made from, and no other that
// lies in its place by now.
func openOrigin(from *results.Origin) (*results.Store, error) {
	old, err := results.Open(from.Dir, results.ReadOnly)
	if err != nil {
		return nil, hinted(fmt.Errorf("opening the run that this one runs again: %w", err), "put it back at "+from.Dir)
	}
	digest, err := lockDigest(from.Dir)
	if err == nil && digest != from.Lock {
		err = hinted(fmt.Errorf("the run in %q is not the one that this one runs again", from.Dir), "put run "+from.Run+" back there")
	}
	if err != nil {
		return nil, errors.Join(err, old.Close())
	}
	return old, nil
}

// lockDigest tells runs apart: it is that of a run's lock.
func lockDigest(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), err
}

// pickTrials are the trials of a run that a filter takes.
func pickTrials(ctx context.Context, old *results.Store, filter string) ([]results.Trial, error) {
	f, err := results.ParseFilter(filter)
	if err != nil {
		return nil, err
	}
	var picked []results.Trial
	for t, err := range old.Results(ctx) {
		if err != nil {
			return nil, err
		}
		if f.Match(t) {
			picked = append(picked, t.Trial)
		}
	}
	return picked, nil
}

type selection = func(results.Trial) bool

// among selects trials that are planned already.
func among(also selection, planned []results.Trial) selection {
	keys := map[string]bool{}
	for _, t := range planned {
		keys[t.Key] = true
	}
	return func(t results.Trial) bool { return keys[t.Key] && (also == nil || also(t)) }
}

// alike selects trials of the same task and repetition as one that was picked
// and, where both runs have the same pairings, of the same agent and model.
func alike(also selection, picked []results.Trial, same bool) selection {
	id := func(t results.Trial) string {
		text := fmt.Sprintf("%s|%d", t.TaskID, t.Repetition)
		if same {
			text += "|" + t.Agent + "@" + t.Version + "|" + t.Model
		}
		return text
	}
	ids := map[string]bool{}
	for _, t := range picked {
		ids[id(t)] = true
	}
	return func(t results.Trial) bool { return ids[id(t)] && (also == nil || also(t)) }
}

// samePairings reports whether two runs have the same agents and models.
func samePairings(a, b results.Lock) bool {
	return slices.EqualFunc(a.Pairs(), b.Pairs(), func(x, y results.Pairing) bool {
		return x.Agent.Name == y.Agent.Name && x.Agent.Version == y.Agent.Version && x.Model == y.Model
	})
}
