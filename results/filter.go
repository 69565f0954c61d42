package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cabra-run/tasks"
)

// Filter selects trials of a run by what they are and by what came of them. The
// zero value lets everything through.
type Filter struct {
	axes     []tasks.Axis
	sizes    []int
	codes    []tasks.CodeType
	tasks    []tasks.Refactoring
	variants []string
	ids      []string // patterns, as agents and models

	agents      []string
	models      []string
	instances   spans
	repetitions spans
	attempts    spans
	outcomes    []string
	solved      answer
	unchanged   answer
}

// answer is a condition that is yes, no, or not given.
type answer string

const (
	yes answer = "yes"
	no  answer = "no"
)

// filterKeys are the keys of a filter in the order of its normal form.
func filterKeys() []string {
	return []string{"axis", "size", "code", "task", "variant", "instance", "id", "agent", "model",
		"repetition", "attempts", "outcome", "solved", "unchanged"}
}

// TrialWords lists every word that a trial can have, in the order of tables.
func TrialWords() []string {
	words := []string{Solved, Failed}
	for _, o := range slices.Backward(Outcomes()) {
		words = append(words, string(o))
	}
	return append(words, Pending)
}

// maxFilterText bounds the text of a filter.
const maxFilterText = 1 << 20

// ParseFilter reads the text of a filter: conditions, separated by semicolons,
// all of which a trial must fulfil. "" lets everything through.
//
//	axis=search,traversal; size=5..50; code=math; task=add-parameter; instance=1..4
//	agent=claude; model=openai/*; repetition=1; outcome=failed,timeout; attempts>=2
//
// Keys are axis, size, code, task (or refactoring) and variant with the words
// and sizes of grids; instance and repetition, counted from 1, and attempts, the
// number of a trial's attempts, as lists of numbers and ranges; id, agent (its
// name, or name@version) and model as lists of patterns in which * stands for
// any text and ? for one character; outcome with the words of trials; solved,
// where no is every trial that does not count as solved, and unchanged (the code
// of the attempt that counts equals the starter) with yes or no. Numbers and
// sizes also take >= and <=. Blanks are free. The error is a *tasks.GridError.
func ParseFilter(text string) (Filter, error) {
	var f Filter
	if len(text) > maxFilterText {
		return f, tasks.MalformedValue("filter", text, "the text is longer than 1 MiB")
	}
	seen := map[string]bool{}
	for _, condition := range strings.Split(text, ";") {
		condition = strings.TrimSpace(condition)
		if condition == "" {
			continue
		}
		key, op, value, err := splitCondition(condition)
		if err != nil {
			return Filter{}, err
		}
		if seen[key] {
			return Filter{}, tasks.MalformedValue("condition", condition, "give each key once")
		}
		seen[key] = true
		if err := f.set(key, op, value); err != nil {
			return Filter{}, err
		}
	}
	return f, nil
}

// splitCondition reads "key=value", "key>=value" and "key<=value".
func splitCondition(condition string) (key, op, value string, err error) {
	at := strings.IndexAny(condition, "<>=")
	if at < 0 {
		return "", "", "", tasks.MalformedValue("condition", condition, "a condition is key=values")
	}
	key, rest := strings.TrimSpace(condition[:at]), condition[at:]
	for _, op := range []string{">=", "<=", "="} {
		if value, found := strings.CutPrefix(rest, op); found {
			if key == "refactoring" {
				key = "task"
			}
			return key, op, strings.TrimSpace(value), nil
		}
	}
	return "", "", "", tasks.MalformedValue("condition", condition, "there is =, >= and <=")
}

func (f *Filter) set(key, op, value string) (err error) {
	if op != "=" && slices.Contains(filterKeys(), key) &&
		!slices.Contains([]string{"size", "instance", "repetition", "attempts"}, key) {
		return tasks.MalformedValue("condition", key+op+value, "only numbers take >= and <=")
	}
	switch key {
	case "axis":
		f.axes, err = tasks.ParseWords(key, value, tasks.AllAxes())
	case "size":
		f.sizes, err = parseFilterSizes(op, value)
	case "code":
		f.codes, err = tasks.ParseWords(key, value, tasks.CodeTypes())
	case "task":
		f.tasks, err = tasks.ParseWords(key, value, tasks.Refactorings())
	case "variant":
		f.variants, err = tasks.ParseWords(key, value, tasks.Variants())
	case "outcome":
		f.outcomes, err = tasks.ParseWords(key, value, TrialWords())
	case "id":
		f.ids, err = parsePatterns(key, value)
	case "agent":
		f.agents, err = parsePatterns(key, value)
	case "model":
		f.models, err = parsePatterns(key, value)
	case "instance":
		f.instances, err = parseSpans(key, op, value, 1)
	case "repetition":
		f.repetitions, err = parseSpans(key, op, value, 1)
	case "attempts":
		f.attempts, err = parseSpans(key, op, value, 0)
	case "solved":
		f.solved, err = parseAnswer(key, value)
	case "unchanged":
		f.unchanged, err = parseAnswer(key, value)
	default:
		err = tasks.UnknownWord("key", key, filterKeys())
	}
	return err
}

// parseFilterSizes reads sizes as grids have them, or a bound that is one.
func parseFilterSizes(op, value string) ([]int, error) {
	all := tasks.Sizes()
	switch op {
	case ">=":
		value = fmt.Sprintf("%s..%d", value, all[len(all)-1])
	case "<=":
		value = fmt.Sprintf("%d..%s", all[0], value)
	}
	return tasks.ParseSizes(value)
}

func parseAnswer(key, value string) (answer, error) {
	words, err := tasks.ParseWords(key, value, []answer{yes, no})
	if err == nil && len(words) > 1 {
		err = tasks.MalformedValue(key, value, "yes or no")
	}
	if err != nil {
		return "", err
	}
	return words[0], nil
}

// parsePatterns reads a list of patterns; they come out sorted, each once.
func parsePatterns(key, value string) ([]string, error) {
	var list []string
	for _, p := range strings.Split(value, ",") {
		if p = strings.TrimSpace(p); p == "" {
			return nil, &tasks.GridError{Key: key, Hint: "a name, or a pattern like gpt-*"}
		}
		list = append(list, p)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// span is the numbers from lo to hi; open when there is no end.
type span struct{ lo, hi int }

const open = math.MaxInt

// spans are ascending and neither overlap nor touch.
type spans []span

// parseSpans reads "1", "1..3,7" with "=", and a number with ">=" or "<=".
func parseSpans(key, op, value string, least int) (spans, error) {
	wrong := func() error {
		return tasks.MalformedValue(key, value, fmt.Sprintf("numbers from %d, or ranges like 3..7", least))
	}
	if op != "=" {
		n, err := smallNumber(value)
		switch {
		case err != nil || n < least:
			return nil, wrong()
		case op == ">=":
			return spans{{n, open}}, nil
		}
		return spans{{least, n}}, nil
	}
	var list spans
	for _, part := range strings.Split(value, ",") {
		first, last, isRange := strings.Cut(part, "..")
		if !isRange {
			last = first
		}
		lo, errLo := smallNumber(first)
		hi, errHi := smallNumber(last)
		if errLo != nil || errHi != nil || lo < least || hi < lo {
			return nil, wrong()
		}
		list = append(list, span{lo, hi})
	}
	return list.joined(), nil
}

// smallNumber reads up to six decimal digits without a sign.
func smallNumber(s string) (int, error) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 6 || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return strconv.Atoi(s)
}

// joined sorts spans and unites those that overlap or touch.
func (list spans) joined() spans {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	var out spans
	for _, s := range list {
		if last := len(out) - 1; last >= 0 && s.lo <= out[last].hi+1 {
			out[last].hi = max(out[last].hi, s.hi)
			continue
		}
		out = append(out, s)
	}
	return out
}

func (list spans) has(n int) bool {
	return slices.ContainsFunc(list, func(s span) bool { return s.lo <= n && n <= s.hi })
}

// condition writes the spans behind their key.
func (list spans) condition(key string) string {
	if len(list) == 1 && list[0].hi == open {
		return fmt.Sprintf("%s>=%d", key, list[0].lo)
	}
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = strconv.Itoa(s.lo)
		if s.hi > s.lo {
			parts[i] += ".." + strconv.Itoa(s.hi)
		}
	}
	return key + "=" + strings.Join(parts, ",")
}

// Match reports whether the filter lets a trial through. Its word is the one of
// the verdict that the trial goes by.
func (f Filter) Match(t TrialResult) bool { return f.MatchTrial(t.Trial) && f.matchResult(&t) }

// MatchTrial is Match by what the trial is alone.
func (f Filter) MatchTrial(t Trial) bool {
	c := t.Cell
	return among(f.axes, c.Axis) && among(f.sizes, c.Size) && among(f.codes, c.Code) &&
		among(f.tasks, c.Refactoring) && among(f.variants, c.Variant) &&
		within(f.instances, t.Instance) && within(f.repetitions, t.Repetition) &&
		anyPattern(f.ids, string(t.TaskID)) && anyPattern(f.models, t.Model) &&
		(anyPattern(f.agents, t.Agent) || anyPattern(f.agents, t.Agent+"@"+t.Version))
}

func (f Filter) matchResult(t *TrialResult) bool {
	if !among(f.outcomes, t.Word) || !within(f.attempts, len(t.Attempts)) || !f.solved.fits(t.Word == Solved) {
		return false
	}
	if f.unchanged == "" {
		return true
	}
	final := t.Final()
	return f.unchanged.fits(final != nil && final.Unchanged)
}

// OfResults reports whether the filter asks for more than what trials are: for
// what came of them.
func (f Filter) OfResults() bool {
	return len(f.outcomes) > 0 || len(f.attempts) > 0 || f.solved != "" || f.unchanged != ""
}

func (a answer) fits(is bool) bool { return a == "" || (a == yes) == is }

// among and within let everything through where nothing is asked for.
func among[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

func within(list spans, n int) bool { return len(list) == 0 || list.has(n) }

func anyPattern(patterns []string, s string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return matchPattern(p, s) })
}

// matchPattern matches the whole of s; * stands for any text, also across
// slashes, and ? for one character. A star that fails is tried one place
// further, so that the work is bounded by the product of both lengths.
func matchPattern(pattern, s string) bool {
	p, t := []rune(pattern), []rune(s)
	i, j, star, from := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// String is the normal form: ParseFilter of it is the same filter, and equal
// filters have the same one.
func (f Filter) String() string {
	var parts []string
	add := func(key string, n int, value func() string) {
		if n > 0 {
			parts = append(parts, key+"="+value())
		}
	}
	add("axis", len(f.axes), func() string { return listed(f.axes) })
	add("size", len(f.sizes), func() string { return tasks.SizesText(f.sizes) })
	add("code", len(f.codes), func() string { return listed(f.codes) })
	add("task", len(f.tasks), func() string { return listed(f.tasks) })
	add("variant", len(f.variants), func() string { return listed(f.variants) })
	if len(f.instances) > 0 {
		parts = append(parts, f.instances.condition("instance"))
	}
	add("id", len(f.ids), func() string { return listed(f.ids) })
	add("agent", len(f.agents), func() string { return listed(f.agents) })
	add("model", len(f.models), func() string { return listed(f.models) })
	if len(f.repetitions) > 0 {
		parts = append(parts, f.repetitions.condition("repetition"))
	}
	if len(f.attempts) > 0 {
		parts = append(parts, f.attempts.condition("attempts"))
	}
	add("outcome", len(f.outcomes), func() string { return listed(f.outcomes) })
	add("solved", len(f.solved), func() string { return string(f.solved) })
	add("unchanged", len(f.unchanged), func() string { return string(f.unchanged) })
	return strings.Join(parts, "; ")
}

func listed[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ",")
}
