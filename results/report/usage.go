package report

import (
	"cmp"
	"fmt"
	"slices"

	"cabra-run/results"
	"cabra-run/tasks"
)

// Usage is what all attempts of a run have used, whatever came of them, also of
// trials that are not done: tokens and money per model and family of tasks.
type Usage struct {
	Header Header       `json:"run"`
	Trials Counts       `json:"trials"`
	Models []ModelUsage `json:"models"`
	// All is the sum over the models.
	All UsageGroup `json:"all"`
	// Spending is what a budget counts: with the most that the requests can
	// have cost whose cost is unknown. Nil when it was not asked for.
	Spending *results.Spending `json:"spending,omitempty"`
	// Notes lists the attempts whose agent counts its tokens otherwise than
	// they were metered from the wire, in plan order.
	Notes []UsageNote `json:"usage_notes"`
}

// ModelUsage is what one agent has used of one model.
type ModelUsage struct {
	Agent    string       `json:"agent"`
	Version  string       `json:"version"`
	Model    string       `json:"model"`
	Families []UsageGroup `json:"families"`
	All      UsageGroup   `json:"all"`
	// Provider says who was asked, in a run of several agents and models; with
	// one it stands in the header.
	Provider *UsageProvider `json:"provider,omitempty"`

	pairing int // its place in the lock
}

// UsageProvider is where the answers to one agent and model came from.
type UsageProvider struct {
	Provider string `json:"provider,omitempty"`
	Endpoint string `json:"provider_description,omitempty"`
	Wire     string `json:"wire,omitempty"`
	Prices   string `json:"prices,omitempty"`
	Scripted bool   `json:"scripted"`
}

// UsageGroup is what the trials of one family, or all of them, have used.
type UsageGroup struct {
	Family   tasks.Axis         `json:"family,omitempty"`
	Trials   int                `json:"trials"`
	Attempts int                `json:"attempts"`
	Used     results.UsageTotal `json:"used"`
	// NoVerdict is the part of it that attempts without a verdict have used:
	// those that failed, and those that run or wait for their score.
	NoVerdict UsagePart `json:"without_verdict"`
}

// UsagePart is a part of a UsageGroup.
type UsagePart struct {
	Attempts int                `json:"attempts"`
	Used     results.UsageTotal `json:"used"`
}

// UsageNote is an attempt's note on its usage.
type UsageNote struct {
	TaskID     tasks.ID `json:"task_id"`
	Repetition int      `json:"repetition"`
	Agent      string   `json:"agent"`
	Model      string   `json:"model"`
	Attempt    int      `json:"attempt"`
	Note       string   `json:"note"`
}

// BuildUsage sums up what a run has used. The spending, which may be nil, is
// the store's.
func BuildUsage(all Results, lock results.Lock, spending *results.Spending) (*Usage, error) {
	pairs := newPairings(lock)
	u := &Usage{Header: header(lock, pairs.list, lock.Verdict()), All: newUsageGroup(""), Spending: spending,
		Models: []ModelUsage{}, Notes: []UsageNote{}}
	for t, err := range all {
		if err != nil {
			return nil, fmt.Errorf("summing up what was used: %w", err)
		}
		u.add(&t, pairs)
	}
	for i := range u.Models {
		slices.SortStableFunc(u.Models[i].Families, func(a, b UsageGroup) int {
			return byOrder(tasks.AllAxes(), a.Family, b.Family)
		})
	}
	return u, nil
}

func (u *Usage) add(t *results.TrialResult, pairs *pairings) {
	u.Trials.add(t.State)
	m := u.model(t, pairs)
	for _, g := range []*UsageGroup{&u.All, &m.All, m.family(t.Cell.Axis)} {
		g.add(t)
	}
	for _, a := range t.Attempts {
		if a.UsageNote != "" {
			u.Notes = append(u.Notes, UsageNote{TaskID: t.TaskID, Repetition: t.Repetition, Agent: t.Agent,
				Model: t.Model, Attempt: a.Number, Note: shorten(oneLine(a.UsageNote), maxReason)})
		}
	}
}

// model finds the part of a trial's agent and model; they stand in the order in
// which the plan has them.
func (u *Usage) model(t *results.TrialResult, pairs *pairings) *ModelUsage {
	pairing := pairs.of(&t.Trial)
	i := slices.IndexFunc(u.Models, func(m ModelUsage) bool {
		return m.pairing == pairing && m.Agent == t.Agent && m.Version == t.Version && m.Model == t.Model
	})
	if i < 0 {
		i = len(u.Models)
		m := ModelUsage{Agent: t.Agent, Version: t.Version, Model: t.Model, Families: []UsageGroup{},
			All: newUsageGroup(""), pairing: pairing}
		if pairs.several() {
			p := pairs.list[pairing]
			m.Provider = &UsageProvider{Provider: p.Provider.Name, Endpoint: p.Provider.Description,
				Wire: p.Agent.Wire, Prices: p.Provider.Prices, Scripted: p.Provider.Scripted}
		}
		u.Models = append(u.Models, m)
	}
	return &u.Models[i]
}

// provider is who was asked by a model's agent.
func (u *Usage) provider(m *ModelUsage) UsageProvider {
	if m.Provider != nil {
		return *m.Provider
	}
	h := u.Header
	return UsageProvider{Provider: h.Provider, Endpoint: h.Endpoint, Wire: h.Wire, Prices: h.Prices, Scripted: h.Scripted}
}

func (m *ModelUsage) family(axis tasks.Axis) *UsageGroup {
	i := slices.IndexFunc(m.Families, func(g UsageGroup) bool { return g.Family == axis })
	if i < 0 {
		i = len(m.Families)
		m.Families = append(m.Families, newUsageGroup(axis))
	}
	return &m.Families[i]
}

// newUsageGroup is a group that has used nothing, which is known.
func newUsageGroup(axis tasks.Axis) UsageGroup {
	return UsageGroup{Family: axis, Used: nothingUsed(), NoVerdict: UsagePart{Used: nothingUsed()}}
}

func nothingUsed() results.UsageTotal {
	return results.UsageTotal{Usage: results.Usage{Input: new(int64), Cached: new(int64), CacheWrite: new(int64),
		Output: new(int64), Reasoning: new(int64), CostUSD: new(float64)}}
}

func (g *UsageGroup) add(t *results.TrialResult) {
	g.Trials++
	for _, a := range t.Attempts {
		g.Attempts++
		g.Used.Add(a.Usage)
		judged := func(v results.AttemptVerdict) bool { return v.Attempt == a.Number }
		if !slices.ContainsFunc(t.Verdicts, judged) {
			g.NoVerdict.Attempts++
			g.NoVerdict.Used.Add(a.Usage)
		}
	}
}

// familyLabel names a group's family in tables.
func (g *UsageGroup) familyLabel() string { return cmp.Or(string(g.Family), "all") }
