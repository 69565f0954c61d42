package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
)

// asking are the flags that say what the agent is told beside its task.
type asking struct {
	effort       string
	instructions bool
}

func (o *asking) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.effort, "effort", "", "reasoning effort that the agent is told (default: its own; llm: medium where the model's family takes one)")
	f.BoolVar(&o.instructions, "workspace-instructions", false,
		"let AGENTS.md, CLAUDE.md and the like in a task's workspace instruct the agent")
}

// sampleJob is an attempt's job with the parts that only the attempt has made up.
func sampleJob(model, prompt string, ask runner.Ask) agent.Job {
	return agent.Job{
		Model: model, Prompt: prompt, Root: "http://127.0.0.1:8017/****", BaseURL: "http://127.0.0.1:8017/****/v1",
		Wire: ask.Wire, Effort: ask.Effort, Instructions: ask.Instructions,
		SessionID: "00000000-0000-4000-8000-000000000000", Workspace: sandbox.WorkspaceDir, Home: sandbox.HomeDir,
		Login:    sampleLogin(ask),
		Solution: map[string]string{"solution.py": "# the reference solution\n"},
	}
}

// sampleLogin is what the box is given for a login, if it has one.
func sampleLogin(ask runner.Ask) agent.Login {
	if ask.Wire != agent.WireLogin {
		return agent.Login{}
	}
	return agent.Login{Proxy: "http://box:****@127.0.0.1:8017", CA: "(certificate of the run)\n", Token: "(a dummy of the token)"}
}

// choose picks the wire format, and tries what the agent would be told, so that
// a model name or an effort that it cannot take shows before anything is made.
func (o asking) choose(ag agent.Agent, m runner.Model) (runner.Ask, error) {
	wire, err := agent.PickWireFor(ag, m.Wire, m.Wires)
	if err != nil {
		return runner.Ask{}, &codedError{err: err, code: exitUsage}
	}
	ask := runner.Ask{Wire: wire, Effort: o.effort, Instructions: o.instructions}
	if !ag.Traits().AsksModel() && ask != (runner.Ask{}) {
		return ask, usagef("agent %s asks no model: --effort and --workspace-instructions say nothing to it", ag.Name())
	}
	if _, err := ag.Launch(sampleJob(m.Agent, "a task", ask)); err != nil {
		return ask, &codedError{err: err, code: exitUsage}
	}
	return ask, o.checkEffort(ag)
}

// efforts are the words that providers are known to take. An agent of one's own
// may know others.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// checkEffort finds a misspelt effort before every attempt fails by it.
func (o asking) checkEffort(ag agent.Agent) error {
	if o.effort == "" || ag.Traits().Definition != "" || slices.Contains(efforts, o.effort) {
		return nil
	}
	return usagef("--effort %q; there is: %s", o.effort, strings.Join(efforts, ", "))
}

// noModel stands where a model would, for agents that ask none.
func noModel() (runner.Model, results.Provider, error) {
	up, err := gateway.NewScripted("idle") // nobody asks it
	if err != nil {
		return runner.Model{}, results.Provider{}, fmt.Errorf("readying the scripted model: %w", err)
	}
	return runner.Model{Name: "none", Agent: "none", Wire: "none", Upstream: up},
		results.Provider{Description: "no model is asked"}, nil
}

// agentModel is the model that answers an agent, if it asks one.
func agentModel(ag agent.Agent, name string, o providerOptions) (runner.Model, results.Provider, error) {
	if !ag.Traits().AsksModel() {
		return noModel()
	}
	if asksLogin(ag, name, o) {
		return loginModel(ag, name, o)
	}
	return parseModel(name, o)
}

// wireNames are the gateway's wire formats as agents name them.
func wireNames(wires ...gateway.Wire) []string {
	var names []string
	for _, w := range wires {
		names = append(names, string(w))
	}
	return slices.Clip(names)
}

// lockedAgent is how a lock names an agent and what it is told.
func lockedAgent(ag agent.Agent, ask runner.Ask) results.Agent {
	return results.Agent{Name: ag.Name(), Version: ag.Version(), Wire: ask.Wire, Effort: ask.Effort,
		Instructions: ask.Instructions, Definition: ag.Traits().Definition,
		File: ag.Traits().File}
}
