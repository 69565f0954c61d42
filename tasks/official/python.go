package official

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Official files are JSON as Python writes it: ASCII only, and either indented
// by two blanks or in one line with a blank behind commas and colons.

const indentStep = "  "

// indentedJSON encodes v the first way. prefix is the indentation of v itself.
func indentedJSON(v any, prefix string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, indentStep)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return asciiOnly(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// lineJSON encodes v the second way.
func lineJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return spaced(asciiOnly(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))), nil
}

// asciiOnly escapes what is not printable ASCII; in JSON it can stand in texts only.
func asciiOnly(encoded []byte) []byte {
	var out strings.Builder
	out.Grow(len(encoded))
	for _, r := range string(encoded) {
		switch {
		case r < 0x7f:
			out.WriteByte(byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return []byte(out.String())
}

// spaced puts a blank behind commas and colons outside of texts.
func spaced(compact []byte) []byte {
	out := make([]byte, 0, len(compact)+len(compact)/8)
	inText, escaped := false, false
	for _, c := range compact {
		out = append(out, c)
		switch {
		case escaped:
			escaped = false
		case inText && c == '\\':
			escaped = true
		case c == '"':
			inText = !inText
		case !inText && (c == ',' || c == ':'):
			out = append(out, ' ')
		}
	}
	return out
}
