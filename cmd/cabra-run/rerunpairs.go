package main

import (
	"fmt"
	"slices"
	"strings"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
)

// pairs are the agents and models of the new run: the old one's, or each of the
// given with each of those that are not.
func (o *rerunOptions) pairs(lock results.Lock) ([]chosen, error) {
	switch {
	case o.replay:
		return replayPairings(lock)
	case len(o.agents)+len(o.models) == 0:
		return restorePairings(lock, o.providerOptions)
	}
	var list []chosen
	agents, err := o.newAgents(lock)
	if err != nil {
		return nil, err
	}
	for _, ag := range agents {
		for _, model := range o.newModels(lock, ag) {
			c, err := o.pair(lock, ag, model)
			if err != nil {
				return nil, err
			}
			list = append(list, c)
		}
	}
	return list, checkDistinct(list)
}

// pair pairs an agent with a model of which at least one is new.
func (o *rerunOptions) pair(lock results.Lock, ag agent.Agent, model string) (c chosen, err error) {
	asked, ask := o.providerOptions, asking{lock.Agent.Effort, lock.Agent.Instructions}
	for _, p := range lock.Pairs() {
		same := p.Agent.Name == ag.Name() && p.Agent.Version == ag.Version()
		if p.Model == model && (same || p.Provider.TLS == "") { // asked where it was asked
			asked = asked.withEndpoint(p)
		}
		if same {
			ask = asking{p.Agent.Effort, p.Agent.Instructions}
		}
	}
	c.agent = ag
	if c.model, c.provider, err = agentModel(ag, model, asked); err != nil {
		return c, err
	}
	c.retry = retryLike(lock, ag, c)
	c.ask, err = ask.choose(ag, c.model)
	return c, err
}

// retryLike is when a new pairing gets another attempt: by the rules of the old
// run, but for what is another for its kind of agent and model.
func retryLike(lock results.Lock, ag agent.Agent, c chosen) results.Retry {
	r, usual := lock.Retry, results.DefaultRetry()
	first := lock.Pairs()[0]
	for _, p := range lock.Pairs() {
		if p.Agent.Name == ag.Name() && p.Model == c.model.Name {
			return p.Retry
		}
	}
	bare := ag.Traits().Bare != ""
	old, err := agent.Restore(first.Agent.Name, first.Agent.Version, first.Agent.Definition, first.Agent.File)
	if was := err == nil && old.Traits().Bare != ""; was != bare {
		r.Attempts = usual.Attempts
		if bare {
			r.Attempts = 1 // it asks up to ten times
		}
	}
	if first.Provider.Scripted != c.provider.Scripted {
		r.Provider = usual.Provider
		if c.provider.Scripted {
			r.Provider = 0 // its failures are meant
		}
	}
	return r
}

// budgets are those that were given, or else the old run's: a rerun may not
// spend more because nobody has thought of it.
func (o *rerunOptions) budgets(lock results.Lock) budgetOptions {
	if o.replay {
		return budgetOptions{}
	}
	return o.budgetOptions.over(lock.Budget)
}

// samePart refuses to run a shard again with another number of pairings: which
// trials are in a shard goes by their places in the plan, and those would be others.
func samePart(was results.Lock, pairs []chosen) error {
	if was.Shard.Count <= 1 || len(pairs) == len(was.Pairs()) {
		return nil
	}
	return usagef("the run is shard %s of a plan with %d agents and models, and with %d its trials would be others: "+
		"merge the shards first", was.Shard, len(was.Pairs()), len(pairs))
}

// newAgents are the agents that were given, or those of the lock.
func (o *rerunOptions) newAgents(lock results.Lock) ([]agent.Agent, error) {
	var list []agent.Agent
	for _, name := range o.agents {
		ag, err := agent.Find(name)
		if err != nil {
			return nil, &codedError{err: err, code: exitUsage}
		}
		list = append(list, ag)
	}
	if len(list) > 0 {
		return list, nil
	}
	var seen []string
	for _, p := range lock.Pairs() {
		id := p.Agent.Name + "@" + p.Agent.Version
		if slices.Contains(seen, id) {
			continue
		}
		seen = append(seen, id)
		ag, err := agent.Restore(p.Agent.Name, p.Agent.Version, p.Agent.Definition, p.Agent.File)
		if err != nil {
			return nil, err
		}
		list = append(list, ag)
	}
	return list, nil
}

// newModels are the models that were given, or those of the lock.
func (o *rerunOptions) newModels(lock results.Lock, ag agent.Agent) []string {
	if !ag.Traits().AsksModel() {
		return []string{""}
	}
	if len(o.models) > 0 {
		return o.models
	}
	var list []string
	for _, p := range lock.Pairs() {
		if !slices.Contains(list, p.Model) {
			list = append(list, p.Model)
		}
	}
	return list
}

// kept are the new pairings as they would be if nothing but what was asked for
// had changed: what they have of the old ones is as it was there.
func kept(was, now []results.Pairing) []results.Pairing {
	list := slices.Clone(now)
	for i, n := range now {
		for _, w := range was {
			agent := w.Agent.Name == n.Agent.Name && w.Agent.Version == n.Agent.Version
			if agent && w.Model == n.Model {
				list[i].Agent, list[i].Provider = w.Agent, w.Provider
				break
			}
			if agent {
				list[i].Agent = w.Agent
				list[i].Agent.Wire = n.Agent.Wire // goes by the model, too
			}
			if w.Model == n.Model && w.Provider.TLS == n.Provider.TLS {
				list[i].Provider = w.Provider
			}
		}
	}
	return list
}

// withAgentImages are the old images, with those of agents that the old run did
// not have taken from the new ones.
func withAgentImages(was, now []results.Image) []results.Image {
	var list []results.Image
	for _, img := range now {
		i := slices.IndexFunc(was, func(w results.Image) bool { return w.Name == img.Name })
		if i >= 0 {
			img = was[i]
		}
		list = append(list, img)
	}
	return list
}

// replayPairings makes the pairings of a run whose answers come from its own
// recording: no provider is looked up, and no key is read.
func replayPairings(lock results.Lock) ([]chosen, error) {
	once := results.Retry{Attempts: 1} // the attempt that decided is replayed, once
	var list []chosen
	for _, p := range lock.Pairs() {
		if p.Provider.TLS != "" {
			return nil, fmt.Errorf("%s asked with a login (--tls %s): such a run cannot be replayed", p.Agent.Name, p.Provider.TLS)
		}
		ag, err := agent.Restore(p.Agent.Name, p.Agent.Version, p.Agent.Definition, p.Agent.File)
		if err != nil {
			return nil, err
		}
		if !ag.Traits().AsksModel() {
			c := chosen{agent: ag, retry: once}
			if c.model, c.provider, err = noModel(); err != nil {
				return nil, err
			}
			list = append(list, c)
			continue
		}
		told := toldModel(p)
		list = append(list, chosen{agent: ag, retry: once, provider: p.Provider,
			model: runner.Model{Name: p.Model, Agent: told, Wire: told, Wires: []string{p.Agent.Wire}},
			ask:   runner.Ask{Wire: p.Agent.Wire, Effort: p.Agent.Effort, Instructions: p.Agent.Instructions}})
	}
	return list, nil
}

// toldModel is the name by which an agent was told its model.
func toldModel(p results.Pairing) string {
	if p.Provider.Scripted {
		return scriptedModel
	}
	if lockedEndpoint(p.Provider.Description) == "" {
		if name, ok := strings.CutPrefix(p.Model, p.Provider.Name+"/"); ok && p.Provider.Name != "" {
			return name
		}
	}
	return p.Model
}
