package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"cabra-run/sandbox/gateway/price"
	"cabra-run/tasks"
)

// Rough figures for an estimate, from sweeps with the scripted model: what an
// attempt takes beside the model's own time, and what a CLI sends with the
// first request (its system prompt and tools).
const (
	attemptOverhead = 4 * time.Second
	promptOverhead  = 12000 // tokens
	barePrompt      = 400   // the same of a model without tools
	bytesPerToken   = 4
)

// dryRun prints what a run would do; nothing is made and no engine is asked.
func dryRun(ctx context.Context, a *app, o *sweepOptions, p parsed, src tasks.Source) error {
	var trials int
	prompts := make([]int64, len(p.pairs)) // tokens of each pairing's first requests
	seq := 0
	bySize := map[tasks.Axis]map[int]int{}
	for t, err := range src.Tasks(ctx) {
		if err != nil {
			return err
		}
		if bySize[t.Cell.Axis] == nil {
			bySize[t.Cell.Axis] = map[int]int{}
		}
		text := (len(t.Statement) + len(t.Starter[tasks.SolutionFile])) / bytesPerToken
		for range p.settings.Repetitions {
			for i, c := range p.pairs {
				if seq++; !p.shard.Has(seq - 1) {
					continue
				}
				trials++
				prompts[i] += int64(overheadOf(c) + text)
				bySize[t.Cell.Axis][t.Cell.Size]++
			}
		}
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, c := range p.pairs {
		fmt.Fprintf(w, "agent\t%s %s\nmodel\t%s (%s)\n", c.agent.Name(), c.agent.Version(), c.model.Name, c.provider.Description)
	}
	fmt.Fprintf(w, "grid\t%s, seed %d\n", p.grid.Name, o.seed)
	if p.shard.Count > 1 {
		fmt.Fprintf(w, "part\t%s of the plan\n", p.shard)
	}
	fmt.Fprintf(w, "trials\t%d, %d at the same time, at most %d attempts each\n", trials, p.settings.Jobs, mostAttempts(p.pairs))
	for _, axis := range tasks.AllAxes() {
		for _, size := range tasks.Sizes() {
			if n := bySize[axis][size]; n > 0 {
				fmt.Fprintf(w, "\t%s n=%d: %d\n", axis, size, n)
			}
		}
	}
	if o.budgetOptions.run != "" {
		fmt.Fprintf(w, "budget\t%s\n", o.budgetOptions.run)
	}
	perJob := time.Duration((trials + p.settings.Jobs - 1) / p.settings.Jobs)
	fmt.Fprintf(w, "time\tat least %s (boxes and CLI alone, %s a trial); at most %s (every trial times out once)\n",
		perJob*attemptOverhead, attemptOverhead, perJob*p.settings.Timeout)
	for i, c := range p.pairs {
		of := ""
		if len(p.pairs) > 1 {
			of = c.String() + ": "
		}
		fmt.Fprintf(w, "tokens\t%s%s\ncost\t%s%s\n", of, dryTokens(c, prompts[i]), of, dryCost(c, prompts[i]))
	}
	return w.Flush()
}

// overheadOf is what an agent sends with its first request beside the task.
func overheadOf(c chosen) int {
	if c.agent.Traits().Bare != "" {
		return barePrompt
	}
	return promptOverhead
}

func mostAttempts(list []chosen) int {
	most := 0
	for _, c := range list {
		most = max(most, c.retry.Attempts)
	}
	return most
}

func dryTokens(c chosen, prompt int64) string {
	if !c.agent.Traits().AsksModel() {
		return "none: no model is asked"
	}
	return fmt.Sprintf("at least %.1f million in, for one request a trial; "+
		"agents send the whole conversation again with each step", float64(prompt)/1e6)
}

// dryCost is the least that a pairing's trials cost, for one request each and no
// answer.
func dryCost(c chosen, prompt int64) string {
	var none int64
	usd, known := c.model.Price.Cost(price.Usage{Input: &prompt, Output: &none})
	switch {
	case !c.agent.Traits().AsksModel():
		return "nothing: no model is asked"
	case c.provider.Scripted:
		return "nothing: the model is scripted"
	case !known:
		return "unknown: there are no prices for this model; give one by --prices FILE"
	}
	return fmt.Sprintf("at least $%.2f, for that input alone; %s", usd, c.provider.Prices)
}
