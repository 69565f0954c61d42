package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Masked stands where a key stood.
const Masked = "[masked]"

// Keys shorter than minKey, and encoded forms shorter than minForm, are left
// alone: they would be found in innocent text everywhere.
const (
	minKey  = 6
	minForm = 8
)

// Mask hides keys, plain and in the encodings in which they usually leak: JSON,
// URL and HTML escapes, hex, and base64 at any offset within a longer text. The
// zero value knows no key. It may be used from several goroutines.
type Mask struct {
	mu    sync.RWMutex
	keys  map[string]bool
	forms [][]byte // longest first; replaced as a whole, never changed in place
}

// NewMask returns a Mask that knows the keys.
func NewMask(keys ...[]byte) *Mask {
	m := &Mask{}
	for _, k := range keys {
		m.Add(k)
	}
	return m
}

// Add makes one more key known. Keys of less than six bytes are ignored.
func (m *Mask) Add(key []byte) {
	m.mu.RLock()
	known := m.keys[string(key)]
	m.mu.RUnlock()
	if known || len(key) < minKey {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys == nil {
		m.keys = map[string]bool{}
	}
	m.keys[string(key)] = true
	forms := append(slices.Clone(m.forms), formsOf(key)...)
	slices.SortFunc(forms, func(a, b []byte) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return bytes.Compare(a, b)
	})
	m.forms = slices.CompactFunc(forms, bytes.Equal)
}

// Join returns a Mask that knows the keys that the masks know now.
func Join(masks ...*Mask) *Mask {
	all := &Mask{}
	for _, m := range masks {
		m.mu.RLock()
		for key := range m.keys {
			all.Add([]byte(key))
		}
		m.mu.RUnlock()
	}
	return all
}

func (m *Mask) all() [][]byte {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.forms
}

// Bytes returns b with every form of a key replaced by Masked; b itself when
// there is none. It never writes into b.
func (m *Mask) Bytes(b []byte) []byte {
	for _, form := range m.all() {
		if bytes.Contains(b, form) {
			b = bytes.ReplaceAll(b, form, []byte(Masked))
		}
	}
	return b
}

// String is Bytes for strings.
func (m *Mask) String(s string) string {
	for _, form := range m.all() {
		s = strings.ReplaceAll(s, string(form), Masked)
	}
	return s
}

// Found reports whether b holds a key in any form.
func (m *Mask) Found(b []byte) bool {
	return slices.ContainsFunc(m.all(), func(form []byte) bool { return bytes.Contains(b, form) })
}

// FoundIn reports whether what the reader gives holds a key in any form, also
// across the borders of its pieces. It stops at the first one.
func (m *Mask) FoundIn(r io.Reader) (bool, error) {
	keep := 0
	for _, form := range m.all() {
		keep = max(keep, len(form)-1)
	}
	buf := make([]byte, keep+64<<10)
	held := 0
	for {
		n, err := r.Read(buf[held:])
		b := buf[:held+n]
		if m.Found(b) {
			return true, nil
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		held = copy(buf, b[max(0, len(b)-keep):])
	}
}

// Writer returns a writer that masks what passes through it to w, also where a
// key is split between writes. Only bytes that may be the beginning of a key
// are held back; Close writes them and does not close w.
func (m *Mask) Writer(w io.Writer) io.WriteCloser { return &maskWriter{mask: m, w: w} }

type maskWriter struct {
	mask *Mask
	w    io.Writer
	held []byte
}

func (mw *maskWriter) Write(p []byte) (int, error) {
	b := p
	if len(mw.held) > 0 {
		b = append(mw.held, p...)
	}
	b = mw.mask.Bytes(b)
	keep := mw.mask.openTail(b)
	out := b[:len(b)-keep]
	mw.held = bytes.Clone(b[len(b)-keep:])
	if len(out) == 0 {
		return len(p), nil
	}
	if _, err := mw.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (mw *maskWriter) Close() error {
	if len(mw.held) == 0 {
		return nil
	}
	_, err := mw.w.Write(mw.held)
	mw.held = nil
	return err
}

// openTail is the length of the longest end of b with which a form begins.
func (m *Mask) openTail(b []byte) int {
	longest := 0
	for _, form := range m.all() {
		for n := min(len(form)-1, len(b)); n > longest; n-- {
			if bytes.HasPrefix(form, b[len(b)-n:]) {
				longest = n
			}
		}
	}
	return longest
}

// formsOf lists a key and its encodings.
func formsOf(key []byte) [][]byte {
	forms := [][]byte{bytes.Clone(key)}
	add := func(s string) {
		if len(s) >= minForm {
			forms = append(forms, []byte(s))
		}
	}
	text := string(key)
	if quoted, err := json.Marshal(text); err == nil {
		add(strings.Trim(string(quoted), `"`))
	}
	add(url.QueryEscape(text))
	add(url.PathEscape(text))
	add(url.QueryEscape(url.QueryEscape(text)))
	add(html.EscapeString(text))
	add(escapeLower(key))
	add(strings.ReplaceAll(text, "/", `\/`))
	add(perByte(key, `%%%02X`))
	add(perByte(key, `%%%02x`))
	add(perByte(key, `\u%04x`))
	add(perByte(key, `\u%04X`))
	add(perByte(key, `\x%02x`))
	add(hex.EncodeToString(key))
	add(strings.ToUpper(hex.EncodeToString(key)))
	for offset := range 3 {
		add(base64Core(key, offset, base64.RawStdEncoding))
		add(base64Core(key, offset, base64.RawURLEncoding))
	}
	return forms
}

func perByte(key []byte, format string) string {
	var b strings.Builder
	for _, c := range key {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// escapeLower is URL escaping with lower-case digits.
func escapeLower(key []byte) string {
	var b strings.Builder
	for _, c := range key {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-_.~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

// base64Core returns the characters that the key gives at that offset (mod 3)
// of a longer text, whatever stands before and after it.
func base64Core(key []byte, offset int, enc *base64.Encoding) string {
	padded := append(make([]byte, offset), key...)
	text := enc.EncodeToString(padded)
	begin := (offset*8 + 5) / 6 // characters that also carry bits of what stands before
	end := len(padded) * 8 / 6  // the last one may carry bits of what follows
	if begin >= end {
		return ""
	}
	return text[begin:end]
}
