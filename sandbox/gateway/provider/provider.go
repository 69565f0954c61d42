// Package provider owns who answers models: definitions of providers, those
// that come with the program and those of a user's file, with their addresses,
// wires, limits and the places where their keys are read. It turns "--model
// NAME/model" into an upstream of the gateway. It must not know agents, runs or
// prices, and it never holds a key.
package provider

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cabra-run/sandbox/gateway"
)

// Definition is one provider.
type Definition struct {
	Name   string
	About  string
	Origin string // "built in", or file and line
	Key    Key
	Wires  []gateway.Wire // in order of preference
	Limits gateway.RateLimits

	common   endpoint
	specific map[gateway.Wire]endpoint
	places   places
}

// Key says where a provider's key is read. At most one field is set; without
// any the provider needs none.
type Key struct {
	Env     string
	File    string   // relative ones were resolved against the definition's file
	Command []string // program and arguments; it prints the key
}

// None reports whether the provider needs no key.
func (k Key) None() bool { return k.Env == "" && k.File == "" && len(k.Command) == 0 }

// String says where the key is read, for people.
func (k Key) String() string {
	switch {
	case k.Env != "":
		return "environment variable " + k.Env
	case k.File != "":
		return fmt.Sprintf("file %q", k.File)
	case len(k.Command) > 0:
		return fmt.Sprintf("command %q", k.Command[0])
	}
	return "none"
}

// source is the gateway's form of it.
func (k Key) source() gateway.KeySource {
	s := gateway.KeySource{Env: k.Env, File: k.File}
	if len(k.Command) > 0 {
		s.Command = &gateway.KeyCommand{Args: slices.Clone(k.Command)}
	}
	return s
}

// endpoint is what may differ from wire to wire.
type endpoint struct {
	base    string // with its ${VARIABLES}
	auth    gateway.Auth
	headers map[string]string
	query   map[string]string
}

// Endpoint returns the address of a wire with environment variables put in.
// Errors say where the definition stands.
func (d *Definition) Endpoint(w gateway.Wire) (gateway.Endpoint, error) {
	e := d.common
	field := d.path("base_url")
	if own, ok := d.specific[w]; ok {
		if own.base != "" {
			e.base, field = own.base, d.path("wire", string(w), "base_url")
		}
		if own.auth != "" {
			e.auth = own.auth
		}
		e.headers = merged(e.headers, own.headers)
		e.query = merged(e.query, own.query)
	}
	base, err := expand(e.base)
	if err == nil {
		_, err = gateway.ParseBaseURL(base)
	}
	if err != nil {
		return gateway.Endpoint{}, d.places.wrap(field, err)
	}
	return gateway.Endpoint{BaseURL: base, Auth: e.auth, Headers: e.headers, Query: e.query}, nil
}

func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, b)
	return out
}

// path is a field of the definition as its file names it.
func (d *Definition) path(field ...string) string {
	return strings.Join(append([]string{"providers", d.Name}, field...), ".")
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand puts environment variables in, without slashes at their ends.
func expand(text string) (string, error) {
	var missing []string
	out := variable.ReplaceAllStringFunc(text, func(v string) string {
		name := v[2 : len(v)-1]
		value := strings.TrimRight(strings.TrimSpace(os.Getenv(name)), "/")
		if value == "" {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("environment variable %s is not set", strings.Join(missing, ", "))
	}
	return out, nil
}

// Speaks reports whether the provider has the wire.
func (d *Definition) Speaks(w gateway.Wire) bool { return slices.Contains(d.Wires, w) }

// Upstream returns the gateway's way to the provider. The mask, which may be
// nil, learns the keys that are read. The key is looked for once, so that a
// missing one shows before anything is made; commands are not run for that.
func (d *Definition) Upstream(mask *gateway.Mask) (*gateway.HTTP, error) {
	source := d.Key.source()
	if source.Command == nil {
		if _, err := source.Read(); err != nil {
			return nil, d.places.wrap(d.path("key"), err)
		}
	}
	ends := map[gateway.Wire]gateway.Endpoint{}
	for _, w := range d.Wires {
		end, err := d.Endpoint(w)
		if err != nil {
			return nil, err
		}
		ends[w] = end
	}
	up, err := gateway.NewHTTP(gateway.HTTPOptions{
		Name: d.Name, Endpoints: ends, Key: source, RateLimits: d.Limits, Mask: mask,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Origin, err)
	}
	return up, nil
}

// Registry holds the definitions by name.
type Registry struct {
	definitions map[string]*Definition
	sources     []string // where definitions were looked for
}

// DefaultFile is where a user's definitions are looked for when no file is
// named: providers.toml in the user's configuration folder.
func DefaultFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("finding the configuration folder: %w", err)
	}
	return filepath.Join(dir, "cabra-run", "providers.toml"), nil
}

// Names lists the providers in ascending order.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.definitions)) }

// Get returns a definition by its name.
func (r *Registry) Get(name string) (*Definition, bool) {
	d, ok := r.definitions[name]
	return d, ok
}

// UnknownError is a name that no definition has.
type UnknownError struct {
	Model    string // as it was asked for
	Provider string // what stands before its first slash, "" without one
	Known    []string
	Sources  []string // where definitions were looked for
}

func (e *UnknownError) Error() string {
	if e.Provider == "" {
		return fmt.Sprintf("model %q names no provider", e.Model)
	}
	return fmt.Sprintf("model %q: no provider %q is defined", e.Model, e.Provider)
}

// Hint says what there is and where it was looked for.
func (e *UnknownError) Hint() string {
	return fmt.Sprintf("write PROVIDER/MODEL with one of %s; they are defined in %s",
		strings.Join(e.Known, ", "), strings.Join(e.Sources, " and "))
}

// Resolve splits "provider/name" at its first slash: the name may hold further
// ones. Errors are an *UnknownError or say that the name is missing.
func (r *Registry) Resolve(model string) (*Definition, string, error) {
	name, rest, ok := strings.Cut(model, "/")
	unknown := &UnknownError{Model: model, Known: r.Names(), Sources: slices.Clone(r.sources)}
	if !ok {
		return nil, "", unknown
	}
	d, found := r.definitions[name]
	if !found {
		unknown.Provider = name
		return nil, "", unknown
	}
	if rest == "" {
		return nil, "", fmt.Errorf("model %q: what follows the provider's name is missing", model)
	}
	return d, rest, nil
}
