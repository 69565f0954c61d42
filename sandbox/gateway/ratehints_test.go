package gateway

import (
	"net/http"
	"testing"
	"time"
)

func TestRateHints(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		h    map[string]string
		want rateHints
	}{
		"none":          {nil, rateHints{}},
		"left":          {map[string]string{"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "1s"}, rateHints{}},
		"openai":        {map[string]string{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, rateHints{true, 6 * time.Minute}},
		"longest":       {map[string]string{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "2.5s"}, rateHints{true, 2500 * time.Millisecond}},
		"anthropic":     {map[string]string{"anthropic-ratelimit-input-tokens-remaining": "0", "anthropic-ratelimit-input-tokens-reset": "2026-01-02T03:04:35Z"}, rateHints{true, 30 * time.Second}},
		"anthropic old": {map[string]string{"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2026-01-02T03:00:00Z"}, rateHints{true, 0}},
		"openrouter":    {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767323105000"}, rateHints{true, time.Minute}},
		"seconds":       {map[string]string{"ratelimit-remaining": "0", "ratelimit-reset": "17"}, rateHints{true, 17 * time.Second}},
		"epoch":         {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1767323055"}, rateHints{true, 10 * time.Second}},
		"no reset":      {map[string]string{"x-ratelimit-remaining-tokens": "0"}, rateHints{true, 0}},
		"nonsense":      {map[string]string{"x-ratelimit-remaining-tokens": "NaN", "x-ratelimit-reset-tokens": "5s"}, rateHints{}},
		"far":           {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999h"}, rateHints{true, maxWait}},
		"infinite":      {map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "inf"}, rateHints{true, 0}},
	} {
		h := http.Header{}
		for k, v := range c.h {
			h.Set(k, v)
		}
		if got := readRateHints(h, now); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestRetryAfterFromElsewhere(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	gemini := `{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.Help"},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`
	for _, body := range []string{gemini, "[" + gemini + "]"} {
		if got := retryAfter(http.Header{}, []byte(body), now); got != 34500*time.Millisecond {
			t.Errorf("%s: %v", body, got)
		}
	}
	h := http.Header{"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"12s"}}
	if got := retryAfter(h, []byte("busy"), now); got != 12*time.Second {
		t.Errorf("by the reset: %v", got)
	}
	h.Set("Retry-After", "3")
	if got := retryAfter(h, []byte(gemini), now); got != 3*time.Second {
		t.Errorf("the header goes first: %v", got)
	}
}

func FuzzRateHeaders(f *testing.F) {
	for _, s := range []string{"", "0", "1", "1e300", "-1", "NaN", "inf", "6m0s", "9999999999h", "2026-01-02T03:04:35Z",
		"Fri, 02 Jan 2026 03:05:05 GMT", "1767323105000", `{"error":{"details":[{"@type":"x/google.rpc.RetryInfo","retryDelay":"-5s"}]}}`} {
		f.Add(s, "0", s)
		f.Add("", s, s)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, after, left, reset string) {
		h := http.Header{}
		for name, v := range map[string]string{
			"Retry-After": after, "Retry-After-Ms": reset, "X-Ratelimit-Remaining": left, "X-Ratelimit-Reset": reset,
			"Anthropic-Ratelimit-Tokens-Remaining": left, "Anthropic-Ratelimit-Tokens-Reset": after,
		} {
			h.Set(name, v)
		}
		for _, d := range []time.Duration{retryAfter(h, []byte(after), now), readRateHints(h, now).reset, resetIn(reset, now)} {
			if d < 0 || d > maxWait {
				t.Fatalf("wait of %v", d)
			}
		}
	})
}
