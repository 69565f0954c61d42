package price

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

//go:embed prices.toml
var builtin []byte

// Table holds prices by the name of provider and model. The zero value is
// empty; it does not change once it is read.
type Table struct {
	exact    map[string]Model
	prefixes []prefixed // the longest first
}

// prefixed is an entry for all names that begin alike.
type prefixed struct {
	prefix string
	model  Model
}

// maxFile bounds a table's file; the built-in one has some 10 KB.
const maxFile = 1 << 20

// Builtin returns the table that comes with the program.
func Builtin() (*Table, error) {
	t := &Table{}
	if err := t.read(builtin, "built-in prices"); err != nil {
		return nil, err
	}
	return t, nil
}

// Load returns the built-in table with the entries of the files put over it,
// in their order. Errors name the file, and the line or the entry.
func Load(files ...string) (*Table, error) {
	t, err := Builtin()
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		text, err := readFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading prices: %w", err)
		}
		if err := t.read(text, fmt.Sprintf("prices file %q", path)); err != nil {
			return nil, err
		}
	}
	return t, nil
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

// Lookup returns the price of a provider's model. An exact name goes before
// one that ends in "*", and of those the longest first.
func (t *Table) Lookup(provider, model string) (Model, bool) {
	name := provider + "/" + model
	m, ok := t.exact[name]
	if !ok {
		i := slices.IndexFunc(t.prefixes, func(p prefixed) bool { return strings.HasPrefix(name, p.prefix) })
		if i < 0 {
			return Model{}, false
		}
		m = t.prefixes[i].model
	}
	m.Name = name
	m.Tiers = slices.Clone(m.Tiers)
	return m, true
}

// Names lists what the table has entries for, in ascending order.
func (t *Table) Names() []string {
	var names []string
	for name := range t.exact {
		names = append(names, name)
	}
	for _, p := range t.prefixes {
		names = append(names, p.prefix+"*")
	}
	slices.Sort(names)
	return names
}

// fileRates are rates as a file has them.
type fileRates struct {
	Input          *float64 `toml:"input"`
	Cached         *float64 `toml:"cached"`
	CacheWrite     *float64 `toml:"cache_write"`
	CacheWriteLong *float64 `toml:"cache_write_long"`
	Output         *float64 `toml:"output"`
}

type fileTier struct {
	Above int64 `toml:"above"`
	fileRates
}

type fileEntry struct {
	Models    []string `toml:"models"`
	Date      string   `toml:"date"`
	Source    string   `toml:"source"`
	MaxOutput int64    `toml:"max_output"`
	fileRates
	Tiers []fileTier `toml:"tiers"`
}

// read puts the entries of a text into the table.
func (t *Table) read(text []byte, origin string) error {
	var doc struct {
		Price []fileEntry `toml:"price"`
	}
	dec := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return fmt.Errorf("%s%w", origin, located(err))
	}
	seen := map[string]bool{}
	for i, e := range doc.Price {
		m, err := e.model()
		if err == nil {
			err = t.add(e.Models, m, seen)
		}
		if err != nil {
			return fmt.Errorf("%s: entry %d (%s): %w", origin, i+1, strings.Join(e.Models, ", "), err)
		}
	}
	return nil
}

// located puts the line in front of an error of the TOML reader.
func located(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		return fmt.Errorf(":%d: unknown field %q", row, strings.Join(strict.Errors[0].Key(), "."))
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		row, _ := decode.Position()
		return fmt.Errorf(":%d: %w", row, err)
	}
	return fmt.Errorf(": %w", err)
}

// add puts a model under its names, over what earlier files have said.
func (t *Table) add(names []string, m Model, seen map[string]bool) error {
	if len(names) == 0 {
		return errors.New("no models")
	}
	if t.exact == nil {
		t.exact = map[string]Model{}
	}
	for _, name := range names {
		if err := checkName(name); err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("model %q stands twice in this file", name)
		}
		seen[name] = true
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			t.addPrefix(prefix, m)
			continue
		}
		t.exact[name] = m
	}
	return nil
}

func (t *Table) addPrefix(prefix string, m Model) {
	t.prefixes = slices.DeleteFunc(t.prefixes, func(p prefixed) bool { return p.prefix == prefix })
	t.prefixes = append(t.prefixes, prefixed{prefix, m})
	slices.SortStableFunc(t.prefixes, func(a, b prefixed) int { return len(b.prefix) - len(a.prefix) })
}

func checkName(name string) error {
	provider, model, ok := strings.Cut(name, "/")
	if !ok || provider == "" || model == "" || strings.ContainsAny(strings.TrimSuffix(name, "*"), "* \t\n") {
		return fmt.Errorf("model %q: want provider/name, with a \"*\" at most at the end", name)
	}
	return nil
}

// model checks an entry.
func (e fileEntry) model() (Model, error) {
	m := Model{Date: e.Date, Source: e.Source, MaxOutput: e.MaxOutput}
	if _, err := time.Parse(time.DateOnly, e.Date); err != nil {
		return m, fmt.Errorf("date %q: want YYYY-MM-DD, the day as of which the source says so", e.Date)
	}
	if e.Source == "" {
		return m, errors.New("no source")
	}
	if e.MaxOutput <= 0 || e.MaxOutput > 1<<30 {
		return m, fmt.Errorf("max_output %d: want the longest answer of the model in tokens", e.MaxOutput)
	}
	var err error
	if m.Rates, err = e.rates(); err != nil {
		return m, err
	}
	for i, t := range e.Tiers {
		r, err := t.rates()
		if err == nil && (t.Above <= 0 || i > 0 && t.Above <= e.Tiers[i-1].Above) {
			err = fmt.Errorf("above %d: tiers ascend from above 0", t.Above)
		}
		if err != nil {
			return m, fmt.Errorf("tier %d: %w", i+1, err)
		}
		m.Tiers = append(m.Tiers, Tier{Above: t.Above, Rates: r})
	}
	return m, nil
}

// maxRate, in USD per million tokens, is far beyond any price: what is above
// was written per token or in another currency's unit.
const maxRate = 100_000

func (f fileRates) rates() (Rates, error) {
	if f.Input == nil || f.Output == nil {
		return Rates{}, errors.New("input and output are needed, in USD per million tokens")
	}
	for _, p := range []*float64{f.Input, f.Cached, f.CacheWrite, f.CacheWriteLong, f.Output} {
		if p != nil && (math.IsNaN(*p) || *p < 0 || *p > maxRate) {
			return Rates{}, fmt.Errorf("%v is no price in USD per million tokens", *p)
		}
	}
	r := Rates{Input: *f.Input, Output: *f.Output, Cached: or(f.Cached, *f.Input), CacheWrite: or(f.CacheWrite, *f.Input)}
	r.CacheWriteLong = or(f.CacheWriteLong, r.CacheWrite)
	return r, nil
}

func or(v *float64, def float64) float64 {
	if v == nil {
		return def
	}
	return *v
}
