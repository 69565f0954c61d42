package refactor

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

// Render returns the statement of one task on any axis but comment-copy. rules
// holds the task's rules in the order of their sampling; they belong to the
// axis instructions alone.
//
// The statement lists the rules in random order. The order is drawn from a
// stream of its own, which is seeded with the cell and the rules: it is the
// same for the same task, but no official order is reproduced, as the
// sentences are our own too.
func (s Statements) Render(c tasks.Cell, rules []Rule) (string, error) {
	if c.Axis != tasks.Instructions {
		return s.For(c)
	}
	text, set, err := s.text(c)
	if err != nil {
		return "", err
	}
	list, err := ruleList(c, rules)
	if err != nil {
		return "", err
	}
	return fill(text, set.placeholder, list), nil
}

// ruleList writes a header and a numbered line for each rule.
func ruleList(c tasks.Cell, rules []Rule) (string, error) {
	if len(rules) == 0 {
		return "", fmt.Errorf("no rules for the statement of a task on axis %q", c.Axis)
	}
	var list strings.Builder
	fmt.Fprintf(&list,
		"There are %d requirements for the %s. Each of them applies in every eligible function.\n",
		len(rules), valuesOf(c))
	for i, r := range shuffledRules(c, rules) {
		said := sentence(r)
		if said == "" {
			return "", fmt.Errorf("no sentence for rule kind %q in phrasing %d", r.Kind, r.Phrasing)
		}
		fmt.Fprintf(&list, "\n%d. For %s: in every eligible function, %s", i+1, r.Var, said)
	}
	return list.String(), nil
}

// valuesOf says what the values of a cell are called, and names them.
func valuesOf(c tasks.Cell) string {
	l := languageOf(c.Code)
	stem, label := valueStem(c.Refactoring, l), ""
	switch c.Refactoring {
	case tasks.AddParameter:
		label = l.derived + " parameters"
	case tasks.AddReturn:
		label = "return value keys"
	case tasks.CacheFunction:
		label = "cached slow values"
	case tasks.DontRepeat:
		label = "extracted multipliers"
		if c.Code == tasks.String {
			label = "extracted prefixes"
		}
	}
	names := make([]string, statementValues)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", stem, i+1)
	}
	last := len(names) - 1
	return label + " " + strings.Join(names[:last], ", ") + " and " + names[last]
}

func shuffledRules(c tasks.Cell, rules []Rule) []Rule {
	h := sha256.New()
	for _, r := range rules {
		fmt.Fprintf(h, "%q %q %d\n", r.Var, r.Line, r.Phrasing)
	}
	seed := fmt.Sprintf("order of rules:%s:%s:%d:%x", c.Refactoring, c.Code, c.Size, h.Sum(nil))
	shuffled := append([]Rule(nil), rules...)
	callgraph.Shuffle(callgraph.NewTextStream(seed), shuffled)
	return shuffled
}

// sentence says what a rule asks for, in the paraphrase that was drawn for it:
// a clause that ends in a full stop. It is "" for a kind or paraphrase that
// does not exist.
func sentence(r Rule) string {
	paraphrases, ok := ruleSentences()[r.Kind]
	if !ok || r.Phrasing < 0 || r.Phrasing >= len(paraphrases) {
		return ""
	}
	words := map[byte]string{'V': r.Var, 'N': r.NewVar, 'R': r.Rand, 'S': r.Rand2, 'P': r.Prefix, 'Q': r.Suffix}
	said := strings.Split(paraphrases[r.Phrasing], "$")
	for i, part := range said[1:] {
		said[i+1] = words[part[0]] + part[1:]
	}
	return strings.Join(said, "")
}

// ruleSentences returns the paraphrases of each kind. Words are inserted at $V,
// the value, $N, the new variable, $R and $S, the literals, and $P and $Q, the
// printed texts. The map is made once, as a grid has 100,000 rules.
var ruleSentences = sync.OnceValue(func() map[string][phrasings]string {
	return map[string][phrasings]string{
		"add_number": assigned("$V+$R", "take `$V`, add `$R` to it, and store the sum in `$N`"),
		"subtract_number": assigned("$V-$R",
			"take `$V`, subtract `$R` from it, and store the difference in `$N`"),
		"multiply_number": assigned("$V*$R",
			"take `$V`, multiply it by `$R`, and store the product in `$N`"),
		"divide_number": divided(),
		"add_character_prefix": assigned("$R+$V",
			"put the text `$R` in front of `$V`, and store the result in `$N`"),
		"add_character_suffix": assigned("$V+$R",
			"take `$V`, append the text `$R`, and store the result in `$N`"),
		"replace_character": assigned("$V.replace($R,$S)",
			"call `replace` on `$V` to turn each `$R` into `$S`, and store the result in `$N`"),
		"sandwich":           assigned("$R+$V+$S", "store `$R+$V+$S` in `$N`"),
		"assert_not":         asserted("!=", "not equal to", "differs from"),
		"assert_upper_bound": asserted("<", "below", "is less than"),
		"assert_lower_bound": asserted(">", "above", "is greater than"),
		"print_prefix": {
			"print `$V` with the prefix `'$P'`, using an f-string.",
			"concatenate `'$P'` and `$V`, in this order, in an f-string and print it.",
			"output `'$P'` followed by `$V`, by printing an f-string.",
			"prepend `'$P'` to `$V` in an f-string, and print that.",
			"print `'$P'` and `$V`, joined in this order by an f-string.",
		},
		"print_suffix": {
			"print `$V` with the suffix `'$Q'`, using an f-string.",
			"concatenate `$V` and `'$Q'`, in this order, in an f-string and print it.",
			"output `$V` followed by `'$Q'`, by printing an f-string.",
			"append `'$Q'` to `$V` in an f-string, and print that.",
			"print `$V` and `'$Q'`, joined in this order by an f-string.",
		},
		"add_comment": {
			"add the comment `# $R: $V`.",
			"include the comment `# $R: $V` verbatim.",
			"place `# $R: $V` as a comment in the body.",
			"write exactly this comment: `# $R: $V`",
			"add a comment line that reads `# $R: $V`.",
		},
	}
})

// assigned asks for a temporary variable with the value of a formula, once by
// describing the operation.
func assigned(formula, described string) [phrasings]string {
	return [phrasings]string{
		"set `$N` to `" + formula + "`, on a line of its own.",
		"save `" + formula + "` in the temporary variable `$N`, and leave `$V` unchanged.",
		"compute `" + formula + "` into `$N` on a separate line.",
		described + ", without updating `$V`.",
		"create the variable `$N` with the value `" + formula + "`.",
	}
}

// divided spells the operator in two more paraphrases.
func divided() [phrasings]string {
	said := assigned("$V/$R", "take `$V`, divide it by `$R`, and store the quotient in `$N`")
	said[1] = "save `$V` divided by `$R` in the temporary variable `$N`, and leave `$V` unchanged."
	said[4] = "create the variable `$N` with the value of `$V` divided by `$R`."
	return said
}

// asserted asks for a comparison. The adjective follows "is".
func asserted(operator, adjective, synonym string) [phrasings]string {
	return [phrasings]string{
		"assert that `$V` is " + adjective + " `$R`.",
		"check, with an assertion statement, that `$V` is " + adjective + " `$R`.",
		"assert that `$V` " + synonym + " `$R`.",
		"guard what follows by running `assert($V" + operator + "$R)`.",
		"make sure, via an assert statement, that `$V` is " + adjective + " `$R`.",
	}
}
