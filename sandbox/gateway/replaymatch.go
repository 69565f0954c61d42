package gateway

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

// match finds the recorded request that a request is answered from, and notes
// the texts that differ.
func (r *Replay) match(n int, now *shape) (*recording, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped != nil {
		return nil, r.stopped
	}
	rec := r.choose(now)
	if rec == nil {
		return nil, r.stopLocked(r.nothingFits(n, now))
	}
	rec.used = true
	r.report.Matched++
	r.noteDrifts(n, rec, now)
	return rec, nil
}

// choose returns the earliest unused request of the same structure in the same
// conversation, or else in any. Where one conversation has several, as when a
// request was repeated or a helper is asked again and again, the one with more
// equal texts goes first.
func (r *Replay) choose(now *shape) *recording {
	list := slices.DeleteFunc(slices.Clone(r.byKey[now.key()]), func(e *recording) bool { return e.used })
	if len(list) == 0 {
		return nil
	}
	list = list[:min(len(list), maxCandidates)]
	if len(list) == 1 {
		return list[0]
	}
	thread := r.thread(now)
	best, bestScore := list[0], -1
	for _, e := range list {
		score := 0
		if e.thread == thread {
			score = len(now.items) + 1
		}
		for i := range now.items {
			if r.equal(e.shape.items[i].text, now.items[i].text) {
				score++
			}
		}
		if score > bestScore {
			best, bestScore = e, score
		}
	}
	return best
}

// thread tells conversations apart: by the system prompt and the first message
// of the user, without ids and times.
func (r *Replay) thread(s *shape) [sha256.Size]byte {
	h := sha256.New()
	for _, item := range s.items {
		if item.kind != TextSystem && item.kind != TextUser {
			continue
		}
		sum := r.sum(item.text)
		h.Write(sum[:])
		if item.kind == TextUser {
			break
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// equal compares two texts without ids and times.
func (r *Replay) equal(recorded, now string) bool {
	return recorded == now || r.sum(recorded) == r.sum(now)
}

// maxSums bounds the texts of which the sum is remembered.
const maxSums = 100_000

// sum is that of a text without ids and times, which take long to find.
func (r *Replay) sum(text string) [sha256.Size]byte {
	raw := sha256.Sum256([]byte(text))
	sum, ok := r.sums[raw]
	if !ok {
		sum = sha256.Sum256([]byte(normalised(text)))
		if len(r.sums) < maxSums {
			r.sums[raw] = sum
		}
	}
	return sum
}

// noteDrifts lists the texts that differ. Requests of the same structure have
// the same items in the same places.
func (r *Replay) noteDrifts(n int, rec *recording, now *shape) {
	for i, item := range now.items {
		was := rec.shape.items[i]
		if r.equal(was.text, item.text) {
			continue
		}
		a, b := r.sum(was.text), r.sum(item.text)
		key := sha256.Sum256(slices.Concat([]byte(item.kind), a[:], b[:]))
		if at, known := r.drifts[key]; known {
			if at >= 0 {
				r.report.Drifts[at].Requests++
			}
			continue
		}
		r.addDrift(key, ReplayDrift{Request: n, Recorded: rec.place, Item: i + 1, Kind: item.kind, Requests: 1},
			was.text, item.text)
	}
}

// maxKnownDrifts bounds those that are told apart.
const maxKnownDrifts = 10_000

func (r *Replay) addDrift(key [sha256.Size]byte, d ReplayDrift, was, now string) {
	if len(r.drifts) >= maxKnownDrifts {
		return
	}
	if d.Kind == TextResult {
		r.report.ResultDrifts++
	}
	if len(r.report.Drifts) == maxDrifts {
		r.report.MoreDrifts++
		r.drifts[key] = -1
		return
	}
	d.Diff = textDifference(normalised(was), normalised(now))
	r.drifts[key] = len(r.report.Drifts)
	r.report.Drifts = append(r.report.Drifts, d)
}

// nothingFits explains why a request has no answer, by the recorded request
// that is most like it; those that are still to be answered go first.
func (r *Replay) nothingFits(n int, now *shape) ReplayDivergence {
	d := ReplayDivergence{Request: n, Reason: "no recorded request has its structure"}
	lines := now.lines()
	var nearest *recording
	best := -1
	for _, e := range r.all {
		score := likeness(e.shape.lines(), lines) * 2
		if !e.used {
			score++
		}
		if score > best {
			nearest, best = e, score
		}
	}
	switch {
	case nearest == nil:
		d.Reason = "nothing is recorded that could answer it"
	case nearest.used && nearest.shape.key() == now.key():
		d.Reason = fmt.Sprintf("all %d recorded requests of its structure are answered already", len(r.byKey[now.key()]))
		fallthrough
	default:
		d.Nearest, d.Used = nearest.place, nearest.used
		d.Diff = difference(nearest.shape.lines(), lines, 0)
	}
	if r.lost > 0 {
		d.Reason += fmt.Sprintf("; %d recorded requests cannot be compared, because their bodies were not kept", r.lost)
	}
	if r.report.Torn {
		d.Reason += "; the recording ends in a damaged part"
	}
	return d
}

// likeness is how many lines two structures share at their beginnings and ends,
// less what one of them has more than the other.
func likeness(a, b []string) int {
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return max(0, 2*(head+tail)-max(len(a), len(b))+min(len(a), len(b)))
}
