package model

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Lengths of what is kept of a provider's words.
const (
	maxName    = 200
	maxMessage = 500
)

// defaultEffort is the reasoning effort of a model family that takes one.
const defaultEffort = "medium"

// takesEffort are the names, without what stands before a slash, of the model
// families that are known to take a reasoning effort in a wire format. A family
// that is missing here gets none, since some providers refuse what they do not
// know.
var takesEffort = map[string]*regexp.Regexp{
	wireChat:      openAIEffort,
	wireResponses: openAIEffort,
	wireMessages:  regexp.MustCompile(`^claude-(opus-4[-.][5-9]|sonnet-4[-.][6-9]|(opus|sonnet|haiku|fable|mythos)-[5-9]([-.]|$))`),
}

var openAIEffort = regexp.MustCompile(`^(gpt-(5|[6-9]|oss)([-.]|$)|o[134](-|$)|grok-(3-mini|4\.3)([-.]|$))`)

// notAdjustable are those of the families whose effort is fixed.
var notAdjustable = regexp.MustCompile(`^(gpt-5-chat|o1-(mini|preview))([-.]|$)`)

// Effort is the reasoning effort that a model is asked with: what the user
// wants, always, else medium where the model's family is known to take one.
func Effort(wire, model, wanted string) string {
	base := model[strings.LastIndexByte(model, '/')+1:]
	families := takesEffort[wire]
	switch {
	case wanted != "":
		return wanted
	case families != nil && families.MatchString(base) && !notAdjustable.MatchString(base):
		return defaultEffort
	}
	return ""
}

// thinksOnRequest reports whether a model has to be asked to reason, and takes
// no effort: OpenRouter's way for this one.
func thinksOnRequest(model string) bool { return model == "deepseek/deepseek-v3.2" }

// mostTokens is the longest answer that a model is allowed. The wire wants a
// figure and refuses one above the model's own, which no answer tells.
func mostTokens(model string) int64 {
	base := model[strings.LastIndexByte(model, '/')+1:]
	switch {
	case strings.HasPrefix(base, "claude-3-7"):
		return 64000
	case strings.HasPrefix(base, "claude-3-5"):
		return 8192
	case strings.HasPrefix(base, "claude-3"):
		return 4096
	case strings.HasPrefix(base, "claude-opus-4-0"), strings.HasPrefix(base, "claude-opus-4-1"),
		strings.HasPrefix(base, "claude-opus-4-2"): // the dated name of the first
		return 32000
	}
	return 64000
}

// clip cuts s to n bytes at most, at the border of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
