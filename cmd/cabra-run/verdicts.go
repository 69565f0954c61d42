package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/runner/score"
)

// scorerFacts is what a lock says of this version's scorer.
func scorerFacts() results.Scorer {
	return results.Scorer{Verdicts: score.Verdicts(),
		Versions: map[string]string{score.Strict: score.StrictVersion, score.Official: score.OfficialVersion}}
}

// bothVerdicts is the value of --scorer that stands for all of them.
const bothVerdicts = "both"

// verdictFlag is --scorer: by which verdict a trial counts as solved.
type verdictFlag struct {
	name string // "" is the run's first
	both bool   // whether "both" is a value
}

func (v *verdictFlag) addFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&v.name, "scorer", "", usage+": "+strings.Join(v.values(), ", ")+" (default strict)")
}

func (v *verdictFlag) values() []string {
	if v.both {
		return append(score.Verdicts(), bothVerdicts)
	}
	return score.Verdicts()
}

// check finds out whether there is such a verdict.
func (v *verdictFlag) check() error {
	if v.name != "" && !slices.Contains(v.values(), v.name) {
		return usagef("--scorer %q; there is: %s", v.name, strings.Join(v.values(), ", "))
	}
	return nil
}

// of is the chosen verdict on a run.
func (v *verdictFlag) of(lock results.Lock) string {
	if v.name == "" || v.name == bothVerdicts {
		return lock.Verdict()
	}
	return v.name
}
