package runner

import (
	"testing"
	"time"

	"cabra-run/sandbox"
)

func TestWatchLimits(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	limits := watchLimits{Timeout: 10 * time.Minute, MaxWait: 5 * time.Minute, Stall: 3 * time.Minute, Output: 64 << 20, Disk: 256 << 20}
	at := func(d time.Duration, change func(*reading)) reading {
		r := reading{Now: start.Add(d), Started: start}
		if change != nil {
			change(&r)
		}
		return r
	}
	tests := []struct {
		name  string
		r     reading
		ended ending
		limit string
	}{
		{"at work", at(9*time.Minute, nil), endedItself, ""},
		{"time-out at the minute", at(10*time.Minute, nil), endedTimeout, ""},
		{"extended by waiting", at(12*time.Minute, func(r *reading) { r.Waited = 3 * time.Minute }), endedItself, ""},
		{"extension used up", at(13*time.Minute, func(r *reading) { r.Waited = 3 * time.Minute }), endedTimeout, ""},
		{"extension is bounded", at(15*time.Minute, func(r *reading) { r.Waited = time.Hour }), endedTimeout, ""},
		{"stalled", at(4*time.Minute, func(r *reading) { r.Quiet = 3 * time.Minute }), endedStalled, ""},
		{"nearly stalled", at(4*time.Minute, func(r *reading) { r.Quiet = 3*time.Minute - time.Second }), endedItself, ""},
		{"output", at(time.Minute, func(r *reading) { r.Output = 64<<20 + 1 }), endedLimit, LimitOutput},
		{"disk", at(time.Minute, func(r *reading) { r.Usage = sandbox.Usage{WorkspaceBytes: 256<<20 + 1} }), endedLimit, LimitDisk},
		{"disk unknown", at(time.Minute, func(r *reading) { r.Usage = sandbox.Usage{WorkspaceBytes: -1} }), endedItself, ""},
		{"disk unknown once too often", at(time.Minute, func(r *reading) { r.Unread = 30 }), endedLimit, LimitDisk},
		{"disk unknown for a while", at(time.Minute, func(r *reading) { r.Unread = 29 }), endedItself, ""},
		{"limit before time-out", at(time.Hour, func(r *reading) { r.Output = 65 << 20 }), endedLimit, LimitOutput},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, ok := limits.check(tt.r)
			if s.Ended != tt.ended || s.LimitHit != tt.limit || ok != (tt.ended != endedItself) {
				t.Errorf("got %+v %v, want %q %q", s, ok, tt.ended, tt.limit)
			}
			if ok && s.Detail == "" {
				t.Error("no detail for people")
			}
		})
	}
}
