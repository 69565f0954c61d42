package results

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseTime(t *testing.T) {
	for text, want := range map[string]time.Time{
		"":                            {},
		"2030-05-01T12:00:00.000000Z": time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC),
		"2031-12-31T23:59:59.000001Z": time.Date(2031, 12, 31, 23, 59, 59, 1000, time.UTC),
		"2032-02-29T00:00:00.999999Z": time.Date(2032, 2, 29, 0, 0, 0, 999999000, time.UTC),
		"2031-02-29T00:00:00.000000Z": {}, // no such day
		"2031-13-01T00:00:00.000000Z": {},
		"2031-00-01T00:00:00.000000Z": {},
		"2031-01-00T00:00:00.000000Z": {},
		"2031-01-01T24:00:00.000000Z": {},
		"2031-01-01T00:60:00.000000Z": {},
		"2031-01-01 00:00:00.000000Z": {},
		"2031-01-01T00:00:00.00000xZ": {},
		"2031-01-01T00:00:00.000000+": {},
		"yesterday":                   {},
	} {
		if got := parseTime(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(-1<<52, 1<<56).Draw(rt, "microseconds")).UTC()
		if got := parseTime(formatTime(at)); got != at {
			rt.Errorf("%v comes back as %v", at, got)
		}
	})
}
