package provider

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"cabra-run/sandbox/gateway"
)

//go:embed providers.toml
var builtin []byte

// maxFile bounds a file of definitions.
const maxFile = 1 << 20

// Load returns the providers that come with the program, with the definitions
// of a user's file over them: of the named one, which must exist, or with ""
// of DefaultFile, which need not.
func Load(file string) (*Registry, error) {
	r := &Registry{definitions: map[string]*Definition{}, sources: []string{"the program itself"}}
	if err := r.read(builtin, source{name: "built-in providers", builtin: true}); err != nil {
		return nil, err
	}
	path, optional := file, false
	if path == "" {
		def, err := DefaultFile()
		if err != nil { // without a home there is no such file
			return r, nil
		}
		path, optional = def, true
	}
	r.sources = append(r.sources, path)
	text, err := readFile(path)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading providers: %w", err)
	}
	if err := r.read(text, source{name: path}); err != nil {
		return nil, err
	}
	return r, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%q is larger than %d bytes", path, maxFile)
	}
	return text, err
}

// The file's form.
type (
	fileDoc struct {
		Providers map[string]fileProvider `toml:"providers"`
	}
	fileProvider struct {
		About string `toml:"about"`
		fileEndpoint
		Key    *fileKey                `toml:"key"`
		Wires  []string                `toml:"wires"`
		Wire   map[string]fileEndpoint `toml:"wire"`
		Limits *fileLimits             `toml:"limits"`
	}
	fileEndpoint struct {
		BaseURL string            `toml:"base_url"`
		Auth    string            `toml:"auth"`
		Headers map[string]string `toml:"headers"`
		Query   map[string]string `toml:"query"`
	}
	fileKey struct {
		Env     string   `toml:"env"`
		File    string   `toml:"file"`
		Command []string `toml:"command"`
	}
	fileLimits struct {
		Requests   int64 `toml:"requests_per_minute"`
		Tokens     int64 `toml:"tokens_per_minute"`
		Concurrent int   `toml:"concurrent"`
		Shared     bool  `toml:"shared"`
	}
)

// source is a text with definitions.
type source struct {
	name    string
	builtin bool
}

// read puts a text's definitions over those that there are.
func (r *Registry) read(text []byte, src source) error {
	var doc fileDoc
	dec := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return located(src.name, err)
	}
	at := findPlaces(src.name, text)
	for _, name := range slices.Sorted(maps.Keys(doc.Providers)) {
		d := r.definitions[name].copy(name)
		first := d.places.takeAll(at, d.path())
		d.Origin = "built in"
		if !src.builtin {
			d.Origin = fmt.Sprintf("%s:%d", src.name, first)
		}
		if err := d.take(doc.Providers[name], filepath.Dir(src.name)); err != nil {
			return err
		}
		r.definitions[name] = d
	}
	return nil
}

// copy returns a definition to be changed; of none, an empty one.
func (d *Definition) copy(name string) *Definition {
	c := &Definition{Name: name, specific: map[gateway.Wire]endpoint{}}
	if d != nil {
		*c = *d
		c.specific = maps.Clone(d.specific)
		c.places = d.places.clone()
	}
	return c
}

var (
	nameForm   = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	envForm    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	headerForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	valueForm  = regexp.MustCompile(`^[ -~]{0,256}$`)
)

// reserved are names that --model gives another meaning.
var reserved = []string{"scripted", "replay"}

// take puts what a file says over the definition and checks the outcome.
func (d *Definition) take(f fileProvider, dir string) error {
	if !nameForm.MatchString(d.Name) || slices.Contains(reserved, d.Name) {
		return d.places.wrap(d.path(), fmt.Errorf("%q cannot be a provider's name", d.Name))
	}
	if f.About != "" {
		d.About = f.About
	}
	before := d.hosts()
	if err := d.takeEndpoint(&d.common, f.fileEndpoint, nil); err != nil {
		return err
	}
	if err := d.takeWires(f); err != nil {
		return err
	}
	if err := d.checkMoved(before, f.Key); err != nil {
		return err
	}
	if err := d.takeKey(f.Key, dir); err != nil {
		return err
	}
	return d.takeLimits(f.Limits)
}

// hosts are the places that the definition's addresses lead to, with the field
// that says so.
func (d *Definition) hosts() map[string]string {
	hosts := map[string]string{}
	note := func(base, field string) {
		host := base // a variable, where it has no scheme
		if _, rest, ok := strings.Cut(base, "://"); ok {
			host, _, _ = strings.Cut(rest, "/")
		}
		if host != "" {
			hosts[host] = field
		}
	}
	for w, e := range d.specific {
		note(e.base, d.path("wire", string(w), "base_url"))
	}
	note(d.common.base, d.path("base_url"))
	return hosts
}

// checkMoved refuses to send the key of one host to another: a file that leads
// a definition elsewhere says where the key for that is read.
func (d *Definition) checkMoved(before map[string]string, key *fileKey) error {
	if len(before) == 0 || key != nil || d.Key.None() {
		return nil
	}
	now := d.hosts()
	for _, host := range slices.Sorted(maps.Keys(now)) {
		if _, known := before[host]; !known {
			return d.places.wrap(now[host], fmt.Errorf(
				"%s is another host than before: say under key where its key is read (until now: %s)", host, d.Key))
		}
	}
	return nil
}

// takeEndpoint puts fields over an endpoint; under is the path of the table
// that they stand in, below the provider's own.
func (d *Definition) takeEndpoint(e *endpoint, f fileEndpoint, under []string) error {
	at := func(field string) string { return d.path(append(slices.Clone(under), field)...) }
	if f.BaseURL != "" {
		if err := checkBase(f.BaseURL); err != nil {
			return d.places.wrap(at("base_url"), err)
		}
		e.base = f.BaseURL
	}
	if f.Auth != "" {
		if !slices.Contains(gateway.Auths(), gateway.Auth(f.Auth)) {
			return d.places.wrap(at("auth"), fmt.Errorf("auth %q: want one of %v", f.Auth, gateway.Auths()))
		}
		e.auth = gateway.Auth(f.Auth)
	}
	for name, v := range f.Headers {
		if err := checkHeader(name, v); err != nil {
			return d.places.wrap(at("headers"), err)
		}
	}
	for name, v := range f.Query {
		if name == "" || !valueForm.MatchString(name) || !valueForm.MatchString(v) {
			return d.places.wrap(at("query"), fmt.Errorf("parameter %.40q cannot be in an address", name))
		}
	}
	if f.Headers != nil {
		e.headers = f.Headers
	}
	if f.Query != nil {
		e.query = f.Query
	}
	return nil
}

// checkBase checks an address whose variables may not be set here and now.
func checkBase(text string) error {
	if rest, ok := strings.CutPrefix(text, "$"); ok && variable.MatchString("$"+rest) {
		text = variable.ReplaceAllString(text, "https://variable.invalid")
	}
	_, err := gateway.ParseBaseURL(variable.ReplaceAllString(text, "v"))
	return err
}

// ownHeaders are set by the gateway.
var ownHeaders = []string{
	"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key", "Content-Length", "Content-Type", "Host",
	"Connection", "Transfer-Encoding", "Accept-Encoding", "Cookie",
}

func checkHeader(name, v string) error {
	if !headerForm.MatchString(name) || !valueForm.MatchString(v) {
		return fmt.Errorf("header %.40q cannot be sent", name)
	}
	if slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(name)) {
		return fmt.Errorf("header %q is not for a definition to set; keys belong under key", name)
	}
	return nil
}

func (d *Definition) takeWires(f fileProvider) error {
	if f.Wires != nil {
		d.Wires = nil
	}
	for _, name := range f.Wires {
		w := gateway.Wire(name)
		if !slices.Contains(gateway.Wires(), w) || slices.Contains(d.Wires, w) {
			return d.places.wrap(d.path("wires"), fmt.Errorf("wires: %q is none of %v, or stands twice", name, gateway.Wires()))
		}
		d.Wires = append(d.Wires, w)
	}
	if len(d.Wires) == 0 {
		return d.places.wrap(d.path("wires"), fmt.Errorf("wires: name at least one of %v", gateway.Wires()))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Wire)) {
		w := gateway.Wire(name)
		if !d.Speaks(w) {
			return d.places.wrap(d.path("wire", name), fmt.Errorf("wire %q is not in wires %v", name, d.Wires))
		}
		e := d.specific[w]
		if err := d.takeEndpoint(&e, f.Wire[name], []string{"wire", name}); err != nil {
			return err
		}
		d.specific[w] = e
	}
	for _, w := range d.Wires {
		if d.common.base == "" && d.specific[w].base == "" {
			return d.places.wrap(d.path("base_url"), fmt.Errorf("base_url is missing for wire %q", w))
		}
	}
	return nil
}

func (d *Definition) takeKey(f *fileKey, dir string) error {
	if f == nil {
		return nil
	}
	set := 0
	for _, is := range []bool{f.Env != "", f.File != "", len(f.Command) > 0} {
		if is {
			set++
		}
	}
	var err error
	switch {
	case set != 1:
		err = errors.New("key: want one of env, file and command")
	case f.Env != "" && !envForm.MatchString(f.Env):
		// Not shown: it may be the key itself, put where its name belongs.
		err = errors.New("key: env is the name of an environment variable, not the key")
	case len(f.Command) > 0 && f.Command[0] == "":
		err = errors.New("key: command begins with the name of a program")
	}
	if err != nil {
		return d.places.wrap(d.path("key"), err)
	}
	d.Key = Key{Env: f.Env, File: f.File, Command: f.Command}
	if f.File != "" {
		d.Key.File, err = resolve(f.File, dir)
	}
	if err != nil {
		return d.places.wrap(d.path("key"), err)
	}
	return nil
}

// resolve makes a key file's path independent of the working folder.
func resolve(path, dir string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("key: file %q: %w", path, err)
		}
		return filepath.Join(home, rest), nil
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	return filepath.Join(dir, path), nil
}

func (d *Definition) takeLimits(f *fileLimits) error {
	if f == nil {
		return nil
	}
	if f.Requests < 0 || f.Tokens < 0 || f.Concurrent < 0 {
		return d.places.wrap(d.path("limits"), errors.New("limits: a number is negative"))
	}
	d.Limits = gateway.RateLimits{
		RequestsPerMinute: f.Requests, TokensPerMinute: f.Tokens, Concurrent: f.Concurrent, Shared: f.Shared,
	}
	return nil
}
