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
	var prompt int64
	overhead := promptOverhead
	if p.agent.Traits().Bare != "" {
		overhead = barePrompt
	}
	bySize := map[tasks.Axis]map[int]int{}
	for t, err := range src.Tasks(ctx) {
		if err != nil {
			return err
		}
		n := p.settings.Repetitions
		trials += n
		prompt += int64(n) * int64(overhead+(len(t.Statement)+len(t.Starter[tasks.SolutionFile]))/bytesPerToken)
		if bySize[t.Cell.Axis] == nil {
			bySize[t.Cell.Axis] = map[int]int{}
		}
		bySize[t.Cell.Axis][t.Cell.Size] += n
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "agent\t%s %s\nmodel\t%s (%s)\ngrid\t%s, seed %d\n", p.agent.Name(), p.agent.Version(),
		p.model.Name, p.provider.Description, p.grid.Name, o.seed)
	fmt.Fprintf(w, "trials\t%d, %d at the same time, at most %d attempts each\n", trials, p.settings.Jobs, p.settings.Retry.Attempts)
	for _, axis := range tasks.AllAxes() {
		for _, size := range tasks.Sizes() {
			if n := bySize[axis][size]; n > 0 {
				fmt.Fprintf(w, "\t%s n=%d: %d\n", axis, size, n)
			}
		}
	}
	perJob := time.Duration((trials + p.settings.Jobs - 1) / p.settings.Jobs)
	fmt.Fprintf(w, "time\tat least %s (boxes and CLI alone, %s a trial); at most %s (every trial times out once)\n",
		perJob*attemptOverhead, attemptOverhead, perJob*p.settings.Timeout)
	tokens := "none: no model is asked"
	if p.agent.Traits().AsksModel() {
		tokens = fmt.Sprintf("at least %.1f million in, for one request a trial; "+
			"agents send the whole conversation again with each step", float64(prompt)/1e6)
	}
	fmt.Fprintf(w, "tokens\t%s\ncost\t%s\n", tokens, dryCost(p, trials, prompt))
	return w.Flush()
}

// dryCost is the least that the trials cost, for one request each and no answer.
func dryCost(p parsed, trials int, prompt int64) string {
	var none int64
	each := prompt / int64(max(trials, 1))
	usd, known := p.model.Price.Cost(price.Usage{Input: &each, Output: &none})
	switch {
	case !p.agent.Traits().AsksModel():
		return "nothing: no model is asked"
	case p.provider.Scripted:
		return "nothing: the model is scripted"
	case !known:
		return "unknown: there are no prices for this model; give one by --prices FILE"
	}
	return fmt.Sprintf("at least $%.2f, for that input alone; %s", usd*float64(trials), p.provider.Prices)
}
