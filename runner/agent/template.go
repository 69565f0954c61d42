package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A placeholder is a lower-case word in braces, {model}, with ":json" behind it
// for a quoted JSON text, {model:json}. Any other brace stands for itself, and
// so does everything behind a dollar sign: ${word} is a shell's business.
var placeholder = regexp.MustCompile(`\$?\{([a-z_]+)(?::([a-z]+))?\}`)

// promptFile is where a prompt that travels by file lies, below the home.
const promptFile = "prompt.txt"

// values are what the placeholders stand for in one attempt.
func values(j Job) map[string]string {
	return map[string]string{
		"model": j.Model, "root": j.Root, "base": j.BaseURL, "wire": j.Wire, "session": j.SessionID,
		"workspace": j.Workspace, "home": j.Home, "effort": j.Effort,
		"proxy": j.Login.Proxy, "ca": j.Login.CA, "token": j.Login.Token,
		"prompt": j.Prompt, "prompt_file": j.Home + "/" + promptFile,
	}
}

// placeholders lists the words that text uses; an error names one that does
// not exist.
func placeholders(text string) ([]string, error) {
	known := values(Job{})
	var words []string
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(m[0], "$") || m[0] == optionsMark {
			continue
		}
		if _, ok := known[m[1]]; !ok {
			return nil, fmt.Errorf("unknown placeholder %s; there is: {%s}", m[0],
				strings.Join(slices.Sorted(maps.Keys(known)), "}, {"))
		}
		if m[2] != "" && m[2] != "json" {
			return nil, fmt.Errorf("unknown form in %s; there is: {%s:json}", m[0], m[1])
		}
		words = append(words, m[1])
	}
	return words, nil
}

// expand puts the values in. What they hold is never looked at again.
func expand(text string, vals map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		value, ok := vals[m[1]]
		switch {
		case !ok || strings.HasPrefix(found, "$"):
			return found
		case m[2] == "json":
			return quoteJSON(value)
		}
		return value
	})
}

// quoteJSON quotes a text for JSON. Without control characters, which model
// names and addresses do not have, it is a basic string of TOML as well.
func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a text always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
