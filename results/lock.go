package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Lock is what a run was made under: everything that is needed to judge its
// numbers and to make it again. It is written once, as run.json, when the run
// is created.
type Lock struct {
	Schema  int       `json:"schema"` // set by Create
	Run     string    `json:"run"`    // name of the run
	Created time.Time `json:"created"`
	Program string    `json:"program"` // version of cabra-run

	Tasks       TaskSet  `json:"tasks"`
	Agent       Agent    `json:"agent"`
	Model       string   `json:"model"`
	Provider    Provider `json:"provider"`
	Repetitions int      `json:"repetitions"`
	// Pairings are the agents with their models of a run that has several; the
	// first of them is also in Agent, Model and Provider. See Pairs.
	Pairings []Pairing `json:"pairings,omitempty"`
	// Limit is how many tasks of the grid the run has, from its beginning; 0
	// for all. Shard is its part of the plan, zero for the whole.
	Limit int   `json:"limit,omitempty"`
	Shard Shard `json:"shard,omitzero"`
	// Origin is the run that this one runs again, nil for one of its own.
	Origin *Origin `json:"origin,omitempty"`
	// Merged names the shards that this run was united from.
	Merged []string `json:"merged,omitempty"`

	Images  []Image `json:"images"`
	Network string  `json:"network"`
	Limits  Limits  `json:"limits"`
	// Timeout and Stall bound an attempt: its wall clock without waiting for
	// the provider, and the time without any sign of life.
	TimeoutSeconds float64 `json:"timeout_seconds"`
	StallSeconds   float64 `json:"stall_seconds"`
	Retry          Retry   `json:"retry"`
	Scorer         Scorer  `json:"scorer"`

	// Settings is SettingsDigest of the above; Create fills it in.
	Settings string `json:"settings"`

	// For information only.
	Budget Budget `json:"budget,omitzero"`
	Jobs   int    `json:"jobs"`
	Host   Host   `json:"host"`
	Engine Engine `json:"engine"`
}

// Pairing is an agent with the model that it is given.
type Pairing struct {
	Agent    Agent    `json:"agent"`
	Model    string   `json:"model"`
	Provider Provider `json:"provider"`
	Retry    Retry    `json:"retry"`
}

// Shard is a part of a plan: one trial of every Count that follow each other,
// another one each time, so that no shard gets all trials of one agent.
type Shard struct {
	Index int `json:"index"` // from 1
	Count int `json:"count"`
}

// Has reports whether the trial at a place in the plan, from 0, is in the shard.
func (s Shard) Has(seq int) bool {
	return s.Count <= 1 || (seq+seq/s.Count)%s.Count == s.Index-1
}

func (s Shard) String() string {
	if s.Count <= 1 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}

// Origin is the run that another one runs again.
type Origin struct {
	Run    string `json:"run"`
	Dir    string `json:"dir"`              // absolute, as it was when the rerun was made
	Lock   string `json:"lock"`             // digest of the original's run.json
	Filter string `json:"filter,omitempty"` // which of its trials; "" for all
	Replay bool   `json:"replay,omitempty"` // answered from its recorded traffic
	// Differences are in what the rerun differs from the original.
	Differences []Difference `json:"differences,omitempty"`
}

// TaskSet says which tasks a run has.
type TaskSet struct {
	Grid       string `json:"grid"` // normalised text
	Seed       int64  `json:"seed"`
	Scheme     string `json:"scheme"` // name of the generation scheme
	Count      int    `json:"count"`
	Digest     string `json:"digest"`
	Statements string `json:"statements"`     // digest of the problem statements
	Prompts    string `json:"prompts_source"` // "own", or the folder the statements were read from
	// Files is the folder of official files that the tasks were read from, ""
	// for generated ones.
	Files string `json:"files,omitempty"`
}

// Agent is the program under test.
type Agent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Wire is the wire format in which it asks the model, "" when it asks none.
	Wire   string `json:"wire,omitempty"`
	Effort string `json:"effort,omitempty"` // reasoning effort, "" for the agent's own default
	// Instructions is set when files of the workspace may instruct the agent.
	Instructions bool `json:"instructions,omitempty"`
	// Definition is the text of an agent of the user's own, and File where it
	// was read: what its image copies is looked for beside it.
	Definition string `json:"definition,omitempty"`
	File       string `json:"definition_file,omitempty"`
}

// settings names what of the agent changes outcomes beside name and version,
// "" when everything is as by default.
func (a Agent) settings() string {
	if a.Effort == "" && !a.Instructions && a.Definition == "" {
		return ""
	}
	return fmt.Sprintf("|%q|%v|%q", a.Effort, a.Instructions, a.Definition)
}

// Provider is where the model's answers come from.
type Provider struct {
	Name        string `json:"name,omitempty"` // of its definition, or its host
	Description string `json:"description"`    // for people: kind and base URL, never a key
	// Scripted is set when a fixed policy plays the model. Every table,
	// figure and export says so.
	Scripted bool `json:"scripted"`
	// Prices says what its model's tokens cost, as of when and by whose word;
	// "unknown" where no price is known, "" where none was looked up.
	Prices string `json:"prices,omitempty"`
	// TLS says, for an agent that asks its maker's own hosts, who ends the
	// encryption: "end" is the gateway, "passthrough" the agent alone. Losses
	// are what cannot be said of such a run, for people.
	TLS    string   `json:"tls,omitempty"`
	Losses []string `json:"losses,omitempty"`
}

// Budget is what a run may spend, as it was asked for; for information, and
// for resumes that ask for none.
type Budget struct {
	Run     string `json:"run,omitempty"`
	Trial   string `json:"trial,omitempty"`
	Attempt string `json:"attempt,omitempty"`
}

// Image is a container image that the run uses.
type Image struct {
	Name     string   `json:"name"`
	ID       string   `json:"id"`
	Tag      string   `json:"tag"`
	Recipe   string   `json:"recipe"` // digest
	Base     string   `json:"base"`
	How      string   `json:"how"` // how the base came about: "pull", "bootstrap", …
	Bytes    int64    `json:"bytes"`
	Packages []string `json:"packages"`
}

// Limits bound an attempt's box; bytes unless said otherwise.
type Limits struct {
	MemoryBytes    int64   `json:"memory_bytes"`
	Pids           int64   `json:"pids"`
	CPUs           float64 `json:"cpus"`
	OpenFiles      int64   `json:"open_files"`
	TmpBytes       int64   `json:"tmp_bytes"`
	HomeBytes      int64   `json:"home_bytes"`
	ShmBytes       int64   `json:"shm_bytes"`
	WorkspaceBytes int64   `json:"workspace_bytes"`
	OutputBytes    int64   `json:"output_bytes"`
}

// Scorer is what judges the code.
type Scorer struct {
	// Verdicts names the verdicts that each trial gets; the first is the one
	// reported by default.
	Verdicts []string `json:"verdicts"`
	// Versions holds the version of each of them. A version changes whenever
	// the same code could get another verdict.
	Versions map[string]string `json:"versions,omitempty"`
	// Version is that of the only verdict of a run made before there were two.
	Version string `json:"version,omitempty"`
}

// Host is where the orchestrator ran.
type Host struct {
	OS          string `json:"os"`
	Kernel      string `json:"kernel"`
	Arch        string `json:"arch"`
	CPUs        int    `json:"cpus"`
	MemoryBytes int64  `json:"memory_bytes"`
}

// Engine is what ran the boxes.
type Engine struct {
	Name          string `json:"name"`
	Version       string `json:"version"`
	Endpoint      string `json:"endpoint"`
	OS            string `json:"os"`
	Arch          string `json:"arch"`
	Kernel        string `json:"kernel"`
	CgroupVersion string `json:"cgroup_version"`
	StorageDriver string `json:"storage_driver"`
	Rootless      bool   `json:"rootless"`
	CPUs          int    `json:"cpus"`
	MemoryBytes   int64  `json:"memory_bytes"`
	Transport     string `json:"transport"`
}

// SettingsDigest is a hash of the settings that change a trial's outcome:
// limits, times, network, and what the agent is told. Neither parallelism nor retries nor image IDs are
// among them. It is the Settings of the run's trials.
func (l Lock) SettingsDigest() string { return l.SettingsOf(l.Agent) }

// SettingsOf is SettingsDigest for one of the run's agents.
func (l Lock) SettingsOf(a Agent) string {
	text := fmt.Sprintf("cabra-settings-1|%+v|%g|%g|%s", l.Limits, l.TimeoutSeconds, l.StallSeconds, l.Network) +
		a.settings()
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Replays reports whether the run's answers come from another one's recording.
func (l Lock) Replays() bool { return l.Origin != nil && l.Origin.Replay }

// Pairs are the run's agents with their models, at least one.
func (l Lock) Pairs() []Pairing {
	if len(l.Pairings) > 0 {
		return l.Pairings
	}
	return []Pairing{{Agent: l.Agent, Model: l.Model, Provider: l.Provider, Retry: l.Retry}}
}

// RetryOf says when a trial of the run gets another attempt.
func (l Lock) RetryOf(t Trial) Retry {
	for _, p := range l.Pairings {
		if p.Agent.Name == t.Agent && p.Agent.Version == t.Version && p.Model == t.Model {
			return p.Retry
		}
	}
	return l.Retry
}

// Verdict is the name of the verdict that reports use by default.
func (l Lock) Verdict() string { return l.Verdicts()[0] }

// Verdicts names the verdicts that each trial of the run gets, at least one.
func (l Lock) Verdicts() []string {
	if len(l.Scorer.Verdicts) == 0 {
		return []string{Strict}
	}
	return l.Scorer.Verdicts
}

// VerdictVersion is the version of a verdict as the run was begun, "" when the
// run was begun without this verdict.
func (l Lock) VerdictVersion(name string) string {
	if v, ok := l.Scorer.Versions[name]; ok {
		return v
	}
	if name == l.Verdict() {
		return l.Scorer.Version
	}
	return ""
}

// encode returns the bytes of run.json.
func (l Lock) encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // grids hold '<' and '&' as they are
	if err := enc.Encode(l); err != nil {
		return nil, fmt.Errorf("encoding the lock: %w", err)
	}
	return buf.Bytes(), nil
}

func decodeLock(data []byte) (Lock, error) {
	var l Lock
	if err := json.Unmarshal(data, &l); err != nil {
		return Lock{}, fmt.Errorf("reading the lock: %w", err)
	}
	return l, nil
}
