package score

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// value is plain data that came out of a box. Kind says which fields hold it.
type value struct {
	Kind  byte // N(one) b(ool) i(nt) f(loat) s(tr) t(uple) l(ist) d(ict) a(rray)
	Bool  bool
	Int   *big.Int
	Float float64
	Text  string
	Items []value // of a tuple, list or dict (keys and values in turn)
	Array array
}

// array is a numpy array of booleans, integers or floats.
type array struct {
	DType string // as numpy writes it: "<f8"
	Shape []int
	Data  []byte // in C order
}

var errValue = errors.New("not a tagged value")

// maxNesting is what the executor's program allows, and one more for the
// arguments of a noted call.
const maxNesting = 66

// parseValue reads the tagged text described in python/program.py.
func parseValue(text string) (value, error) {
	p := valueParser{rest: text}
	v, err := p.value(0)
	if err == nil && p.rest != "" {
		err = errValue
	}
	return v, err
}

type valueParser struct{ rest string }

func (p *valueParser) value(depth int) (value, error) {
	if p.rest == "" || depth > maxNesting {
		return value{}, errValue
	}
	tag := p.rest[0]
	p.rest = p.rest[1:]
	switch tag {
	case 'N':
		return value{Kind: 'N'}, nil
	case 'T', 'F':
		return value{Kind: 'b', Bool: tag == 'T'}, nil
	case 'i':
		return p.integer()
	case 'f':
		return p.float()
	case 's', 'u':
		return p.text(tag)
	case '(':
		return p.items('t', ')', depth)
	case '[':
		return p.items('l', ']', depth)
	case '{':
		return p.items('d', '}', depth)
	case 'a':
		return p.array()
	}
	return value{}, errValue
}

// until cuts the text before the next end off.
func (p *valueParser) until(end string) (string, error) {
	head, rest, ok := strings.Cut(p.rest, end)
	if !ok {
		return "", errValue
	}
	p.rest = rest
	return head, nil
}

func (p *valueParser) integer() (value, error) {
	digits, err := p.until(";")
	if err != nil {
		return value{}, err
	}
	n, ok := new(big.Int).SetString(digits, 16)
	if !ok {
		return value{}, errValue
	}
	return value{Kind: 'i', Int: n}, nil
}

func (p *valueParser) float() (value, error) {
	if len(p.rest) < 16 {
		return value{}, errValue
	}
	bits, err := strconv.ParseUint(p.rest[:16], 16, 64)
	if err != nil {
		return value{}, errValue
	}
	p.rest = p.rest[16:]
	return value{Kind: 'f', Float: math.Float64frombits(bits)}, nil
}

func (p *valueParser) text(tag byte) (value, error) {
	size, err := p.until(":")
	if err != nil {
		return value{}, err
	}
	n, err := strconv.Atoi(size)
	if err != nil || n < 0 || n > len(p.rest) {
		return value{}, errValue
	}
	text := p.rest[:n]
	p.rest = p.rest[n:]
	if tag == 'u' {
		data, err := hex.DecodeString(text)
		if err != nil {
			return value{}, errValue
		}
		text = string(data)
	}
	return value{Kind: 's', Text: text}, nil
}

func (p *valueParser) items(kind, end byte, depth int) (value, error) {
	v := value{Kind: kind}
	for p.rest != "" && p.rest[0] != end {
		item, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.Items = append(v.Items, item)
	}
	if p.rest == "" || kind == 'd' && !dictItems(v.Items) {
		return v, errValue
	}
	p.rest = p.rest[1:]
	return v, nil
}

// dictItems reports whether items are keys, each once, with their values.
func dictItems(items []value) bool {
	seen := map[string]bool{}
	for i := 0; i < len(items); i += 2 {
		if items[i].Kind != 's' || seen[items[i].Text] {
			return false
		}
		seen[items[i].Text] = true
	}
	return len(items)%2 == 0
}

func (p *valueParser) array() (value, error) {
	text, err := p.until(";")
	if err != nil {
		return value{}, err
	}
	parts := strings.Split(text, "|")
	// dtypes of one byte are written "|b1", which makes a fourth part.
	if len(parts) == 4 && parts[0] == "" {
		parts = append([]string{"|" + parts[1]}, parts[2:]...)
	}
	if len(parts) != 3 {
		return value{}, errValue
	}
	a := array{DType: parts[0]}
	if a.Data, err = hex.DecodeString(parts[2]); err != nil {
		return value{}, errValue
	}
	size := a.itemSize()
	for _, n := range strings.FieldsFunc(parts[1], func(r rune) bool { return r == ',' }) {
		length, err := strconv.Atoi(n)
		if err != nil || length < 0 || length > len(a.Data) {
			return value{}, errValue
		}
		a.Shape = append(a.Shape, length)
		size *= length
		if size > len(a.Data) {
			return value{}, errValue
		}
	}
	if size != len(a.Data) || a.itemSize() == 0 {
		return value{}, errValue
	}
	return value{Kind: 'a', Array: a}, nil
}

func (a array) itemSize() int {
	if len(a.DType) != 3 {
		return 0
	}
	n := int(a.DType[2] - '0')
	if n != 1 && n != 2 && n != 4 && n != 8 {
		return 0
	}
	return n
}

// floats returns the elements of a little-endian float64 array.
func (a array) floats() ([]float64, bool) {
	if a.DType != "<f8" {
		return nil, false
	}
	out := make([]float64, 0, len(a.Data)/8)
	for data := range slices.Chunk(a.Data, 8) {
		out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(data)))
	}
	return out, true
}

// finite reports whether no float in v is infinite or not a number.
func (v value) finite() bool {
	switch v.Kind {
	case 'f':
		return finiteFloat(v.Float)
	case 'a':
		floats, _ := v.Array.floats()
		return !slices.ContainsFunc(floats, func(f float64) bool { return !finiteFloat(f) })
	}
	return !slices.ContainsFunc(v.Items, func(item value) bool { return !item.finite() })
}

func finiteFloat(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }

// String writes v as Python would show it, for people.
func (v value) String() string {
	switch v.Kind {
	case 'N':
		return "None"
	case 'b':
		if v.Bool {
			return "True"
		}
		return "False"
	case 'i':
		if v.Int.BitLen() > 512 {
			return fmt.Sprintf("an int of %d bits", v.Int.BitLen())
		}
		return v.Int.String()
	case 'f':
		return floatText(v.Float)
	case 's':
		return strconv.Quote(v.Text)
	case 't':
		if len(v.Items) == 1 {
			return "(" + v.Items[0].String() + ",)"
		}
		return "(" + listText(v.Items) + ")"
	case 'l':
		return "[" + listText(v.Items) + "]"
	case 'd':
		return fmt.Sprintf("a dict of %d", len(v.Items)/2)
	}
	return v.Array.String()
}

func (a array) String() string {
	floats, ok := a.floats()
	if !ok || len(a.Shape) != 1 {
		return fmt.Sprintf("array(%s, shape %v)", a.DType, a.Shape)
	}
	texts := make([]string, len(floats))
	for i, f := range floats {
		texts[i] = floatText(f)
	}
	return "array([" + strings.Join(texts, ", ") + "])"
}

func listText(items []value) string {
	texts := make([]string, 0, len(items))
	for i, item := range items {
		if i == 8 {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, item.String())
	}
	return strings.Join(texts, ", ")
}

// floatText writes a float so that it cannot be taken for an int.
func floatText(f float64) string {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".eIN") {
		text += ".0"
	}
	return text
}

// shorten cuts a text for a message at n bytes, between characters.
func shorten(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	cut := n
	for cut > 0 && text[cut]&0xC0 == 0x80 {
		cut--
	}
	return text[:cut] + "…"
}
