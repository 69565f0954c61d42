package suite

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cabra-run/images/imagestest"
	"cabra-run/runner/agent"
)

// TortureEnv asks for all agents; its value is the number of rounds.
const TortureEnv = "CABRA_TEST_TORTURE"

// profile is what is known of an agent's program from outside, by the notes on
// real runs of each.
type profile struct {
	word     string // as on the command line
	quick    bool   // one of those that every run of the tests goes through
	done     int    // exit code at the end of the work
	signal   int    // after its ending signal while it works
	failed   func(status int) int
	reads    []string // instruction files of the workspace, when it is let
	untraced bool
}

func always(code int) func(int) int { return func(int) int { return code } }

// profiles lists the seven CLIs and the worked example of an agent of one's own.
func profiles() []profile {
	return []profile{
		{word: "copilot", signal: 0, failed: always(1), reads: []string{"AGENTS.md"}},
		{word: "claude", quick: true, signal: 143, failed: always(1), reads: []string{"CLAUDE.md"}},
		{word: "codex", quick: true, signal: 1, failed: always(1), reads: []string{"AGENTS.md"}},
		{word: "opencode", signal: 143, failed: always(1), reads: []string{"AGENTS.md"}},
		{word: "pi", signal: 143, failed: always(0), reads: []string{"AGENTS.md"}},
		{word: "gemini", signal: 0, failed: func(status int) int { return status % 256 }, reads: []string{"GEMINI.md"}},
		{word: "mini", signal: 130, failed: always(1)},
		{word: filepath.Join("..", "..", "cmd", "cabra-run", "testdata", "agents", "tiny.toml"),
			signal: 143, failed: always(1), untraced: true},
	}
}

// rounds is how often each case is gone through, and whether with all agents.
func rounds(t *testing.T) (n int, all bool) {
	text := os.Getenv(TortureEnv)
	if text == "" {
		return 1, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number of rounds", TortureEnv, text)
	}
	return n, true
}

// Each agent's real CLI goes through the same cases.
func TestAgents(t *testing.T) {
	r := newRig(t)
	n, all := rounds(t)
	for _, p := range profiles() {
		t.Run(strings.TrimSuffix(filepath.Base(p.word), ".toml"), func(t *testing.T) {
			if !all && !p.quick {
				t.Skipf("only with %s=1, as make torture sets it", TortureEnv)
			}
			ag, err := agent.Find(p.word)
			if err != nil {
				t.Fatal(err)
			}
			image := imagestest.Ensure(t, ag.Recipe()).ID
			for range n {
				for _, c := range slices.Concat(cases(), otherWires(ag)) {
					passed.expect(ag.Name(), c.name)
					t.Run(c.name, func(t *testing.T) {
						t.Parallel()
						r.places <- struct{}{}
						defer func() { <-r.places }()
						t.Cleanup(func() { passed.done(ag.Name(), c.name, !t.Failed()) })
						(&trial{rig: r, profile: p, c: c, agent: &tapped{Agent: ag}, image: image}).play(t)
					})
				}
			}
		})
	}
}
