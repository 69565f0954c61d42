package agent

import (
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed agents/*.toml
var builtIn embed.FS

// order is that of listings; what is not in it follows by name.
var order = []string{"copilot", "claude", "codex", "opencode", "pi", "gemini", "mini"}

// All returns the built-in agents in the order of listings.
func All() []Agent {
	var list []Agent
	for _, c := range builtIns() {
		list = append(list, c)
	}
	return append(append(list, bareModels()...), reference{}, nop{})
}

// builtIns returns the built-in definitions. That they all parse is tested.
func builtIns() []*cli {
	entries, _ := builtIn.ReadDir("agents") // embedded: it is there
	var list []*cli
	for _, e := range entries {
		text, err := builtIn.ReadFile("agents/" + e.Name())
		if err != nil {
			continue
		}
		if d, err := parse(e.Name(), string(text)); err == nil {
			list = append(list, &cli{d: d})
		}
	}
	place := func(c *cli) int {
		if i := slices.Index(order, c.d.Name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(list, func(a, b *cli) int { return place(a) - place(b) })
	return list
}

// UnknownError says that no agent has that name.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no agent %q; there is: %s, or a file of your own: ./NAME.toml", e.Name, strings.Join(e.Known, ", "))
}

// VersionError says that an agent cannot be had in a version of one's choice.
type VersionError struct{ Name, Version, Why string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("agent %s@%s: %s", e.Name, e.Version, e.Why)
}

// Find returns the agent that a word means: NAME or NAME@VERSION of a built-in
// one, or the path of a file that defines one.
func Find(word string) (Agent, error) {
	if strings.HasSuffix(word, ".toml") || strings.ContainsRune(word, filepath.Separator) {
		return Load(word)
	}
	name, version, versioned := strings.Cut(word, "@")
	var known []string
	for _, a := range All() {
		if a.Name() == name && !versioned {
			return a, nil
		} else if a.Name() == name {
			return inVersion(a, version)
		}
		known = append(known, a.Name())
	}
	return nil, &UnknownError{Name: word, Known: known}
}

// inVersion returns a built-in agent in a version that need not be the pinned one.
func inVersion(a Agent, version string) (Agent, error) {
	c, ok := a.(*cli)
	switch {
	case version == a.Version():
		return a, nil
	case !versionForm.MatchString(version):
		return nil, &VersionError{a.Name(), version, "a version is letters, digits and . + _ -"}
	case !ok || c.d.Image.Recipe == "":
		return nil, &VersionError{a.Name(), version, "there is only version " + a.Version()}
	}
	d := *c.d
	d.Version = version
	d.Image.Recipe += "@" + version
	return &cli{d: &d}, nil
}

// Load reads an agent of the user's own from a file.
func Load(file string) (Agent, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading an agent's definition: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDefinition+1))
	if err != nil {
		return nil, fmt.Errorf("reading an agent's definition: %w", err)
	}
	c, err := own(file, string(text))
	if err != nil {
		return nil, err
	}
	// A resume may be called from another folder.
	if file, err = filepath.Abs(file); err != nil {
		return nil, fmt.Errorf("reading an agent's definition: %w", err)
	}
	c.placeAt(file)
	return c, nil
}

// placeAt says where the definition lies: what is copied into the image lies
// beside it.
func (c *cli) placeAt(file string) {
	c.file = file
	for i, cp := range c.d.Image.Copy {
		if !filepath.IsAbs(cp.From) {
			c.d.Image.Copy[i].From = filepath.Join(filepath.Dir(file), cp.From)
		}
	}
}

// own makes an agent of a definition that is not built in.
func own(file, text string) (*cli, error) {
	d, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	for _, a := range All() {
		if a.Name() == d.Name {
			return nil, &FileError{File: file, Line: fieldLines(text)["name"], Field: "name",
				Why: fmt.Sprintf("%q is the name of a built-in agent; choose another", d.Name)}
		}
	}
	return &cli{d: d, text: text}, nil
}

// Restore returns the agent that a run was made with: name and version as they
// were, and the text and the place of its definition where it was the user's own.
func Restore(name, version, definition, file string) (Agent, error) {
	if definition != "" {
		c, err := own("definition of agent "+name, definition)
		if err != nil {
			return nil, err
		}
		c.placeAt(file)
		return c, nil
	}
	a, err := Find(name)
	if err != nil {
		return nil, err
	}
	return inVersion(a, version)
}

// WireError says that an agent and a provider have no wire format in common.
type WireError struct {
	Agent          string
	Speaks, Served []string
}

func (e *WireError) Error() string {
	return fmt.Sprintf("agent %s speaks %s, but the model's provider serves %s; "+
		"choose another agent (cabra-run agents lists their wire formats) or a provider that serves one of them",
		e.Agent, strings.Join(e.Speaks, ", "), strings.Join(e.Served, ", "))
}

// PickWire returns the first wire format of the agent that is served, "" for an
// agent that asks no model. The error is a *WireError.
func PickWire(a Agent, served []string) (string, error) {
	return PickWireFor(a, "", served)
}

// PickWireFor is PickWire for a model, by the name that its provider has for
// it: which wire format is the best may depend on it.
func PickWireFor(a Agent, model string, served []string) (string, error) {
	wires := a.Traits().Wires
	if len(wires) == 0 {
		return "", nil
	}
	if by, ok := a.(interface{ wiresFor(string) []string }); ok {
		wires = by.wiresFor(model)
	}
	for _, w := range wires {
		if slices.Contains(served, w) {
			return w, nil
		}
	}
	return "", &WireError{a.Name(), wires, served}
}
