package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cabra-run/images"
	"cabra-run/runner"
	"cabra-run/runner/agent"
)

func newAgents(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "list the agents with their versions, wire formats, images and needs",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return listAgents(cmd.Context(), a) },
	}
	cmd.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON")
	cmd.AddCommand(newAgentsShow(a))
	return cmd
}

// agentLine is an agent in the list.
type agentLine struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Wires   []string `json:"wires"`
	Image   string   `json:"image"` // its tag when it is built
	Built   bool     `json:"built"`
	Needs   string   `json:"needs"`
	About   string   `json:"about"`
}

func listAgents(ctx context.Context, a *app) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	b, err := a.images("")
	if err != nil {
		return err
	}
	defer b.Close()
	list := []agentLine{}
	for _, ag := range agent.All() {
		list = append(list, lineOf(ctx, b, ag))
	}
	if a.json {
		return a.printJSON(list)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tVERSION\tWIRES\tIMAGE\tNEEDS")
	for _, l := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.Name, l.Version, orNothing(strings.Join(l.Wires, ",")), l.Image, l.Needs)
	}
	return w.Flush()
}

func lineOf(ctx context.Context, b *images.Builder, ag agent.Agent) agentLine {
	t := ag.Traits()
	l := agentLine{Name: ag.Name(), Version: ag.Version(), Wires: append([]string{}, t.Wires...), Needs: t.Needs, About: t.About}
	l.Image, l.Built = imageState(ctx, b, ag)
	return l
}

// imageState is the tag of an agent's image, or why there is none yet.
func imageState(ctx context.Context, b *images.Builder, ag agent.Agent) (string, bool) {
	if ag.Traits().Bare != "" {
		return orNothing(""), true
	}
	i := ag.Traits().Image
	if i.Recipe == "" {
		if img, built, err := b.LookupRecipe(ctx, ownRecipe(ag)); built && err == nil {
			return img.Tag, true
		}
		return "made of the definition at the first run", false
	}
	img, built, err := b.Lookup(ctx, i.Recipe)
	switch {
	case err != nil:
		return plainReason(err), false
	case built:
		return img.Tag, true
	}
	return "not built (cabra-run images build " + i.Recipe + ")", false
}

// plainReason is an error in one short line.
func plainReason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if r := []rune(line); len(r) > 60 {
		line = string(r[:60]) + "…"
	}
	return line
}

func orNothing(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// showOptions are what an attempt is shown with.
type showOptions struct {
	asking
	model string
	wire  string
}

func newAgentsShow(a *app) *cobra.Command {
	o := &showOptions{}
	cmd := &cobra.Command{
		Use:   "show AGENT",
		Short: "print the command line, environment and files of an attempt, secrets masked",
		Long: `Prints exactly what is started in the box of an attempt: NAME, NAME@VERSION or
a FILE.toml of your own. The attempt's address is masked: whoever has it can ask
the model. No key of a provider is in any box. Of a model without tools (llm) it
prints the prompt.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return showAgent(a, o, args[0]) },
	}
	o.asking.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.model, "model", "MODEL", "model name that the agent is told")
	cmd.Flags().StringVar(&o.wire, "wire", "", "wire format (default: the agent's first)")
	return cmd
}

// shownAgent is an agent with what an attempt would start.
type shownAgent struct {
	Name       string            `json:"name"`
	Version    string            `json:"version"`
	About      string            `json:"about"`
	Needs      string            `json:"needs"`
	Image      agent.Image       `json:"image"`
	Wires      []string          `json:"wires"`
	Wire       string            `json:"wire"`
	Command    []string          `json:"command"`
	Env        []string          `json:"env"`
	Stdin      string            `json:"stdin"`
	Files      map[string]string `json:"files,omitempty"` // below the home
	Signal     string            `json:"signal"`
	Sessions   []string          `json:"sessions"`
	Definition string            `json:"definition,omitempty"`
}

// shownPrompt stands for a task's statement.
const shownPrompt = "(the task's statement)"

func showAgent(a *app, o *showOptions, word string) error {
	ag, err := agent.Find(word)
	if err != nil {
		return &codedError{err: err, code: exitUsage}
	}
	t := ag.Traits()
	served := t.Wires
	if o.wire != "" {
		served = []string{o.wire}
	}
	ask, err := o.choose(ag, runner.Model{Agent: o.model, Wire: o.model, Wires: served})
	if err != nil {
		return err
	}
	if t.Bare != "" {
		return showBare(a, ag, o.model, ask)
	}
	l, err := ag.Launch(sampleJob(o.model, shownPrompt, ask))
	if err != nil {
		return err
	}
	s := shownAgent{Name: ag.Name(), Version: ag.Version(), About: t.About, Needs: t.Needs, Image: t.Image,
		Wires: append([]string{}, t.Wires...), Wire: ask.Wire, Command: l.Args, Env: l.Env, Stdin: l.Stdin,
		Files: l.Files, Signal: l.Signal, Sessions: append([]string{}, l.Sessions...), Definition: t.Definition}
	if a.json {
		return a.printJSON(s)
	}
	return printShown(a, s)
}

func printShown(a *app, s shownAgent) error {
	image, err := json.Marshal(s.Image)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"agent", s.Name + " " + s.Version + ": " + s.About}, {"needs", s.Needs}, {"image", string(image)},
		{"wire", orNothing(s.Wire) + " (of " + orNothing(strings.Join(s.Wires, ", ")) + ")"},
		{"ends by", "SIG" + s.Signal}, {"sessions", orNothing(strings.Join(s.Sessions, ", "))}, {"stdin", orNothing(s.Stdin)},
	} {
		fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "\ncommand")
	for _, arg := range s.Command {
		fmt.Fprintf(a.stdout, "  %s\n", shellWord(arg))
	}
	fmt.Fprintln(a.stdout, "\nenvironment")
	for _, v := range s.Env {
		fmt.Fprintf(a.stdout, "  %s\n", v)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		fmt.Fprintf(a.stdout, "\nfile ~/%s\n", name)
		for line := range strings.Lines(s.Files[name]) {
			fmt.Fprintf(a.stdout, "  %s\n", strings.TrimRight(line, "\n"))
		}
	}
	return nil
}

// shellWord is a word as a shell would take it.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
