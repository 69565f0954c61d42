// Package agent owns how each coding-agent CLI is driven: its pinned version,
// the image it lives in, its command line, environment and files for one
// attempt, where its session files lie, how they are read, and what of them
// says that it came to its end. Most agents are definitions in TOML: the
// built-in ones below agents/, and those of users, in the same form. It must
// not know boxes, gateways or scores: it turns a Job into a Launch, and files
// into a Trace, and does neither start nor judge anything.
package agent

import (
	"os"

	"cabra-run/results/trace"
	"cabra-run/tasks"
)

// Agent is one CLI with its version.
type Agent interface {
	// Name is the word on the command line.
	Name() string
	// Version is the version in the image.
	Version() string
	// Recipe names the image; Traits().Image says what it is made of.
	Recipe() string
	// Traits says what the agent needs and how its end is read.
	Traits() Traits
	// Launch says how to start the CLI for one attempt. Its errors name what
	// of the job cannot work; trying again does not help.
	Launch(Job) (Launch, error)
	// ReadTrace reads the session files that were taken out of the home, and
	// where the CLI tells more there, its standard output: the path of a
	// file. It returns nil when there is no session at all.
	ReadTrace(home *os.Root, stdout string, job Job) (*trace.Trace, error)
}

// Traits are what is fixed about an agent.
type Traits struct {
	About string
	Needs string // what it takes to use the agent, for people
	Image Image
	// Wires are the wire formats that the agent speaks, in its order of
	// preference. An agent without any asks no model. "login" stands for its
	// maker's own hosts, which it asks in formats of its choice.
	Wires []string
	// Hosts are those that it must reach then; a part "*" is any one part.
	Hosts   []string
	Success Success
	// Solution is set for the agent that is given the reference solution.
	Solution bool
	// Bare is set for a model without tools, which has neither box nor image:
	// the form of its answers, BareFiles or BareDiff.
	Bare string
	// Definition is the text of an agent of the user's own, "" for a built-in
	// one; File is the absolute path that it was read from.
	Definition, File string
}

// AsksModel reports whether the agent asks a model at all.
func (t Traits) AsksModel() bool { return len(t.Wires) > 0 }

// Job is what an agent has to do in one attempt.
type Job struct {
	Model     string // the name that the CLI is told
	Prompt    string
	Root      string // the attempt's address inside of the box, without a version segment
	BaseURL   string // the same, ending in /v1
	Wire      string // the wire format that was chosen: "chat", "responses", "messages", "gemini", "login"
	Login     Login  // set for the wire "login"
	Effort    string // reasoning effort, "" for the CLI's own default
	SessionID string // a UUID
	Workspace string // absolute path in the box
	Home      string // absolute path in the box
	// Instructions lets files such as AGENTS.md in the workspace instruct the agent.
	Instructions bool
	// Solution is the reference, set only for an agent whose traits ask for it.
	Solution tasks.Files
}

// WireLogin is the wire of an agent that asks its maker's own hosts.
const WireLogin = "login"

// Login is how an agent reaches its maker's own hosts from the box.
type Login struct {
	Proxy string // address of an HTTPS proxy, with credentials
	CA    string // certificate to trust, PEM; "" for the usual ones alone
	Token string // what it shows there
}

// Launch is a program to be started.
type Launch struct {
	Args  []string
	Env   []string // the whole environment, KEY=VALUE
	Stdin string   // the prompt, where it travels by standard input
	// Files are written below the home before the start, mode 0600; a path
	// that ends in "/" is an empty folder.
	Files map[string]string
	// Workspace are files of the workspace that are replaced before the start.
	Workspace tasks.Files
	// Signal is what makes the CLI end in order, with its session files whole.
	Signal string
	// Sessions are the folders and files below the home that hold the session.
	Sessions []string
}

// Image says which image an agent runs in: exactly one of Recipe, Existing and
// the rest.
type Image struct {
	Recipe   string   `toml:"recipe" json:"recipe,omitempty"`     // one of the program's own, perhaps with @VERSION
	Existing string   `toml:"existing" json:"existing,omitempty"` // an image that the engine has
	Base     string   `toml:"base" json:"base,omitempty"`         // recipe that the lines below build on; "" is "base"
	Apt      []string `toml:"apt" json:"apt,omitempty"`           // Debian packages
	Npm      []string `toml:"npm" json:"npm,omitempty"`           // npm packages, NAME@VERSION
	Pip      []string `toml:"pip" json:"pip,omitempty"`           // Python packages, NAME==VERSION
	Copy     []Copy   `toml:"copy" json:"copy,omitempty"`         // files and folders of the host
	Run      []string `toml:"run" json:"run,omitempty"`           // lines for a shell, as root, after the others
}

// Copy is a file or folder of the host that goes into an image.
type Copy struct {
	From string `toml:"from" json:"from"` // relative to the definition's folder
	To   string `toml:"to" json:"to"`     // absolute path in the image
}

// Own reports whether the image is made of recipe lines of the definition.
func (i Image) Own() bool { return i.Recipe == "" && i.Existing == "" }
