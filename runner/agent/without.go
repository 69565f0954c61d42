package agent

import (
	"errors"
	"os"

	"cabra-run/results/trace"
)

// nothing is a program that ends at once, well.
const nothing = "/bin/true"

// reference is no agent: its box is given the reference solution, and the model
// is not asked. Every task is solved, or the harness is broken.
type reference struct{}

// Name implements Agent.
func (reference) Name() string { return "reference" }

// Version implements Agent.
func (reference) Version() string { return "1" }

// Recipe implements Agent.
func (reference) Recipe() string { return "base" }

// Traits implements Agent.
func (reference) Traits() Traits {
	return Traits{About: "writes the reference solution, asks no model: for gates and load tests",
		Needs: "nothing", Image: Image{Recipe: "base"}, Success: Success{Exit: true}, Solution: true}
}

// Launch implements Agent.
func (reference) Launch(j Job) (Launch, error) {
	if len(j.Solution) == 0 {
		return Launch{}, errors.New("agent reference: the task has no reference solution")
	}
	return Launch{Args: []string{nothing}, Env: []string{}, Workspace: j.Solution, Signal: "TERM"}, nil
}

// ReadTrace implements Agent.
func (reference) ReadTrace(*os.Root, string, Job) (*trace.Trace, error) { return nil, nil }

// nop is an agent that does nothing: every trial is a failure that costs what
// the harness costs.
type nop struct{}

// Name implements Agent.
func (nop) Name() string { return "nop" }

// Version implements Agent.
func (nop) Version() string { return "1" }

// Recipe implements Agent.
func (nop) Recipe() string { return "base" }

// Traits implements Agent.
func (nop) Traits() Traits {
	return Traits{About: "ends at once, asks no model: for gates and load tests",
		Needs: "nothing", Image: Image{Recipe: "base"}, Success: Success{Exit: true}}
}

// Launch implements Agent.
func (nop) Launch(Job) (Launch, error) {
	return Launch{Args: []string{nothing}, Env: []string{}, Signal: "TERM"}, nil
}

// ReadTrace implements Agent.
func (nop) ReadTrace(*os.Root, string, Job) (*trace.Trace, error) { return nil, nil }
