// Package mt owns the random numbers of CPython's random module (MT19937), bit for
// bit: what a published generator drew can be drawn again. It must not know what
// the numbers are for.
package mt

import (
	"crypto/sha512"
	"math"
	"math/bits"
)

const (
	stateWords = 624
	shiftWords = 397
	upperBit   = 1 << 31
	matrixA    = 0x9908b0df
)

// Stream is a source of pseudo-random numbers that yields the same values as
// CPython's random.Random (MT19937) with the same seed. It is not safe for
// concurrent use.
type Stream struct {
	state [stateWords]uint32
	next  int // index of the next unused word of state
}

// NewStream returns the stream of an integer seed; the sign is ignored, as in
// CPython.
func NewStream(seed int64) *Stream {
	magnitude := uint64(seed)
	if seed < 0 {
		magnitude = -magnitude
	}
	return newStream64(magnitude)
}

// NewTextStream returns the stream of a text seed. The key is the number whose
// big-endian bytes are the text followed by its SHA-512 digest.
func NewTextStream(seed string) *Stream {
	digest := sha512.Sum512([]byte(seed))
	number := append([]byte(seed), digest[:]...)
	var key []uint32
	for len(number) > 0 {
		cut := max(0, len(number)-4)
		var word uint32
		for _, b := range number[cut:] {
			word = word<<8 | uint32(b)
		}
		key = append(key, word)
		number = number[:cut]
	}
	return newStreamKey(trimKey(key))
}

// NewRealStream returns the stream of a real seed in [0, 1) that is a multiple
// of 2^-53, such as Random yields. CPython seeds with the hash of the number,
// which for these is the multiple times 256.
func NewRealStream(seed float64) *Stream {
	return newStream64(uint64(math.Ldexp(seed, 53)) << 8)
}

func newStream64(seed uint64) *Stream {
	return newStreamKey(trimKey([]uint32{uint32(seed), uint32(seed >> 32)}))
}

// trimKey drops leading zero words of a little-endian number, but keeps one.
func trimKey(key []uint32) []uint32 {
	for len(key) > 1 && key[len(key)-1] == 0 {
		key = key[:len(key)-1]
	}
	return key
}

// newStreamKey is the reference initialisation of MT19937 by an array.
func newStreamKey(key []uint32) *Stream {
	s := &Stream{state: seededState, next: stateWords}
	mt := &s.state
	i, j := 1, 0
	for range max(stateWords, len(key)) {
		mt[i] = (mt[i] ^ (mt[i-1]^mt[i-1]>>30)*1664525) + key[j] + uint32(j)
		if i++; i == stateWords {
			mt[0], i = mt[stateWords-1], 1
		}
		if j++; j == len(key) {
			j = 0
		}
	}
	for range stateWords - 1 {
		mt[i] = (mt[i] ^ (mt[i-1]^mt[i-1]>>30)*1566083941) - uint32(i)
		if i++; i == stateWords {
			mt[0], i = mt[stateWords-1], 1
		}
	}
	mt[0] = upperBit
	return s
}

// seededState is the state that every initialisation by an array starts from.
var seededState = func() (mt [stateWords]uint32) {
	mt[0] = 19650218
	for i := 1; i < stateWords; i++ {
		mt[i] = 1812433253*(mt[i-1]^mt[i-1]>>30) + uint32(i)
	}
	return mt
}()

func (s *Stream) refill() {
	mt := &s.state
	for i := range stateWords {
		y := mt[i]&upperBit | mt[(i+1)%stateWords]&(upperBit-1)
		mt[i] = mt[(i+shiftWords)%stateWords] ^ y>>1 ^ (y&1)*matrixA
	}
	s.next = 0
}

// word returns the next 32-bit output.
func (s *Stream) word() uint32 {
	if s.next == stateWords {
		s.refill()
	}
	y := s.state[s.next]
	s.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// Random returns a real in [0, 1), a multiple of 2^-53.
func (s *Stream) Random() float64 {
	a, b := s.word()>>5, s.word()>>6
	return math.Ldexp(float64(uint64(a)<<26|uint64(b)), -53)
}

// Bits returns k random bits, 1 <= k <= 32.
func (s *Stream) Bits(k int) uint32 { return s.word() >> (32 - k) }

// Bits128 returns 128 random bits as words, most significant first.
func (s *Stream) Bits128() (words [4]uint32) {
	for i := range words {
		words[len(words)-1-i] = s.word()
	}
	return words
}

// Below returns an integer in [0, n), n >= 1. It draws at least once, also for
// n = 1, and again while the value is too large.
func (s *Stream) Below(n int) int {
	k := bits.Len(uint(n))
	for {
		if v := s.wide(k); v < uint64(n) {
			return int(v)
		}
	}
}

// wide returns k random bits, 1 <= k <= 64, the least significant word first.
func (s *Stream) wide(k int) uint64 {
	if k <= 32 {
		return uint64(s.Bits(k))
	}
	low := uint64(s.word())
	return uint64(s.Bits(k-32))<<32 | low
}

// Between returns an integer in [low, high].
func (s *Stream) Between(low, high int) int { return low + s.Below(high-low+1) }

// Uniform returns a real between low and high.
func (s *Stream) Uniform(low, high float64) float64 {
	return low + float64((high-low)*s.Random())
}

// Choice returns one of the items, of which there must be at least one.
func Choice[T any](s *Stream, items []T) T { return items[s.Below(len(items))] }

// Shuffle permutes the items in place.
func Shuffle[T any](s *Stream, items []T) {
	for i := len(items) - 1; i > 0; i-- {
		j := s.Below(i + 1)
		items[i], items[j] = items[j], items[i]
	}
}

// Choose returns k items (random.sample) at different positions, in the order
// in which they were drawn; k must not exceed the number of items.
func Choose[T any](s *Stream, items []T, k int) []T {
	chosen := make([]T, k)
	for i, at := range s.Positions(len(items), k) {
		chosen[i] = items[at]
	}
	return chosen
}

// Positions is Choose for the positions 0 to n-1.
func (s *Stream) Positions(n, k int) []int {
	if n <= poolLimit(k) {
		return s.positionsFromPool(n, k)
	}
	chosen := make([]int, k)
	taken := make(map[int]bool, k)
	for i := range chosen {
		j := s.Below(n)
		for taken[j] {
			j = s.Below(n)
		}
		taken[j] = true
		chosen[i] = j
	}
	return chosen
}

// poolLimit is the largest population for which CPython copies the population
// instead of remembering what it drew.
func poolLimit(k int) int {
	limit := 21
	if k > 5 {
		table := 4
		for table < 3*k {
			table *= 4
		}
		limit += table
	}
	return limit
}

func (s *Stream) positionsFromPool(n, k int) []int {
	pool := make([]int, n)
	for i := range pool {
		pool[i] = i
	}
	chosen := make([]int, k)
	for i := range chosen {
		live := n - i
		j := s.Below(live)
		chosen[i] = pool[j]
		pool[j] = pool[live-1]
	}
	return chosen
}
