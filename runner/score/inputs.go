package score

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"

	"cabra-run/tasks"
)

// Trials is how many inputs every function is called with.
const Trials = 50

// emptyTrial is the one trial in which a text input is empty.
const emptyTrial = Trials - 1

// stream is a generator of one input: PCG seeded by a hash of what the input
// is for. It depends on the task alone, never on a candidate.
type stream struct{ pcg *rand.PCG }

func newStream(parts ...string) stream {
	sum := sha256.Sum256([]byte("cabra-score/strict/1\x00" + strings.Join(parts, "\x00")))
	return stream{rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))}
}

// below returns a number from 0 to n−1.
func (s stream) below(n int) int {
	high, _ := bits.Mul64(s.pcg.Uint64(), uint64(n))
	return int(high)
}

// uniform returns a float in [lo, hi).
func (s stream) uniform(lo, hi float64) float64 {
	unit := float64(s.pcg.Uint64()>>11) * (1.0 / (1 << 53))
	return lo + float64(unit*(hi-lo))
}

// inputs draws the trials of one task.
type inputs struct {
	digest string
	code   tasks.CodeType
	keys   []string // of values, as made by valueKey
	// indexed programs assert bounds of the values that they pass around: texts
	// are digits there. Numbers beyond the bounds are drawn anew.
	indexed bool
}

// valueKey names the value of a parameter by its type and position: functions
// share their inputs where both agree.
func valueKey(typ string, position int) string { return typ + strconv.Itoa(position) }

// draw makes trial t. A higher attempt draws it anew, within a calmer range.
func (in inputs) draw(t, attempt int) trial {
	out := trial{Stubs: in.stubs(t), Values: make(map[string]string, len(in.keys))}
	for _, key := range in.keys {
		s := newStream(in.digest, key, strconv.Itoa(t), strconv.Itoa(attempt))
		out.Values[key] = in.value(s, key, t, attempt)
	}
	return out
}

// stubs rotates through the variants of the library so that every one of them
// occurs, in changing combinations.
func (in inputs) stubs(t int) [4]int {
	counts := [4]int{5, 5, 5, 5}
	if in.code == tasks.String {
		counts[2] = 3
	}
	s := newStream(in.digest, "stubs")
	var out [4]int
	for i, n := range counts {
		out[i] = (s.below(n) + t + i*(t/5)) % n
	}
	return out
}

func (in inputs) value(s stream, key string, t, attempt int) string {
	letters := alphanumeric
	if in.indexed {
		letters = alphanumeric[:10]
	}
	typ := strings.TrimRight(key, "0123456789")
	first := strings.TrimPrefix(key, typ) == "0"
	switch typ {
	case "float":
		if first {
			return floatTag(s.float(t, attempt))
		}
		return floatTag(s.factor())
	case "str":
		if first {
			return textTag(s.text(t))
		}
		return textTag(s.pick(letters, 1+s.below(3)))
	case "array":
		return arrayTag(s.array(attempt))
	case "bool":
		return string("FT"[s.below(2)])
	}
	return fmt.Sprintf("i%x;", 1+s.below(5))
}

var specials = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5}

// float draws the argument of trial t: half of them small, a third larger, a
// few large of both signs, and in the last trials each special one. Redrawn
// ones are small, for a task whose outputs overflow.
func (s stream) float(t, attempt int) float64 {
	special := t - (Trials - len(specials))
	switch {
	case t%10 < 5 && special < 0 || attempt > 0:
		return s.uniform(-1, 1)
	case special >= 0:
		return specials[special]
	case t%10 < 8 || t%20 == 9:
		return s.uniform(-10, 10)
	case t%20 < 10:
		return s.uniform(10, 1000)
	}
	return s.uniform(-1000, -10)
}

// factor draws a value that changes what it is multiplied with or added to.
func (s stream) factor() float64 {
	size := s.uniform(0.1, 0.95)
	if s.below(3) == 0 {
		size = s.uniform(1.05, 10)
	}
	if s.below(2) == 0 {
		return -size
	}
	return size
}

// alphanumeric holds the digits first.
const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// beyondASCII are letters with and without case, some of which change their
// length with it, and a sign outside of the basic plane.
var beyondASCII = []string{"é", "Ä", "ß", "Ω", "ж", "İ", "ŉ", "中", "ñ", "𝕏", " ", "-"}

// text draws an argument: digits, letters with digits, some beyond ASCII, and
// the empty text once.
func (s stream) text(t int) string {
	if t == emptyTrial {
		return ""
	}
	length := 1 + s.below(10)
	switch r := s.below(100); {
	case r < 40:
		return s.pick(alphanumeric[:10], length)
	case r < 85:
		return s.pick(alphanumeric, length)
	}
	var b strings.Builder
	for range length {
		if s.below(3) == 0 {
			b.WriteString(beyondASCII[s.below(len(beyondASCII))])
		} else {
			b.WriteString(s.pick(alphanumeric, 1))
		}
	}
	return b.String()
}

func (s stream) pick(letters string, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = letters[s.below(len(letters))]
	}
	return string(out)
}

// array draws an argument of one to five elements, with zeros and equal ones
// among them.
func (s stream) array(attempt int) []float64 {
	out := make([]float64, 1+s.below(5))
	small := 1 / float64(1+attempt/4)
	for i := range out {
		switch r := s.below(100); {
		case r < 60 || attempt > 0:
			out[i] = s.uniform(-small, small)
		case r < 85:
			out[i] = s.uniform(-10, 10)
		case r < 95:
			out[i] = 0
		default:
			out[i] = specials[2+s.below(4)]
		}
	}
	if s.below(5) == 0 {
		out[0] = out[len(out)-1]
	}
	return out
}

func floatTag(f float64) string { return fmt.Sprintf("f%016x", math.Float64bits(f)) }

func textTag(text string) string {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return fmt.Sprintf("u%d:%x", 2*len(text), text)
		}
	}
	return fmt.Sprintf("s%d:%s", len(text), text)
}

func arrayTag(values []float64) string {
	var data []byte
	for _, f := range values {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(f))
	}
	return fmt.Sprintf("a<f8|%d|%s;", len(values), hex.EncodeToString(data))
}
