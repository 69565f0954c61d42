package gateway

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// rateHints is what an answer's headers say about the provider's limits.
type rateHints struct {
	spent bool          // of some limit nothing is left
	reset time.Duration // until the last of the spent ones is there again, 0 when not told
}

// maxWait bounds every wait that is read from an answer; the policy bounds
// them further.
const maxWait = 24 * time.Hour

// The names of rate headers: PREFIX + "remaining" + SUFFIX and the same with
// "reset", with or without the kind of limit at either place.
var (
	ratePrefixes = []string{"X-Ratelimit-", "Ratelimit-"}
	rateKinds    = []string{"requests", "tokens", "input-tokens", "output-tokens", "project-tokens"}
)

// readRateHints reads x-ratelimit-remaining[-KIND] and its reset, as OpenAI,
// OpenRouter and many others send them, and Anthropic's
// anthropic-ratelimit-KIND-remaining.
func readRateHints(h http.Header, now time.Time) rateHints {
	var hints rateHints
	for _, prefix := range ratePrefixes {
		hints.read(h.Get(prefix+"Remaining"), h.Get(prefix+"Reset"), now)
		for _, kind := range rateKinds {
			hints.read(h.Get(prefix+"Remaining-"+kind), h.Get(prefix+"Reset-"+kind), now)
		}
	}
	for _, kind := range rateKinds {
		name := "Anthropic-Ratelimit-" + kind
		hints.read(h.Get(name+"-Remaining"), h.Get(name+"-Reset"), now)
	}
	return hints
}

func (r *rateHints) read(remaining, reset string, now time.Time) {
	left, err := strconv.ParseFloat(strings.TrimSpace(remaining), 64)
	if err != nil || left > 0 || left != left {
		return
	}
	r.spent = true
	r.reset = max(r.reset, resetIn(strings.TrimSpace(reset), now))
}

// resetIn reads when a limit is there again: a duration ("6m0s"), seconds from
// now, a point of time in seconds or milliseconds since 1970, RFC 3339 or the
// date form of HTTP. What is none of these, or has passed, is 0.
func resetIn(v string, now time.Time) time.Duration {
	if d, err := time.ParseDuration(v); err == nil {
		return between(d)
	}
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		switch {
		case f != f || f < 0:
			return 0
		case f > 1e15:
			return 0
		case f > 1e11:
			return between(time.UnixMilli(int64(f)).Sub(now))
		case f > 1e8:
			return between(time.Unix(int64(f), 0).Sub(now))
		}
		return seconds(f)
	}
	if at, err := time.Parse(time.RFC3339, v); err == nil {
		return between(at.Sub(now))
	}
	if at, err := http.ParseTime(v); err == nil {
		return between(at.Sub(now))
	}
	return 0
}

func between(d time.Duration) time.Duration { return min(max(d, 0), maxWait) }

// seconds is a wait that a provider has written as a number.
func seconds(f float64) time.Duration {
	if !(f > 0) { // NaN too
		return 0
	}
	if f > maxWait.Seconds() {
		return maxWait
	}
	return time.Duration(f * float64(time.Second))
}

// retryAfter is how long a failed answer asks to be waited: by the header in
// both of its forms, by the milliseconds that some providers send, by Gemini's
// body, or by the reset of what is spent; 0 when it does not ask.
func retryAfter(h http.Header, body []byte, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return seconds(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		return between(at.Sub(now))
	}
	if d := retryDelay(body); d > 0 {
		return d
	}
	return readRateHints(h, now).reset
}

// retryDelay reads google.rpc.RetryInfo in an error's details.
func retryDelay(body []byte) time.Duration {
	var doc struct {
		Error struct {
			Details []struct {
				Type  string `json:"@type"`
				Delay string `json:"retryDelay"`
			} `json:"details"`
		} `json:"error"`
	}
	if first, err := splitFirst(body); err == nil { // its streams tell errors in a list
		body = first
	}
	decode(body, &doc)
	for _, d := range doc.Error.Details {
		if strings.HasSuffix(d.Type, "google.rpc.RetryInfo") {
			if wait, err := time.ParseDuration(d.Delay); err == nil {
				return between(wait)
			}
		}
	}
	return 0
}
