package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/gateway"
)

// chosen is an agent with the model that it is given, every value checked.
type chosen struct {
	agent    agent.Agent
	model    runner.Model
	ask      runner.Ask
	provider results.Provider
	retry    results.Retry
}

func (c chosen) String() string { return c.agent.Name() + " with " + c.model.Name }

// pairings pairs every agent with every model. An agent that asks no model is
// there once.
func (o *sweepOptions) pairings() ([]chosen, error) {
	if err := missing("--agent", strings.Join(o.agents, ""), "cabra-run agents"); err != nil {
		return nil, err
	}
	retry, err := o.sweepKnobs.retry()
	if err != nil {
		return nil, err
	}
	var list []chosen
	for _, name := range o.agents {
		ag, err := agent.Find(name)
		if err != nil {
			return nil, &codedError{err: err, code: exitUsage}
		}
		models := o.models
		if !ag.Traits().AsksModel() {
			models = []string{""}
		} else if err := missing("--model", strings.Join(models, ""), "cabra-run --help"); err != nil {
			return nil, err
		}
		for _, model := range models {
			c, err := o.pair(ag, model, retry)
			if err != nil {
				return nil, o.ofPair(err, name, model)
			}
			list = append(list, c)
		}
	}
	return list, checkDistinct(list)
}

// ofPair says which of several pairings an error is about.
func (o *sweepOptions) ofPair(err error, agentName, model string) error {
	if len(o.agents)*len(o.models) < 2 {
		return err
	}
	coded := &codedError{err: fmt.Errorf("--agent %s with --model %s: %w", agentName, model, err), code: exitError}
	var c *codedError
	if errors.As(err, &c) {
		coded.code, coded.hint = c.code, c.hint
	}
	return coded
}

func (o *sweepOptions) pair(ag agent.Agent, model string, retry results.Retry) (chosen, error) {
	c := chosen{agent: ag, retry: retry}
	var err error
	if c.model, c.provider, err = agentModel(ag, model, o.providerOptions); err != nil {
		return c, err
	}
	if c.ask, err = o.choose(ag, c.model); err != nil {
		return c, err
	}
	if c.provider.Scripted {
		c.retry.Provider = 0 // its failures are meant
	}
	if ag.Traits().Bare != "" && (o.given == nil || !o.given("attempts")) {
		c.retry.Attempts = 1 // which asks up to ten times
	}
	return c, nil
}

// checkDistinct refuses two pairings that no record of a trial could tell apart.
func checkDistinct(list []chosen) error {
	seen := map[string]bool{}
	for _, c := range list {
		id := c.agent.Name() + "@" + c.agent.Version() + " " + c.model.Name
		if seen[id] {
			return usagef("%s is there twice; for more trials of each task there is: --repetitions", c)
		}
		seen[id] = true
	}
	return nil
}

// locked are the pairings as a lock has them.
func locked(list []chosen) []results.Pairing {
	var out []results.Pairing
	for _, c := range list {
		out = append(out, results.Pairing{Agent: lockedAgent(c.agent, c.ask), Model: c.model.Name,
			Provider: c.provider, Retry: c.retry})
	}
	return out
}

// setPairings writes pairings into a lock: the first one in its own fields, all
// of them where there are several.
func setPairings(l *results.Lock, list []results.Pairing) {
	first := list[0]
	l.Agent, l.Model, l.Provider, l.Retry = first.Agent, first.Model, first.Provider, first.Retry
	l.Pairings = nil
	if len(list) > 1 {
		l.Pairings = list
	}
}

// restorePairings makes the pairings of a lock again, with the provider flags of
// today.
func restorePairings(lock results.Lock, o providerOptions) ([]chosen, error) {
	var list []chosen
	for _, p := range lock.Pairs() {
		ag, err := agent.Restore(p.Agent.Name, p.Agent.Version, p.Agent.Definition, p.Agent.File)
		if err != nil {
			return nil, err
		}
		c := chosen{agent: ag, retry: p.Retry}
		if c.model, c.provider, err = agentModel(ag, p.Model, o.withEndpoint(p)); err != nil {
			return nil, err
		}
		if c.ask, err = (asking{p.Agent.Effort, p.Agent.Instructions}).choose(ag, c.model); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// lockedPairings makes the pairings of a run that is continued.
func lockedPairings(lock results.Lock, o providerOptions) ([]chosen, error) {
	if lock.Replays() {
		return replayPairings(lock)
	}
	return restorePairings(lock, o)
}

// withEndpoint takes the endpoint from a lock's pairing where none is given.
func (o providerOptions) withEndpoint(p results.Pairing) providerOptions {
	if p.Provider.TLS != "" { // what the box held and what was recorded must not change within a run
		o.tls, o.baseURL = p.Provider.TLS, ""
	}
	if url := lockedEndpoint(p.Provider.Description); url != "" && o.baseURL == "" {
		o.baseURL = url
		if len(o.wires) == 0 && p.Agent.Wire != "" {
			o.wires = []string{p.Agent.Wire}
		}
	}
	return o
}

// lockedEndpoint is the address of a run's own endpoint, "" of a provider with a
// definition, whatever that says about itself.
func lockedEndpoint(description string) string {
	for _, prefix := range []string{ownEndpoint, "OpenAI-compatible endpoint "} { // the latter of older runs
		if url, ok := strings.CutPrefix(description, prefix); ok && !strings.ContainsRune(url, ' ') {
			return url
		}
	}
	return ""
}

// preflightAll asks each model once, in the wire format of the first agent that
// asks it.
func (a *app) preflightAll(ctx context.Context, o providerOptions, list []chosen) error {
	var asked []string
	for _, c := range list {
		if slices.Contains(asked, c.model.Name) {
			continue
		}
		asked = append(asked, c.model.Name)
		if err := a.preflight(ctx, o, c.model, c.ask.Wire); err != nil {
			return err
		}
	}
	return nil
}

// parseFor checks the budgets against the price of every model.
func (o budgetOptions) parseFor(list []chosen) (gateway.BudgetOptions, error) {
	var out gateway.BudgetOptions
	var err error
	for _, c := range list {
		if out, err = o.parse(c.model); err != nil {
			return out, err
		}
	}
	return out, nil
}

// agentsOf are the agents of pairings, each once.
func agentsOf(list []chosen) []agent.Agent {
	var out []agent.Agent
	for _, c := range list {
		if !slices.ContainsFunc(out, func(a agent.Agent) bool { return a.Name() == c.agent.Name() && a.Version() == c.agent.Version() }) {
			out = append(out, c.agent)
		}
	}
	return out
}

// pairingsOf are what the runner needs of pairings.
func pairingsOf(list []chosen, k *kit) []runner.Pairing {
	var out []runner.Pairing
	for _, c := range list {
		out = append(out, runner.Pairing{Agent: c.agent, Model: c.model, Ask: c.ask, Image: k.image(c.agent.Recipe())})
	}
	return out
}
