package refactor

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

const firstSmallSample = "1825bc54-30be-b45f-6835-14f2ceb81f9d"

// Published: the first rules of the first sample at seed 42, for numbers.
func TestFirstRulesOfTheFirstSample(t *testing.T) {
	rules, err := sampleRules(DefaultSeed, firstSmallSample, "mult", numberBank(), 13)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rules {
		text := fmt.Sprintf("%d %s %s", r.Value, r.Kind, r.Rand)
		if strings.HasSuffix(r.Kind, "_number") {
			text += " " + r.NewVar
		}
		got = append(got, strings.TrimSpace(text))
	}
	want := []string{"4 assert_not -30", "6 divide_number 0.1 snapshot_mult6", "7 divide_number 0.4 snapshot_mult7",
		"5 assert_not -30", "6 assert_not 30", "1 print_prefix", "8 assert_not 30",
		"1 multiply_number 0.2 mult1_snapshot", "4 print_suffix", "9 add_comment review", "2 add_comment verify",
		"8 add_comment TODO", "3 assert_upper_bound 150"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func officialSampleIDs(t *testing.T) []string {
	t.Helper()
	sampler, err := callgraph.NewSampler(DefaultSeed, smallNodes, smallNodes)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, tasks.InstancesPerCell)
	for i := range ids {
		s, err := sampler.Next()
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = s.ID
	}
	return ids
}

// Published: the mean number of rules of each kind over the 20 samples.
func TestMixOfRules(t *testing.T) {
	mean := map[string]float64{}
	for _, id := range officialSampleIDs(t) {
		rules, err := sampleRules(DefaultSeed, id, "mult", numberBank(), 200)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			switch {
			case strings.HasSuffix(r.Kind, "_number"):
				mean["temporary"] += 1.0 / tasks.InstancesPerCell
			case strings.HasPrefix(r.Kind, "assert_"):
				mean["each assertion"] += 1.0 / 3 / tasks.InstancesPerCell
			default:
				mean[r.Kind] += 1.0 / tasks.InstancesPerCell
			}
		}
	}
	got := map[string]int{}
	for word, m := range mean {
		got[word] = int(math.Round(m))
	}
	want := map[string]int{"temporary": 10, "each assertion": 33, "add_comment": 32, "print_prefix": 30,
		"print_suffix": 29}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v; exactly %v", got, want, mean)
	}
}

// Published: with five rules, about four of the ten values have one; with fifty
// or more, all have.
func TestValuesWithRules(t *testing.T) {
	withFive := 0
	for _, id := range officialSampleIDs(t) {
		for _, count := range []int{5, 50, 200} {
			rules, err := sampleRules(DefaultSeed, id, "key", textBank(), count)
			if err != nil {
				t.Fatal(err)
			}
			values := map[int]bool{}
			for _, r := range rules {
				values[r.Value] = true
			}
			if count == 5 {
				withFive += len(values)
			} else if len(values) != generatedValues {
				t.Errorf("%d rules for %d values", count, len(values))
			}
		}
	}
	if mean := float64(withFive) / tasks.InstancesPerCell; mean < 3.5 || mean > 4.6 {
		t.Errorf("%.2f values have one of five rules", mean)
	}
}

// Published: 73 different rules per value of numbers, 72 of strings; one of
// them makes a variable.
func TestCapacity(t *testing.T) {
	for want, bank := range map[int][]ruleKind{73: numberBank(), 72: textBank()} {
		got := 1
		for _, kind := range bank {
			switch {
			case kind.category == temporaries:
			case kind.prefixed:
				got += len(printPrefixes())
			case kind.suffixed:
				got += len(printSuffixes())
			default:
				got += len(kind.rands)
			}
		}
		if got != want || len(bank) != 10 {
			t.Errorf("%d rules of %d kinds, want %d of 10", got, len(bank), want)
		}
		if _, err := sampleRules(1, "x", "v", bank, 10*want+1); err == nil {
			t.Error("more rules than there can be")
		}
	}
}

func TestPrintedTexts(t *testing.T) {
	prefixes, suffixes := printPrefixes(), printSuffixes()
	if len(prefixes) != 18 || len(suffixes) != 16 {
		t.Errorf("%d prefixes, %d suffixes", len(prefixes), len(suffixes))
	}
	seen := map[string]bool{}
	for _, p := range prefixes {
		if !strings.HasSuffix(p, " ") {
			t.Errorf("prefix %q does not end in a blank", p)
		}
	}
	for _, s := range suffixes {
		if !strings.HasPrefix(s, " ") {
			t.Errorf("suffix %q does not begin with a blank", s)
		}
	}
	for _, text := range append(prefixes, suffixes...) {
		if seen[text] || strings.ContainsAny(text, "'\"{}\\\n") {
			t.Errorf("%q is there twice, or needs escapes", text)
		}
		seen[text] = true
	}
	if patterns := newVarPatterns(); len(patterns) != 16 || len(commentLabels()) != 16 {
		t.Errorf("%d patterns, %d labels", len(patterns), len(commentLabels()))
	}
}

// What every list of rules promises, whatever it is drawn from.
func TestRulesDoNotRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, id := rapid.Int64().Draw(t, "seed"), rapid.String().Draw(t, "sample")
		bank := numberBank()
		if rapid.Bool().Draw(t, "texts") {
			bank = textBank()
		}
		count := rapid.IntRange(1, 200).Draw(t, "rules")
		rules, err := sampleRules(seed, id, "mult", bank, count)
		if err != nil || len(rules) != count {
			t.Fatalf("%d rules, %v", len(rules), err)
		}
		all, err := sampleRules(seed, id, "mult", bank, 200)
		if err != nil || !reflect.DeepEqual(all[:count], rules) {
			t.Fatalf("fewer rules are not the first of more: %v", err)
		}
		lines, rands, sentences := map[string]bool{}, map[string]bool{}, map[string]bool{}
		variables := map[int]bool{}
		for _, r := range all {
			rand := fmt.Sprint(r.Value, r.Rand)
			if r.Value < 1 || r.Value > 10 || r.Phrasing < 0 || r.Phrasing > 4 || r.Var != fmt.Sprint("mult", r.Value) ||
				!strings.Contains(r.Line, r.Var) || lines[r.Line] || sentences[r.Sentence] ||
				r.Rand != "" && rands[rand] || r.Rand2 != "" && r.Rand2 == r.Rand {
				t.Fatalf("rule %+v", r)
			}
			lines[r.Line], rands[rand], sentences[r.Sentence] = true, true, true
			if strings.Contains(r.Line, r.NewVar+" = ") {
				if variables[r.Value] {
					t.Fatalf("%s gets a second variable", r.Var)
				}
				variables[r.Value] = true
			}
		}
	})
}

// Published: refactorings whose values are named alike have the same rules.
func TestRefactoringsShareRules(t *testing.T) {
	list := runtimeGrid(t, "axis=instructions; size=25,50; instances=4")
	byID := map[tasks.ID]tasks.Task{}
	for _, task := range list {
		byID[task.ID] = task
	}
	rulesOf := func(r tasks.Refactoring, code tasks.CodeType, size, instance int) []Rule {
		cell := tasks.Cell{Axis: tasks.Instructions, Size: size, Refactoring: r, Code: code}
		task, ok := byID[tasks.CellID(cell, instance)]
		if !ok {
			t.Fatal("no such task")
		}
		return task.Check.Rules
	}
	for instance := 1; instance <= 4; instance++ {
		for _, size := range []int{25, 50} {
			math := rulesOf(tasks.AddParameter, tasks.Math, size, instance)
			if len(math) != size {
				t.Errorf("%d rules, want %d", len(math), size)
			}
			for _, same := range [][]Rule{rulesOf(tasks.DontRepeat, tasks.Math, size, instance),
				rulesOf(tasks.AddParameter, tasks.Array, size, instance),
				rulesOf(tasks.DontRepeat, tasks.Array, size, instance),
				renamed(rulesOf(tasks.CacheFunction, tasks.Math, size, instance), "slow", "mult")} {
				if !sameRules(math, same) {
					t.Errorf("instance %d, size %d: other rules", instance, size)
				}
			}
			text := rulesOf(tasks.AddParameter, tasks.String, size, instance)
			for _, same := range [][]Rule{rulesOf(tasks.DontRepeat, tasks.String, size, instance),
				renamed(rulesOf(tasks.AddReturn, tasks.Math, size, instance), "key", "prefix"),
				renamed(rulesOf(tasks.AddReturn, tasks.Array, size, instance), "key", "prefix"),
				renamed(rulesOf(tasks.CacheFunction, tasks.String, size, instance), "slow", "prefix")} {
				if !sameRules(text, same) {
					t.Errorf("instance %d, size %d: other rules for strings", instance, size)
				}
			}
		}
		if !reflect.DeepEqual(rulesOf(tasks.AddReturn, tasks.Array, 25, instance),
			rulesOf(tasks.AddReturn, tasks.Array, 50, instance)[:25]) {
			t.Errorf("instance %d: 25 rules are not the first of 50", instance)
		}
	}
}

func renamed(rules []Rule, from, to string) []Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		r := &rules[i]
		for _, text := range []*string{&r.Var, &r.NewVar, &r.Line} {
			*text = strings.ReplaceAll(*text, fmt.Sprint(from, r.Value), fmt.Sprint(to, r.Value))
		}
	}
	return rules
}

func sameRules(a, b []Rule) bool {
	return slices.EqualFunc(a, b, func(a, b Rule) bool {
		a.Sentence, b.Sentence = "", ""
		return a == b
	})
}
