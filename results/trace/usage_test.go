package trace

import (
	"slices"
	"testing"
)

func tokens(v int64) *int64 { return &v }

func TestCompareUsage(t *testing.T) {
	full := Usage{Input: tokens(100), Cached: tokens(20), Output: tokens(10), Reasoning: tokens(3)}
	other := Usage{Input: tokens(90), Cached: tokens(20), Output: tokens(12), Reasoning: tokens(3)}
	bare := Usage{Input: tokens(100), Output: tokens(10)}
	tests := []struct {
		name            string
		agent, gateway  []Usage
		comparable      bool
		differs         string
		unknown, summed int // of the gateway
	}{
		{"the same", []Usage{full, other}, []Usage{other, full}, true, "", 0, 2},
		{"agent tells nothing", nil, []Usage{full}, false, "", 0, 1},
		{"other figures", []Usage{full}, []Usage{other}, true, "input: agent 100, gateway 90; output: agent 10, gateway 12", 0, 1},
		{"a request more", []Usage{full}, []Usage{full, full}, true,
			"requests: agent 1, gateway 2; input: agent 100, gateway 200; cached: agent 20, gateway 40; output: agent 10, gateway 20; reasoning: agent 3, gateway 6", 0, 2},
		{"a cut stream is unknown, not 0", []Usage{full}, []Usage{full, {}}, true, "", 1, 1},
		{"what a side does not tell is not compared", []Usage{bare}, []Usage{full}, true, "", 0, 1},
		{"nor what it tells of some", []Usage{full, bare}, []Usage{full, full}, true, "", 0, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := &Trace{}
			for _, u := range tt.agent {
				tr.addUsage(CallUsage{Usage: u})
			}
			c := tr.CompareUsage(tt.gateway)
			if c.Comparable != tt.comparable || c.String() != tt.differs || c.Gateway.Unknown != tt.unknown || c.Gateway.Requests != tt.summed {
				t.Errorf("%+v: %q", c, c)
			}
		})
	}
}

func TestUsageOfRealSession(t *testing.T) {
	tr := mustRead(t, "codex", home(t, one(codexFile, "codex/ok.rollout.jsonl")), Hint{})
	told := Usage{Input: tokens(1000), Cached: tokens(200), Output: tokens(50), Reasoning: tokens(7)}
	again := Usage{Input: tokens(1100), Cached: tokens(200), Output: tokens(50), Reasoning: tokens(0)}
	if c := tr.CompareUsage([]Usage{told, again}); c.String() != "" || !c.Comparable {
		t.Errorf("%v", c)
	}
	c := tr.CompareUsage([]Usage{told})
	if !slices.Contains(c.Differences, UsageDifference{What: "input", Agent: 2100, Gateway: 1000}) {
		t.Errorf("%v", c)
	}
}
