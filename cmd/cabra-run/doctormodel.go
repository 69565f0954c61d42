package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/gateway/provider"
)

// modelCheck is a model that doctor checks.
type modelCheck struct {
	model, agent string
	providerOptions
}

func (o *modelCheck) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.model, "model", "", "check this model too: provider, key, price, and one tiny answer")
	f.StringVar(&o.agent, "agent", "", "agent that is to ask it (default: the provider's first wire format is tried)")
	o.providerOptions.addFlags(f)
}

// checkModel says line by line what a model is asked with, and asks it for one
// tiny answer.
func (a *app) checkModel(ctx context.Context, o modelCheck) error {
	ag, err := o.findAgent()
	if err != nil {
		return err
	}
	def, err := a.sayProvider(o, ag)
	if err != nil {
		return err
	}
	m, lock, err := o.find(ag)
	if err != nil {
		return err
	}
	if lock.Scripted {
		a.say("model    " + o.model + " is a fixed policy: no key, no cost")
		return nil
	}
	wire, err := pickWire(ag, m)
	if err != nil {
		return err
	}
	a.sayAsking(o, def, lock, wire)
	if o.noPreflight {
		a.say("model    not asked (--no-preflight)")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, preflightTime)
	defer cancel()
	begin := time.Now()
	if err := preflightOf(ctx, m, wire); err != nil {
		return hinted(err, preflightAdvice(err, def))
	}
	a.say(fmt.Sprintf("model    %s answers (%.1fs)", m.Wire, time.Since(begin).Seconds()))
	return nil
}

// findAgent is the agent that is to ask, nil where none is named.
func (o modelCheck) findAgent() (agent.Agent, error) {
	if o.agent == "" {
		return nil, nil
	}
	ag, err := agent.Find(o.agent)
	if err != nil {
		return nil, &codedError{err: err, code: exitUsage}
	}
	if !ag.Traits().AsksModel() {
		return nil, usagef("agent %s asks no model", ag.Name())
	}
	return ag, nil
}

// find is the model as a run of the agent would find it.
func (o modelCheck) find(ag agent.Agent) (runner.Model, results.Provider, error) {
	if ag == nil {
		return parseModel(o.model, o.providerOptions)
	}
	return agentModel(ag, o.model, o.providerOptions)
}

// sayProvider says what a provider is and where its definition stands; nil for
// models that need none.
func (a *app) sayProvider(o modelCheck, ag agent.Agent) (*provider.Definition, error) {
	if _, free := scriptedBehaviour(o.model); free || o.baseURL != "" {
		return nil, nil
	}
	if ag != nil && asksLogin(ag, o.model, o.providerOptions) {
		return nil, nil
	}
	registry, err := provider.Load(o.providers)
	if err != nil {
		return nil, &codedError{err: err, code: exitUsage}
	}
	def, _, err := registry.Resolve(o.model)
	if err != nil {
		return nil, &codedError{err: fmt.Errorf("--model: %w", err), code: exitUsage, hint: o.choices(err)}
	}
	a.say(fmt.Sprintf("provider %s: %s (%s)", def.Name, def.About, def.Origin))
	return def, nil
}

// pickWire is the wire format in which the agent would ask.
func pickWire(ag agent.Agent, m runner.Model) (string, error) {
	if ag == nil {
		return m.Wires[0], nil
	}
	ask, err := asking{}.choose(ag, m)
	return ask.Wire, err
}

func (a *app) sayAsking(o modelCheck, def *provider.Definition, lock results.Provider, wire string) {
	if def == nil {
		a.say("provider " + lock.Description)
		a.say("key      there")
	} else {
		a.say("address  " + addresses(def))
		a.say("key      " + keyState(def.Key))
	}
	who := "the provider's first; --agent NAME tries the agent's"
	if o.agent != "" {
		who = "agent " + o.agent
	}
	a.say(fmt.Sprintf("wire     %s (%s)", wire, who))
	price := lock.Prices
	if price == "unknown" {
		price = "unknown: costs will be shown as unknown unless the provider tells them; give one by --prices FILE"
	}
	a.say("price    " + price)
}

// keyState says where the key is. What has not failed by now was found; a
// command is run when the model is asked.
func keyState(k provider.Key) string {
	switch {
	case k.None():
		return "none is needed"
	case len(k.Command) > 0:
		return k.String() + ", run at each use"
	}
	return k.String() + ": there"
}

// preflightAdvice is what to do about a provider that does not answer.
func preflightAdvice(err error, def *provider.Definition) string {
	var failed *gateway.PreflightError
	if !errors.As(err, &failed) {
		return ""
	}
	key, origin := "--api-key-env, --api-key-file or CABRA_API_KEY", "--base-url"
	if def != nil {
		key, origin = def.Key.String(), "the definition of "+def.Name+" ("+def.Origin+")"
	}
	switch failed.Kind {
	case gateway.PreflightKey:
		return "the key is read from: " + key
	case gateway.PreflightMoney:
		return "top the provider's account up, or use another key: " + key
	case gateway.PreflightModel:
		return "check the model's name in the provider's list"
	case gateway.PreflightSilent:
		return "check this machine's network and proxy, and the address in " + origin
	case gateway.PreflightAddress:
		if failed.Status == 0 { // nobody has answered; the name is unknown perhaps because there is no network
			return "check this machine's network, and the address in " + origin
		}
		return "check the address in " + origin
	case gateway.PreflightBroken:
		return "try again later; see the provider's status page"
	}
	return "check the wire formats in " + origin
}
