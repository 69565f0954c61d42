package results

import (
	"encoding/json"
	"strings"
)

// decodeChecks reads the checks of a verdict as insertVerdict encodes them. A
// report reads a million of them, so the usual form has a reader of its own.
func decodeChecks(text string) ([]Check, error) {
	if list, ok := plainChecks(text); ok {
		return list, nil
	}
	var list []Check
	err := json.Unmarshal([]byte(text), &list)
	return list, err
}

// plainChecks reads checks in the form of encoding/json whose texts are of
// printable ASCII without escapes. It gives up on all else.
func plainChecks(text string) (list []Check, ok bool) {
	rest, ok := strings.CutPrefix(text, `[{"name":"`)
	if !ok {
		return nil, false
	}
	list = make([]Check, 0, strings.Count(text, `{"name":"`))
	for {
		var c Check
		if c.Name, rest, ok = plainText(rest); !ok {
			return nil, false
		}
		if rest, c.Pass = strings.CutPrefix(rest, `,"pass":true`); !c.Pass {
			if rest, ok = strings.CutPrefix(rest, `,"pass":false`); !ok {
				return nil, false
			}
		}
		if after, has := strings.CutPrefix(rest, `,"detail":"`); has {
			if c.Detail, rest, ok = plainText(after); !ok {
				return nil, false
			}
		}
		list = append(list, c)
		if rest == "}]" {
			return list, true
		}
		if rest, ok = strings.CutPrefix(rest, `},{"name":"`); !ok {
			return nil, false
		}
	}
}

// plainText takes a text up to its closing quote.
func plainText(s string) (text, rest string, ok bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"':
			return s[:i], s[i+1:], true
		case c == '\\' || c < ' ' || c > '~':
			return "", "", false
		}
	}
	return "", "", false
}
