package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// maxMembers bounds the members of a request object; real ones have about ten.
const maxMembers = 256

var errBadBody = errors.New("request body is not usable")

// member is one member of a JSON object: its decoded name and, as they stand
// in the text, its value and the whole of it.
type member struct {
	name        string
	value, text []byte
}

// splitObject finds the members of a JSON object without copying. Names that
// differ in nothing or only in case and underscores are refused: a provider
// might read the one of them that the gateway did not.
func splitObject(raw []byte) ([]member, error) {
	if !json.Valid(raw) {
		return nil, fmt.Errorf("%w: not JSON", errBadBody)
	}
	return splitValid(raw)
}

// splitValid is splitObject for a text that is known to be JSON.
func splitValid(raw []byte) ([]member, error) {
	if raw[skipSpace(raw, 0)] != '{' {
		return nil, fmt.Errorf("%w: not a JSON object", errBadBody)
	}
	var members []member
	seen := map[string]bool{}
	for m := range membersOf(raw) {
		if len(members) == maxMembers {
			return nil, fmt.Errorf("%w: more than %d members", errBadBody, maxMembers)
		}
		folded := fold(m.name)
		if seen[folded] {
			return nil, fmt.Errorf("%w: member %.40q stands twice", errBadBody, m.name)
		}
		seen[folded] = true
		members = append(members, m)
	}
	return members, nil
}

// fold is a name without what some parsers do not look at: case, and the
// underscores that Gemini takes or leaves.
func fold(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "_", "")
}

// membersOf yields the members of an object in valid JSON; anything but an
// object has none.
func membersOf(raw []byte) iter.Seq[member] {
	return func(yield func(member) bool) {
		inside(raw, '{', func(pos int) (int, bool) {
			nameEnd := stringEnd(raw, pos)
			value := skipSpace(raw, skipSpace(raw, nameEnd)+1)
			end := valueEnd(raw, value)
			m := member{name: memberName(raw[pos:nameEnd]), value: raw[value:end], text: raw[pos:end]}
			return end, yield(m)
		})
	}
}

// elements yields the elements of a list in valid JSON; anything but a list has
// none.
func elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		inside(raw, '[', func(pos int) (int, bool) {
			end := valueEnd(raw, pos)
			return end, yield(raw[pos:end])
		})
	}
}

// inside calls f with the position of everything that stands in the object or
// list, until f, which returns the position behind it, has enough.
func inside(raw []byte, opening byte, f func(pos int) (int, bool)) {
	pos := skipSpace(raw, 0)
	if pos >= len(raw) || raw[pos] != opening {
		return
	}
	for pos = skipSpace(raw, pos+1); raw[pos] != ']' && raw[pos] != '}'; {
		end, more := f(pos)
		if !more {
			return
		}
		pos = skipSpace(raw, end)
		if raw[pos] == ',' {
			pos = skipSpace(raw, pos+1)
		}
	}
}

// memberName decodes a name in valid JSON.
func memberName(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return string(quoted[1 : len(quoted)-1])
	}
	var name string
	_ = json.Unmarshal(quoted, &name) // valid by the check of the whole
	return name
}

func skipSpace(raw []byte, pos int) int {
	for pos < len(raw) && (raw[pos] == ' ' || raw[pos] == '\t' || raw[pos] == '\n' || raw[pos] == '\r') {
		pos++
	}
	return pos
}

// valueEnd returns the position behind the value that begins at pos of valid JSON.
func valueEnd(raw []byte, pos int) int {
	depth := 0
	for pos < len(raw) {
		switch raw[pos] {
		case '"':
			pos = stringEnd(raw, pos)
			if depth == 0 {
				return pos
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // a number or word before the end of the object
				return pos
			}
			if depth--; depth == 0 {
				return pos + 1
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return pos
			}
		}
		pos++
	}
	return pos
}

// stringEnd returns the position behind the string that begins at pos.
func stringEnd(raw []byte, pos int) int {
	for pos++; ; pos++ {
		i := bytes.IndexByte(raw[pos:], '"')
		if i < 0 {
			return len(raw)
		}
		begin := pos
		pos += i
		escapes := 0
		for pos-1-escapes >= begin && raw[pos-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return pos + 1
		}
	}
}
