package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cabra-run/results"
)

// Pairing names an agent with its model.
type Pairing struct {
	Agent    string `json:"agent"`
	Version  string `json:"version"`
	Model    string `json:"model"`
	Scripted bool   `json:"scripted"` // a fixed policy played the model
}

func newPairing(p results.Pairing) Pairing {
	return Pairing{Agent: p.Agent.Name, Version: p.Agent.Version, Model: p.Model, Scripted: p.Provider.Scripted}
}

func (p Pairing) String() string {
	return oneLine(fmt.Sprintf("%s %s, model %s", p.Agent, p.Version, p.Model))
}

// pairings tells of each trial of a run which of its pairings it belongs to.
type pairings struct {
	lock  results.Lock
	list  []results.Pairing
	known map[pairingKey]int
}

// pairingKey is what of a trial names its pairing.
type pairingKey struct{ agent, version, model, settings string }

func newPairings(l results.Lock) *pairings {
	return &pairings{lock: l, list: l.Pairs(), known: map[pairingKey]int{}}
}

// several reports whether the run has more than one pairing.
func (p *pairings) several() bool { return len(p.list) > 1 }

// of is the place of a trial's pairing. The only one of a run has all trials;
// otherwise a trial that fits none, of a lock that was changed by hand, becomes
// one of its own at the end.
func (p *pairings) of(t *results.Trial) int {
	if len(p.list) == 1 {
		return 0
	}
	key := pairingKey{t.Agent, t.Version, t.Model, t.Settings}
	i, ok := p.known[key]
	if !ok {
		i = p.find(key)
		p.known[key] = i
	}
	return i
}

// find prefers the pairing that agrees in everything: a run may have one agent
// and model under two settings.
func (p *pairings) find(key pairingKey) int {
	best, most := -1, 0
	for i, q := range p.list {
		if q.Agent.Name != key.agent || q.Model != key.model {
			continue
		}
		same := 1
		if q.Agent.Version == key.version {
			same += 2
		}
		if p.lock.SettingsOf(q.Agent) == key.settings {
			same++
		}
		if same > most {
			best, most = i, same
		}
	}
	if best >= 0 {
		return best
	}
	agent := results.Agent{Name: key.agent, Version: key.version}
	p.list = append(p.list, results.Pairing{Agent: agent, Model: key.model})
	return len(p.list) - 1
}

// trial gives the pairing of a trial.
func (p *pairings) trial(t *results.Trial) results.Pairing { return p.list[p.of(t)] }

// adder takes trials one by one.
type adder interface{ add(*results.TrialResult) }

// split gives the trials of a run to a total and, where there are several
// pairings, to one of each as well. Options may leave some of them out.
type split[T adder] struct {
	pairings *pairings
	opts     Options
	fresh    func() T
	total    T
	each     map[int]T
}

// newSplit is an error when the options leave nothing.
func newSplit[T adder](lock results.Lock, opts Options, fresh func() T) (*split[T], error) {
	s := &split[T]{pairings: newPairings(lock), opts: opts, fresh: fresh, total: fresh(), each: map[int]T{}}
	var names []string
	for i, p := range s.pairings.list {
		names = append(names, newPairing(p).String())
		if opts.chooses(p) {
			s.each[i] = fresh()
		}
	}
	if len(s.each) == 0 {
		return nil, &NoPairingError{Agent: opts.Agent, Model: opts.Model, Have: names}
	}
	return s, nil
}

// NoPairingError says that a run has no pairing of the agent and model that were
// asked for, and which ones it has.
type NoPairingError struct {
	Agent, Model string
	Have         []string
}

func (e *NoPairingError) Error() string {
	what := ""
	if e.Agent != "" {
		what += fmt.Sprintf(" agent %q", e.Agent)
	}
	if e.Model != "" {
		what += fmt.Sprintf(" model %q", e.Model)
	}
	return fmt.Sprintf("the run has no%s (there is: %s)", what, strings.Join(e.Have, "; "))
}

// chooses reports whether the options let a pairing through.
func (o Options) chooses(p results.Pairing) bool {
	agent := o.Agent == "" || o.Agent == p.Agent.Name || o.Agent == p.Agent.Name+"@"+p.Agent.Version
	return agent && (o.Model == "" || o.Model == p.Model)
}

func (s *split[T]) add(t *results.TrialResult) {
	i := s.pairings.of(&t.Trial)
	part, ok := s.each[i]
	if !ok {
		if !s.opts.chooses(s.pairings.list[i]) || i < len(s.pairings.lock.Pairs()) {
			return
		}
		part = s.fresh()
		s.each[i] = part
	}
	s.total.add(t)
	if s.pairings.several() {
		part.add(t)
	}
}

// parts are the pairings that are reported on one by one, in the order of the
// lock: none where there is only one.
func (s *split[T]) parts() []int {
	if len(s.each) < 2 {
		return nil
	}
	return slices.Sorted(maps.Keys(s.each))
}

// chosen are the pairings that the total is about.
func (s *split[T]) chosen() []results.Pairing {
	var list []results.Pairing
	for _, i := range slices.Sorted(maps.Keys(s.each)) {
		list = append(list, s.pairings.list[i])
	}
	return list
}

// joinDistinct lists words in their order, each once.
func joinDistinct(words []string) string {
	var list []string
	seen := map[string]bool{}
	for _, w := range words {
		if w != "" && !seen[w] {
			seen[w] = true
			list = append(list, w)
		}
	}
	return strings.Join(list, ", ")
}
