package agent

import (
	"fmt"
	"os"

	"cabra-run/results/trace"
)

// cli is an agent made of a definition.
type cli struct {
	d    *definition
	text string // of a definition that is not built in
	file string // where that was read from
}

// Name implements Agent.
func (c *cli) Name() string { return c.d.Name }

// Version implements Agent.
func (c *cli) Version() string { return c.d.Version }

// Recipe implements Agent.
func (c *cli) Recipe() string {
	if c.d.Image.Recipe != "" {
		return c.d.Image.Recipe
	}
	return "own-" + c.d.Name
}

// Traits implements Agent.
func (c *cli) Traits() Traits {
	return Traits{
		About: c.d.About, Needs: c.d.Needs, Image: c.d.Image, Wires: c.d.Wires, Hosts: c.d.Hosts,
		Success: c.d.success(), Definition: c.text, File: c.file,
	}
}

// Launch implements Agent.
func (c *cli) Launch(j Job) (Launch, error) {
	l, err := c.d.launch(j)
	if err != nil {
		return Launch{}, fmt.Errorf("agent %s: %w", c.d.Name, err)
	}
	return l, nil
}

// ReadTrace implements Agent.
func (c *cli) ReadTrace(home *os.Root, stdout string, j Job) (*trace.Trace, error) {
	return c.d.readTrace(home, stdout, j)
}
