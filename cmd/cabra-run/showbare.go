package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/runner/model"
	"cabra-run/tasks"
)

// shownModel is a model without tools with what it would be asked.
type shownModel struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	About   string   `json:"about"`
	Needs   string   `json:"needs"`
	Wires   []string `json:"wires"`
	Wire    string   `json:"wire"`
	Effort  string   `json:"effort"` // "" when the model is not told any
	Prompt  string   `json:"prompt"`
}

// showBare prints what a model without tools would be asked.
func showBare(a *app, ag agent.Agent, name string, ask runner.Ask) error {
	t := ag.Traits()
	code := tasks.Files{tasks.SolutionFile: "# the task's code\n"}
	s := shownModel{Name: ag.Name(), Version: ag.Version(), About: t.About, Needs: t.Needs, Wires: t.Wires, Wire: ask.Wire,
		Effort: model.Effort(ask.Wire, name, ask.Effort), Prompt: model.Prompt(model.Form(t.Bare), code, shownPrompt)}
	if a.json {
		return a.printJSON(s)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "agent\t%s %s: %s\nneeds\t%s\nwire\t%s (of %s)\neffort\t%s\n", s.Name, s.Version, s.About, s.Needs,
		s.Wire, strings.Join(s.Wires, ", "), orNothing(s.Effort))
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "\nprompt")
	for line := range strings.Lines(s.Prompt) {
		fmt.Fprintf(a.stdout, "  %s\n", strings.TrimRight(line, "\n"))
	}
	return nil
}
