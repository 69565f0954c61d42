package refactor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
)

// kindLines has one rule of each kind, with the line that it asks for.
func kindLines() []Rule {
	number := Rule{Value: 3, Var: "mult3", NewVar: "stored_mult3", Rand: "0.4"}
	text := Rule{Value: 3, Var: "key3", NewVar: "key3_dupe", Rand: "'7'", Rand2: "'2'"}
	of := func(r Rule, kind, rand, line string) Rule {
		r.Kind, r.Line = kind, line
		if rand != "" {
			r.Rand = rand
		}
		return r
	}
	prefixed := Rule{Value: 3, Var: "mult3", NewVar: "x", Prefix: "Value: "}
	suffixed := Rule{Value: 3, Var: "key3", NewVar: "x", Suffix: " (value)"}
	return []Rule{
		of(number, "add_number", "", "stored_mult3 = mult3 + 0.4"),
		of(number, "subtract_number", "", "stored_mult3 = mult3 - 0.4"),
		of(number, "multiply_number", "", "stored_mult3 = mult3 * 0.4"),
		of(number, "divide_number", "", "stored_mult3 = mult3 / 0.4"),
		of(text, "add_character_prefix", "", "key3_dupe = '7' + key3"),
		of(text, "add_character_suffix", "", "key3_dupe = key3 + '7'"),
		of(text, "replace_character", "", "key3_dupe = key3.replace('7', '2')"),
		of(text, "sandwich", "", "key3_dupe = '7' + key3 + '2'"),
		of(number, "assert_not", "-30", "assert mult3 != -30"),
		of(number, "assert_upper_bound", "150", "assert mult3 < 150"),
		of(number, "assert_lower_bound", "-75", "assert mult3 > -75"),
		of(text, "assert_not", "'D'", "assert key3 != 'D'"),
		of(text, "assert_upper_bound", "';'", "assert key3 < ';'"),
		of(text, "assert_lower_bound", "'#'", "assert key3 > '#'"),
		of(prefixed, "print_prefix", "", "print(f'Value: {mult3}')"),
		of(suffixed, "print_suffix", "", "print(f'{key3} (value)')"),
		of(number, "add_comment", "pass-through", "# pass-through: mult3"),
	}
}

// kindSentences are these rules in all paraphrases.
func kindSentences() []Rule {
	var all []Rule
	for _, r := range kindLines() {
		for r.Phrasing = range phrasings {
			r.Sentence = sentence(r)
			all = append(all, r)
		}
	}
	return all
}

func TestSentencesGolden(t *testing.T) {
	var text strings.Builder
	line := ""
	for _, r := range kindSentences() {
		if r.Line != line {
			line = r.Line
			fmt.Fprintf(&text, "%s: %s\n", r.Kind, line)
		}
		fmt.Fprintf(&text, "    %s\n", r.Sentence)
	}
	goldenText(t, "sentences.txt", text.String())
}

// Whoever reads one sentence, in any paraphrase, can write the line.
func TestSentencesLeadToTheLines(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on the path")
	}
	input, err := json.Marshal(kindSentences())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-B", "follow_sentences.py")
	cmd.Dir, cmd.Stdin = filepath.Join("testdata", "python"), bytes.NewReader(input)
	output, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("checked %d\n", len(kindSentences())); err != nil || string(output) != want {
		t.Errorf("%v\n%s", err, output)
	}
}

func TestSentencesSay(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range kindSentences() {
		if seen[r.Sentence] {
			t.Errorf("said twice: %q", r.Sentence)
		}
		seen[r.Sentence] = true
		want := []string{"`" + r.Var + "`"}
		switch {
		case r.Kind == "add_comment":
			want = []string{"`" + r.Line + "`", "comment"}
		case strings.HasPrefix(r.Kind, "print"):
			want = append(want, "print", "f-string", "`'"+r.Prefix+r.Suffix+"'`")
		case strings.HasPrefix(r.Kind, "assert"):
			want = []string{r.Var, "assert", r.Rand}
		default:
			want = []string{r.Var, "`" + r.NewVar + "`", r.Rand}
		}
		for _, phrase := range want {
			if !strings.Contains(r.Sentence, phrase) {
				t.Errorf("%s %d does not say %q: %q", r.Kind, r.Phrasing, phrase, r.Sentence)
			}
		}
		if strings.Contains(r.Sentence, "$") || strings.Contains(r.Sentence, "\n") ||
			!strings.HasSuffix(r.Sentence, ".") && !strings.HasSuffix(r.Sentence, "`") {
			t.Errorf("%s %d: %q", r.Kind, r.Phrasing, r.Sentence)
		}
	}
}

// What the bank draws never turns into a part of the sentence.
func TestSentencesTakeTheWordsAsTheyAre(t *testing.T) {
	r := Rule{Kind: "print_prefix", Var: "mult1", Prefix: "$V $Q: "}
	if got := sentence(r); got != "print `mult1` with the prefix `'$V $Q: '`, using an f-string." {
		t.Errorf("got %q", got)
	}
}

func TestSentencesThatDoNotExist(t *testing.T) {
	for _, r := range []Rule{{}, {Kind: "add"}, {Kind: "add_number", Phrasing: 5}, {Kind: "add_number",
		Phrasing: -1}} {
		if got := sentence(r); got != "" {
			t.Errorf("%+v: %q", r, got)
		}
	}
}

func instructionCell(r tasks.Refactoring, code tasks.CodeType) tasks.Cell {
	return tasks.Cell{Axis: tasks.Instructions, Size: 17, Refactoring: r, Code: code}
}

func TestRenderListsTheRules(t *testing.T) {
	for _, c := range []struct {
		cell tasks.Cell
		want string
	}{
		{instructionCell(tasks.AddParameter, tasks.Math),
			"mult parameters mult1, mult2, mult3, mult4, mult5, mult6, mult7, mult8, "},
		{instructionCell(tasks.AddParameter, tasks.String),
			"prefix parameters prefix1, prefix2, prefix3, "},
		{instructionCell(tasks.AddReturn, tasks.String), "return value keys key1, key2, "},
		{instructionCell(tasks.AddReturn, tasks.Array), "return value keys key1, key2, "},
		{instructionCell(tasks.CacheFunction, tasks.Math), "cached slow values slow1, slow2, "},
		{instructionCell(tasks.DontRepeat, tasks.Array), "extracted multipliers mult1, mult2, "},
		{instructionCell(tasks.DontRepeat, tasks.String), "extracted prefixes prefix1, prefix2, "},
	} {
		rules := kindLines()
		text, err := Statements(nil).Render(c.cell, rules)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(rules, kindLines()) {
			t.Error("the rules were changed")
		}
		before, _, _ := strings.Cut(textOf(t, c.cell.Axis, c.cell.Refactoring, c.cell.Code),
			rulesPlaceholder)
		list, found := strings.CutPrefix(text, before+"There are 17 requirements for the "+c.want)
		if !found || strings.Contains(text, "{{") {
			t.Errorf("%v: odd text %s", c.cell, text)
		}
		header, list, _ := strings.Cut(list, "\n\n")
		if !strings.Contains(header, "9 and ") || !strings.HasSuffix(header,
			"10. Each of them applies in every eligible function.") {
			t.Errorf("%v: header ends in %q", c.cell, header)
		}
		checkList(t, list, rules)
	}
}

var listed = regexp.MustCompile(`^([0-9]+)\. For (\w+): in every eligible function, (.*)$`)

// checkList wants each rule once, numbered, and not in its own order.
func checkList(t *testing.T, list string, rules []Rule) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(list, "\n"), "\n")
	var got, want []string
	for i, line := range lines {
		m := listed.FindStringSubmatch(line)
		if m == nil || m[1] != fmt.Sprint(i+1) {
			t.Fatalf("line %d: %q", i+1, line)
		}
		got = append(got, m[2]+" "+m[3])
	}
	for _, r := range rules {
		want = append(want, r.Var+" "+sentence(r))
	}
	if slices.Equal(got, want) {
		t.Error("the rules are not shuffled")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("listed\n%q\nwant\n%q", got, want)
	}
}

func TestRenderIsTheSameForTheSameTask(t *testing.T) {
	cell := instructionCell(tasks.AddReturn, tasks.Math)
	orders := map[string]bool{}
	for i := range 200 {
		rules := kindLines()[:3]
		rules[0].Line += fmt.Sprint(i)
		first, err := Statements(nil).Render(cell, rules)
		second, err2 := Statements(nil).Render(cell, rules)
		if err != nil || err2 != nil || first != second {
			t.Fatalf("not the same: %v, %v", err, err2)
		}
		orders[first[strings.LastIndex(first, "There are"):]] = true
	}
	if len(orders) != 6 {
		t.Errorf("three rules come in %d orders, want 6", len(orders))
	}
}

func TestRenderRefuses(t *testing.T) {
	cell := instructionCell(tasks.AddReturn, tasks.Math)
	for name, rules := range map[string][]Rule{"no rules": nil, "unknown kind": {{Kind: "no_kind",
		Var: "key1"}}} {
		if text, err := Statements(nil).Render(cell, rules); err == nil || text != "" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, axis := range []tasks.Axis{tasks.Instructions, tasks.CommentCopy} {
		cell.Axis = axis
		if text, err := Statements(nil).For(cell); err == nil || text != "" {
			t.Errorf("%s: %q, %v", axis, text, err)
		}
		if err := Statements(nil).Check(cell); err != nil {
			t.Errorf("%s: %v", axis, err)
		}
	}
	if _, err := Statements(nil).Render(cell, nil); err == nil {
		t.Error("comment-copy needs a comment")
	}
}

// Loaded texts get the list too, whatever stands around the placeholder.
func TestRenderOfLoadedStatements(t *testing.T) {
	loaded := Statements{"instructions/add-return.math": "Do:\n\n  {{RULES}}\nMind {{RULES}}.\n"}
	text, err := loaded.Render(instructionCell(tasks.AddReturn, tasks.Math), kindLines()[14:16])
	want := "Do:\n\n  There are 2 requirements for the return value keys key1, key2, key3, " +
		"key4, key5, key6, key7, key8, key9 and key10. Each of them applies in every eligible function.\n\n" +
		"1. For mult3: in every eligible function, print `mult3` with the prefix `'Value: '`, using an f-string.\n" +
		"2. For key3: in every eligible function, print `key3` with the suffix `' (value)'`, using an f-string.\n" +
		"Mind {{RULES}}.\n"
	if err != nil || text != want {
		t.Errorf("got %q, %v", text, err)
	}
	if text, err := loaded.Render(instructionCell(tasks.AddReturn, tasks.Array), kindLines()); err == nil {
		t.Errorf("got %q", text)
	}
}

func TestRenderOnOtherAxes(t *testing.T) {
	for _, axis := range []tasks.Axis{tasks.Traversal, tasks.Search, tasks.Combined, tasks.Runtime} {
		cell := tasks.Cell{Axis: axis, Size: 5, Refactoring: tasks.DeadCode, Code: tasks.Array}
		if text, err := Statements(nil).Render(cell, nil); err != nil || text != textOf(t, axis,
			cell.Refactoring, cell.Code) {
			t.Errorf("%s: %q, %v", axis, text, err)
		}
	}
}
