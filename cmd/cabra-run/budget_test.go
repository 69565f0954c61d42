package main

import (
	"strings"
	"testing"

	"cabra-run/runner"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/gateway/price"
)

func TestParseCaps(t *testing.T) {
	for text, want := range map[string]gateway.Caps{
		"":                  {},
		"none":              {},
		"200":               {USD: 200},
		"$0.5":              {USD: 0.5},
		"50Mtok":            {Tokens: 50_000_000},
		"1.5ktok":           {Tokens: 1500},
		"7tok":              {Tokens: 7},
		"200, 2Gtok":        {USD: 200, Tokens: 2_000_000_000},
		"50Mtok,200":        {USD: 200, Tokens: 50_000_000},
		"0.25tok":           {Tokens: 1}, // a cap of nothing would be none
		"1000000000000ktok": {Tokens: 1_000_000_000_000_000},
	} {
		if got, err := parseCaps(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "abc", "1,2", "1tok,2tok", "1,", "Inf", "NaN", "1e30tok", "5 euros", "10M"} {
		if got, err := parseCaps(text); err == nil {
			t.Errorf("%q is taken as %+v", text, got)
		}
	}
}

// A budget in money needs a price, one in tokens does not; a scripted model
// costs nothing.
func TestBudgetNeedsAPrice(t *testing.T) {
	up, err := gateway.NewHTTP(gateway.HTTPOptions{BaseURL: "http://127.0.0.1:9/v1"})
	if err != nil {
		t.Fatal(err)
	}
	free, err := gateway.NewScripted("solve")
	if err != nil {
		t.Fatal(err)
	}
	unknown := runner.Model{Name: "x/y", Upstream: up}
	priced := runner.Model{Name: "x/y", Upstream: up, Price: &price.Model{}}
	scripted := runner.Model{Name: "scripted", Upstream: free}
	for _, tt := range []struct {
		o    budgetOptions
		m    runner.Model
		want string
	}{
		{budgetOptions{run: "5"}, unknown, "--prices FILE"},
		{budgetOptions{attempt: "5"}, unknown, "price unknown"},
		{budgetOptions{run: "5Mtok"}, unknown, ""},
		{budgetOptions{run: "5"}, priced, ""},
		{budgetOptions{run: "5"}, scripted, ""},
		{budgetOptions{trial: "five"}, priced, `--trial-budget "five"`},
		{budgetOptions{}, unknown, ""},
	} {
		_, err := tt.o.parse(tt.m)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v, want %q", tt.o, err, tt.want)
		}
	}
}
