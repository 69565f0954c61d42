// Package agent owns how each coding-agent CLI is driven: its pinned version,
// the image recipe it lives in, its command line and environment for one
// attempt, where its session files lie and how they are read. It must not know
// boxes, gateways or scores: it turns a Job into a Launch, and files into a
// Trace, and does neither start nor judge anything.
package agent

import (
	"fmt"
	"os"
	"strings"

	"cabra-run/results/trace"
)

// Agent is one CLI with its version.
type Agent interface {
	// Name is the word on the command line.
	Name() string
	// Version is the version in the image.
	Version() string
	// Recipe is the name of the image recipe that holds the CLI.
	Recipe() string
	// Launch says how to start the CLI for one attempt.
	Launch(Job) (Launch, error)
	// ReadTrace reads the session files that were taken out of the home. It
	// returns nil when there is no session file at all.
	ReadTrace(home *os.Root, job Job) (*trace.Trace, error)
}

// Job is what an agent has to do in one attempt.
type Job struct {
	Model     string // the name that the CLI is told
	Prompt    string
	BaseURL   string // the model endpoint inside of the box, ending in /v1
	SessionID string // a UUID
	Workspace string // absolute path in the box
	Home      string // absolute path in the box
}

// Launch is a program to be started.
type Launch struct {
	Args  []string
	Env   []string // the whole environment, KEY=VALUE
	Stdin string   // the prompt travels here, never as an argument
	// Signal is what makes the CLI end in order, with its session files whole.
	Signal string
	// Sessions are the folders and files below the home that hold the session.
	Sessions []string
}

// All returns the built-in agents in the order of listings.
func All() []Agent { return []Agent{Copilot{}} }

// UnknownError says that no agent has that name.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no agent %q; there is: %s", e.Name, strings.Join(e.Known, ", "))
}

// Find returns the built-in agent of that name.
func Find(name string) (Agent, error) {
	var known []string
	for _, a := range All() {
		if a.Name() == name {
			return a, nil
		}
		known = append(known, a.Name())
	}
	return nil, &UnknownError{Name: name, Known: known}
}
