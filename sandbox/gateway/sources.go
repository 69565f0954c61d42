package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// conversationMembers hold what was said, with pictures and files.
var conversationMembers = []string{"messages", "input", "contents", "system", "systeminstruction"}

// linkMembers are those by which parts of a conversation name a picture or file
// that the provider fetches, unless it stands there itself as a data URL.
var linkMembers = []string{"url", "imageurl", "videourl", "audiourl", "fileurl", "fileuri", "filedata", "uri"}

// ownWords are members below which stands what tools were called with and what
// they answered. No provider fetches anything because of it.
var ownWords = []string{"input", "args", "arguments", "response", "tools", "annotations"}

// maxSourceDepth is beyond the depth of real conversations.
const maxSourceDepth = 64

// checkSources refuses links in a conversation, which is valid JSON: a provider
// that follows them reaches the internet for a box that must not.
func checkSources(raw []byte) error {
	_, err := passSources(raw, skipSpace(raw, 0), 0)
	return err
}

// passSources checks the value that begins at pos and returns the position
// behind it. Every byte is looked at once and nothing is kept, for there may be
// megabytes of nothing but brackets.
func passSources(raw []byte, pos, depth int) (int, error) {
	opening := raw[pos]
	if opening != '[' && opening != '{' {
		return valueEnd(raw, pos), nil
	}
	if depth > maxSourceDepth {
		return 0, fmt.Errorf("%w: the conversation is nested too deeply", errBadBody)
	}
	pos = skipSpace(raw, pos+1)
	for raw[pos] != ']' && raw[pos] != '}' {
		var err error
		if opening == '{' {
			pos, err = passMember(raw, pos, depth)
		} else {
			pos, err = passSources(raw, pos, depth+1)
		}
		if err != nil {
			return 0, err
		}
		pos = skipSpace(raw, pos)
		if raw[pos] == ',' {
			pos = skipSpace(raw, pos+1)
		}
	}
	return pos + 1, nil
}

// passMember is passSources for a member of an object.
func passMember(raw []byte, pos, depth int) (int, error) {
	nameEnd := stringEnd(raw, pos)
	name := raw[pos:nameEnd]
	value := skipSpace(raw, skipSpace(raw, nameEnd)+1)
	if len(name) > maxLinkName {
		return passSources(raw, value, depth+1)
	}
	folded := fold(memberName(name))
	if slices.Contains(ownWords, folded) {
		return valueEnd(raw, value), nil
	}
	if slices.Contains(linkMembers, folded) && isLink(raw[value:valueEnd(raw, value)]) {
		return 0, fmt.Errorf("%w: %q is a link, and nothing may be fetched from here", errBadBody, folded)
	}
	return passSources(raw, value, depth+1)
}

// maxLinkName is the length of the longest of the names above when every
// character is escaped, underscores included.
const maxLinkName = 6*16 + 2

// isLink reports whether a value is a text with a scheme other than data's.
func isLink(raw []byte) bool {
	scheme, _, ok := strings.Cut(beginning(raw), ":")
	if !ok || scheme == "" {
		return false
	}
	for _, r := range scheme {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789+.-", r) {
			return false
		}
	}
	return scheme != "data"
}

// beginning is the beginning of a text value without what readers of addresses
// leave out, in small letters; "" for any other value.
func beginning(raw []byte) string {
	const enough = 256
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	var text string
	for end := min(len(raw)-1, enough); end > 0; end-- { // an escape may be cut at the end
		if json.Unmarshal(append(slices.Clone(raw[:end]), '"'), &text) == nil {
			break
		}
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, text))
}
