package agent

import (
	"regexp"
)

// How a prompt reaches a CLI.
const (
	byStdin    = "stdin"
	byFile     = "file"
	byArgument = "argument"
)

// definition is an agent's TOML file.
type definition struct {
	Name    string `toml:"name"`
	Version string `toml:"version"`
	About   string `toml:"about"`
	Needs   string `toml:"needs"`
	Image   Image  `toml:"image"`

	Wires   []string `toml:"wires"`
	Hosts   []string `toml:"hosts"`   // of the agent's maker, for the wire "login"
	Models  string   `toml:"models"`  // pattern of the model names that the CLI can be told; "" is any
	Efforts []string `toml:"efforts"` // words that the CLI knows; none is any word

	Prompt  string            `toml:"prompt"`
	Command []string          `toml:"command"`
	Env     map[string]string `toml:"env"`
	Files   map[string]string `toml:"files"`
	When    []when            `toml:"when"`

	Signal   string   `toml:"signal"`
	Sessions []string `toml:"sessions"`
	Trace    string   `toml:"trace"`
	Success  []string `toml:"success"`
}

// when is what a definition adds under a condition.
type when struct {
	Is    string            `toml:"is"`
	Args  []string          `toml:"args"`
	Env   map[string]string `toml:"env"`
	Files map[string]string `toml:"files"`
}

// The conditions of a when, beside "wire:FORMAT".
const (
	whenEffort         = "effort"
	whenInstructions   = "instructions"
	whenNoInstructions = "no-instructions"
	whenWire           = "wire:"
	// whenCA: the box is shown certificates of the run's own.
	whenCA = "ca"
)

func (w when) holds(j Job) bool {
	switch w.Is {
	case whenEffort:
		return j.Effort != ""
	case whenInstructions:
		return j.Instructions
	case whenNoInstructions:
		return !j.Instructions
	case whenCA:
		return j.Login.CA != ""
	}
	return w.Is == whenWire+j.Wire
}

// optionsMark stands in a command where the arguments of its whens go; without
// it they follow the command.
const optionsMark = "{options}"

// What some fields may say.
var (
	allWires = []string{"chat", "responses", "messages", "gemini", WireLogin}
	allSigns = []string{"completed", "exit"}
	signals  = []string{"TERM", "INT", "HUP", "QUIT", "USR1", "USR2"}
)

var (
	nameForm    = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	versionForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$`)
	hostForm    = regexp.MustCompile(`^(\*|[a-z0-9-]+)(\.(\*|[a-z0-9-]+))*\.[a-z]{2,}$`)
	envForm     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
)

func (d *definition) success() Success {
	var s Success
	for _, sign := range d.Success {
		s.Completed = s.Completed || sign == "completed"
		s.Exit = s.Exit || sign == "exit"
	}
	return s
}
