package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cabra-run/runner/agent"
)

func newAgents(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "list the agents with their versions and images",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.images("")
			if err != nil {
				return err
			}
			defer b.Close()
			var list []agentLine
			for _, ag := range agent.All() {
				l := agentLine{Name: ag.Name(), Version: ag.Version(), Image: "no engine"}
				if img, built, err := b.Lookup(cmd.Context(), ag.Recipe()); err == nil {
					l.Image = "not built (cabra-run images build " + ag.Recipe() + ")"
					if built {
						l.Image = img.Tag
					}
				}
				list = append(list, l)
			}
			return printAgents(a, list)
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

type agentLine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Image   string `json:"image"`
}

func printAgents(a *app, list []agentLine) error {
	if a.json {
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tVERSION\tIMAGE")
	for _, l := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", l.Name, l.Version, l.Image)
	}
	return w.Flush()
}
