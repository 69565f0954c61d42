package price

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func n(v int64) *int64 { return &v }

func builtinTable(t *testing.T) *Table {
	t.Helper()
	table, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func model(t *testing.T, provider, name string) *Model {
	t.Helper()
	m, ok := builtinTable(t).Lookup(provider, name)
	if !ok {
		t.Fatalf("no price for %s/%s", provider, name)
	}
	return &m
}

// Costs computed by hand from the published prices.
func TestCost(t *testing.T) {
	for _, c := range []struct {
		provider, model string
		u               Usage
		want            float64
	}{
		// 1000 × 5 + 200 × 30
		{"openai", "gpt-5.5", Usage{Input: n(1000), Output: n(200)}, 0.011},
		// 400 × 5 + 600 × 0.5 + 200 × 30
		{"openai", "gpt-5.5", Usage{Input: n(1000), Cached: n(600), Output: n(200)}, 0.0083},
		// exactly at the border the lower price holds: 272000 × 5
		{"openai", "gpt-5.5", Usage{Input: n(272000), Output: n(0)}, 1.36},
		// above it the higher one for everything: 100000 × 10 + 200000 × 1 + 1000 × 45
		{"openai", "gpt-5.5", Usage{Input: n(300000), Cached: n(200000), Output: n(1000)}, 1.245},
		// 2000 × 3 + 5000 × 0.3 + 3000 × 3.75 + 100 × 15
		{"anthropic", "claude-sonnet-4-6", Usage{Input: n(10000), Cached: n(5000), CacheWrite: n(3000), Output: n(100)}, 0.02025},
		// the same with 1000 of the writes for an hour: + 1000 × (6 − 3.75)
		{"anthropic", "claude-sonnet-4-6", Usage{Input: n(10000), Cached: n(5000), CacheWrite: n(3000),
			CacheWriteLong: n(1000), Output: n(100)}, 0.0225},
		// 250000 × 4 + 1000 × 18
		{"gemini", "gemini-3.1-pro-preview", Usage{Input: n(250000), Output: n(1000)}, 1.018},
		{"openrouter", "anthropic/claude-opus-4.7", Usage{Input: n(1e6), Output: n(1e6)}, 30},
		{"copilot", "claude-haiku-4.5", Usage{Input: n(0), Output: n(0)}, 0},
		// nonsense of a provider: more cached than there is
		{"openai", "gpt-5.4", Usage{Input: n(100), Cached: n(500), CacheWrite: n(9), Output: n(0)}, 100 * 0.25 / 1e6},
	} {
		got, ok := model(t, c.provider, c.model).Cost(c.u)
		if !ok || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s/%s %+v: %v %v, want %v", c.provider, c.model, c.u, got, ok, c.want)
		}
	}
}

func TestUnknownIsNotZero(t *testing.T) {
	m := model(t, "openai", "gpt-5.5")
	for _, u := range []Usage{{}, {Input: n(1)}, {Output: n(1)}, {Cached: n(1), Output: n(1)}} {
		if usd, ok := m.Cost(u); ok {
			t.Errorf("%+v costs %v", u, usd)
		}
	}
	var none *Model
	if _, ok := none.Cost(Usage{Input: n(1), Output: n(1)}); ok {
		t.Error("a model without a price has a cost")
	}
	for _, name := range [][2]string{{"openai", "gpt-9"}, {"local", "gpt-5.5"}, {"azure", "gpt-5.5"}, {"", ""}} {
		if m, ok := builtinTable(t).Lookup(name[0], name[1]); ok {
			t.Errorf("%v has a price: %+v", name, m)
		}
	}
}

func TestWorst(t *testing.T) {
	openai, sonnet := model(t, "openai", "gpt-5.5"), model(t, "anthropic", "claude-sonnet-4-6")
	for _, c := range []struct {
		name string
		m    *Model
		q    Request
		want float64
	}{
		// (1000/2 + 512) × 5 + 1000 × 30
		{"asked for", openai, Request{Bytes: 1000, MaxOutput: 1000}, 0.03506},
		// the model's longest answer: 513 × 5 + 128000 × 30
		{"silent", openai, Request{Bytes: 1}, 3.842565},
		{"more than there is", openai, Request{Bytes: 1, MaxOutput: 1e9}, 3.842565},
		{"three answers", openai, Request{Bytes: 1, MaxOutput: 100, Choices: 3}, 0.011565},
		// 300512 × 10 + 10 × 45
		{"long", openai, Request{Bytes: 600000, MaxOutput: 10}, 3.00557},
		// the dearest input is a cache write for an hour: 612 × 6 + 10 × 15
		{"cache", sonnet, Request{Bytes: 200, MaxOutput: 10}, 0.003822},
	} {
		if got := c.m.Worst(c.q); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	var none *Model
	if got := none.Tokens(Request{Bytes: 10}); got != 5+512+128000 {
		t.Errorf("tokens of an unknown model: %d", got)
	}
	if got := none.Tokens(Request{Bytes: 10, MaxOutput: 200000}); got != 5+512+200000 {
		t.Errorf("tokens asked of an unknown model: %d", got)
	}
	if got := openai.Tokens(Request{Bytes: math.MaxInt64, Choices: math.MaxInt64}); got != math.MaxInt64 {
		t.Errorf("tokens overflow: %d", got)
	}
}

// No answer within a request's bounds costs more than its worst.
func TestWorstIsABound(t *testing.T) {
	table := builtinTable(t)
	names := table.Names()
	rapid.Check(t, func(t *rapid.T) {
		provider, name, _ := strings.Cut(rapid.SampledFrom(names).Draw(t, "model"), "/")
		m, ok := table.Lookup(provider, name)
		if !ok {
			t.Fatalf("%s/%s is gone", provider, name)
		}
		q := Request{Bytes: rapid.Int64Range(0, 8<<20).Draw(t, "bytes"), MaxOutput: rapid.Int64Range(0, 1<<20).Draw(t, "max")}
		input := rapid.Int64Range(0, q.Input()).Draw(t, "input")
		cached := rapid.Int64Range(0, input).Draw(t, "cached")
		write := rapid.Int64Range(0, input-cached).Draw(t, "write")
		limit := m.MaxOutput
		if q.MaxOutput > 0 {
			limit = min(limit, q.MaxOutput)
		}
		u := Usage{Input: &input, Cached: &cached, CacheWrite: &write,
			CacheWriteLong: n(rapid.Int64Range(0, write).Draw(t, "long")), Output: n(rapid.Int64Range(0, limit).Draw(t, "output"))}
		usd, ok := m.Cost(u)
		if worst := m.Worst(q); !ok || usd > worst+1e-12 {
			t.Fatalf("%+v costs %v, worst %v", u, usd, worst)
		}
	})
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prices.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const own = `
[[price]]
models = ["openai/gpt-5.5", "lab/*", "lab/big-*"]
date = "2026-11-01"
source = "our contract"
max_output = 1000
input = 1
output = 2
`

func TestFilesOverride(t *testing.T) {
	table, err := Load(write(t, own))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range [][2]string{{"openai", "gpt-5.5"}, {"lab", "small"}, {"lab", "big-1"}, {"lab", "a/b"}} {
		m, ok := table.Lookup(name[0], name[1])
		want := Rates{Input: 1, Cached: 1, CacheWrite: 1, CacheWriteLong: 1, Output: 2}
		if !ok || m.Rates != want || m.Tiers != nil || m.Source != "our contract" || m.Name != name[0]+"/"+name[1] {
			t.Errorf("%v: %+v %v", name, m, ok)
		}
	}
	if m, ok := table.Lookup("openai", "gpt-5.4"); !ok || m.Input != 2.5 {
		t.Errorf("what the file does not name: %+v %v", m, ok)
	}
	if _, ok := table.Lookup("laboratory", "x"); ok {
		t.Error("a provider whose name only begins alike has a price")
	}
}

func TestBadFiles(t *testing.T) {
	good := strings.TrimSpace(own)
	for name, c := range map[string]struct{ text, want string }{
		"syntax":   {"[[price]]\nmodels = [", "prices.toml\":2"},
		"unknown":  {good + "\nprice = 3", "prices.toml\":8: unknown field \"price.price\""},
		"type":     {strings.Replace(good, "input = 1", "input = \"1\"", 1), "prices.toml\":6"},
		"date":     {strings.Replace(good, "2026-11-01", "last week", 1), "entry 1 (openai/gpt-5.5, lab/*, lab/big-*): date"},
		"source":   {strings.Replace(good, "our contract", "", 1), "no source"},
		"output":   {strings.Replace(good, "output = 2", "", 1), "input and output are needed"},
		"negative": {strings.Replace(good, "input = 1", "input = -1", 1), "-1 is no price"},
		"nan":      {strings.Replace(good, "input = 1", "input = nan", 1), "NaN is no price"},
		"limit":    {strings.Replace(good, "max_output = 1000", "", 1), "max_output 0"},
		"name":     {strings.Replace(good, "lab/*", "l*b/x", 1), "model \"l*b/x\""},
		"twice":    {good + "\n" + good, "entry 2 (openai/gpt-5.5, lab/*, lab/big-*): model \"openai/gpt-5.5\" stands twice"},
		"tiers":    {good + "\ntiers = [{above = 5, input = 1, output = 1}, {above = 5, input = 1, output = 1}]", "tier 2: above 5"},
		"no names": {strings.Replace(good, `["openai/gpt-5.5", "lab/*", "lab/big-*"]`, "[]", 1), "no models"},
	} {
		_, err := Load(write(t, c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Load("/none/prices.toml"); err == nil || !strings.Contains(err.Error(), "/none/prices.toml") {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Load(write(t, strings.Repeat("#", maxFile+1))); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("large file: %v", err)
	}
}

// Every model of the experiments that OpenAI, Anthropic and Google sell has a price.
func TestModelsOfThePaper(t *testing.T) {
	for _, name := range []string{
		"copilot/claude-sonnet-4.6", "copilot/claude-opus-4.7", "copilot/gpt-5.5", "copilot/gpt-5.4-mini",
		"copilot/gemini-3.1-pro-preview", "copilot/gemini-3.5-flash",
		"openrouter/openai/gpt-5.3-codex", "openrouter/openai/gpt-5", "openrouter/openai/gpt-5.4-mini", "openrouter/openai/gpt-5.5",
	} {
		provider, m, _ := strings.Cut(name, "/")
		if got := model(t, provider, m); got.Date == "" || got.Source == "" || got.Cached >= got.Input {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add(own)
	f.Add(string(builtin))
	f.Add("[[price]]\nmodels=['a/b']\ntiers=[{}]")
	f.Fuzz(func(t *testing.T, text string) {
		table := &Table{}
		if table.read([]byte(text), "fuzz") != nil {
			return
		}
		for _, name := range table.Names() {
			provider, m, _ := strings.Cut(name, "/")
			got, ok := table.Lookup(provider, m)
			if !ok {
				t.Fatalf("%q is listed and has no price", name)
			}
			if usd, ok := got.Cost(Usage{Input: n(1000), Output: n(1000)}); !ok || usd < 0 || math.IsNaN(usd) || math.IsInf(usd, 0) {
				t.Fatalf("%q costs %v", name, usd)
			}
		}
	})
}
