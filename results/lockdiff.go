package results

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Difference is one thing in which two locks differ and that can change
// outcomes.
type Difference struct {
	Field string `json:"field"`
	Was   string `json:"was"`
	Now   string `json:"now"`
}

func (d Difference) String() string { return fmt.Sprintf("%s: was %s, is %s", d.Field, d.Was, d.Now) }

// Drift is a difference under which a run was continued all the same.
type Drift struct {
	At time.Time `json:"at"`
	Difference
}

// Diff lists in what b differs from a, among the things that determine
// outcomes. Parallelism, retries, image IDs, and the host's size and kernel do
// not count: the same recipe built twice has two IDs.
func (a Lock) Diff(b Lock) []Difference { return diffOf(a.facts(), b.facts()) }

func diffOf(was, now []fact) []Difference {
	var diffs []Difference
	for _, name := range factNames(was, now) {
		w, n := factOf(was, name), factOf(now, name)
		if w != n {
			diffs = append(diffs, Difference{Field: name, Was: orNone(w), Now: orNone(n)})
		}
	}
	return diffs
}

type fact struct{ name, value string }

// facts names what determines outcomes, in the order in which people read it.
func (l Lock) facts() []fact {
	f := []fact{
		{"program version", l.Program},
		{"grid", l.Tasks.Grid},
		{"seed", fmt.Sprint(l.Tasks.Seed)},
		{"generation scheme", l.Tasks.Scheme},
		{"task set", l.Tasks.Digest},
		{"statements", l.Tasks.Statements},
	}
	f = append(f, l.pairFacts()...)
	f = append(f, []fact{
		{"repetitions", fmt.Sprint(l.Repetitions)},
		{"network", l.Network},
		{"time-out", fmt.Sprintf("%gs", l.TimeoutSeconds)},
		{"stall time", fmt.Sprintf("%gs", l.StallSeconds)},
		{"verdict by default", l.Verdict()},
		{"host architecture", l.Host.Arch},
		{"engine", l.Engine.Name},
		{"engine transport", l.Engine.Transport},
	}...)
	f = append(f, l.Limits.facts()...)
	if l.Limit > 0 {
		f = append(f, fact{"limit of tasks", fmt.Sprint(l.Limit)})
	}
	f = append(f, fact{"shard", l.Shard.String()})
	for _, name := range l.Verdicts() {
		f = append(f, fact{"verdict " + name, l.VerdictVersion(name)})
	}
	for _, img := range l.Images {
		packages := slices.Clone(img.Packages)
		slices.Sort(packages)
		f = append(f,
			fact{"recipe of image " + img.Name, img.Recipe},
			fact{"base of image " + img.Name, img.Base},
			fact{"packages of image " + img.Name, textDigest(strings.Join(packages, "\n"))})
	}
	return f
}

// pairFacts are those of the agents and their models. Where there are several,
// each is named by its place: which pairing it is, is a fact of its own.
func (l Lock) pairFacts() []fact {
	var f []fact
	pairs := l.Pairs()
	for i, p := range pairs {
		of := ""
		if len(pairs) > 1 {
			of = fmt.Sprintf(" (pairing %d)", i+1)
		}
		f = append(f,
			fact{"agent" + of, p.Agent.Name},
			fact{"agent version" + of, p.Agent.Version},
			fact{"agent's wire format" + of, p.Agent.Wire},
			fact{"reasoning effort" + of, p.Agent.Effort},
			fact{"instructions of the workspace" + of, fmt.Sprint(p.Agent.Instructions)},
			fact{"agent's definition" + of, definitionDigest(p.Agent.Definition)},
			fact{"model" + of, p.Model},
			fact{"provider" + of, p.Provider.Description},
			fact{"prices" + of, p.Provider.Prices}, // or a part of a run's cost would be unknown
			fact{"encryption" + of, p.Provider.TLS},
			fact{"scripted model" + of, fmt.Sprint(p.Provider.Scripted)})
	}
	return f
}

// rules say when a trial is done, beside what determines outcomes: one run can
// have but one set of them.
func (l Lock) rules() []fact {
	var f []fact
	pairs := l.Pairs()
	for i, p := range pairs {
		of := ""
		if len(pairs) > 1 {
			of = fmt.Sprintf(" (pairing %d)", i+1)
		}
		f = append(f, fact{"tried again" + of, fmt.Sprintf("%+v", p.Retry)})
	}
	filter := ""
	if l.Origin != nil {
		filter = l.Origin.Filter
	}
	return append(f, fact{"budget of a trial", l.Budget.Trial}, fact{"budget of an attempt", l.Budget.Attempt},
		fact{"answered from a recording", fmt.Sprint(l.Replays())}, fact{"filter of the rerun", filter})
}

// facts are the limits, each by itself, in bytes unless said otherwise.
func (l Limits) facts() []fact {
	bytes := func(n int64) string { return fmt.Sprintf("%d bytes", n) }
	return []fact{
		{"limit of memory", bytes(l.MemoryBytes)},
		{"limit of processes", fmt.Sprint(l.Pids)},
		{"limit of processors", fmt.Sprint(l.CPUs)},
		{"limit of open files", fmt.Sprint(l.OpenFiles)},
		{"limit of /tmp", bytes(l.TmpBytes)},
		{"limit of the home", bytes(l.HomeBytes)},
		{"limit of /dev/shm", bytes(l.ShmBytes)},
		{"limit of the workspace", bytes(l.WorkspaceBytes)},
		{"limit of output", bytes(l.OutputBytes)},
	}
}

func definitionDigest(text string) string {
	if text == "" {
		return ""
	}
	return textDigest(text)
}

func factNames(lists ...[]fact) []string {
	var names []string
	for _, list := range lists {
		for _, f := range list {
			if !slices.Contains(names, f.name) {
				names = append(names, f.name)
			}
		}
	}
	return names
}

func factOf(list []fact, name string) string {
	for _, f := range list {
		if f.name == name {
			return f.value
		}
	}
	return ""
}

// None stands in a Difference for what a lock does not have.
const None = "(none)"

func orNone(s string) string {
	if s == "" {
		return None
	}
	return s
}
