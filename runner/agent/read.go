package agent

import (
	"maps"
	"os"
	"slices"
	"strings"

	"cabra-run/results/trace"
)

// noTrace is the trace format of a CLI whose session files nobody reads.
const noTrace = "none"

// readTrace reads the session that the CLI left, by its format.
func (d *definition) readTrace(home *os.Root, stdout string, j Job) (*trace.Trace, error) {
	if d.Trace == noTrace {
		return nil, nil
	}
	hint := trace.Hint{Stdout: stdout}
	if d.saysSession() {
		hint.SessionID = j.SessionID
	}
	return trace.Read(d.Trace, home, hint)
}

// saysSession reports whether the CLI is told the session's id; some choose
// their own.
func (d *definition) saysSession() bool {
	texts := slices.Concat(d.Command, slices.Collect(maps.Values(d.Env)), slices.Collect(maps.Values(d.Files)))
	for _, w := range d.When {
		texts = slices.Concat(texts, w.Args, slices.Collect(maps.Values(w.Env)), slices.Collect(maps.Values(w.Files)))
	}
	return slices.ContainsFunc(texts, func(s string) bool {
		return strings.Contains(s, "{session}") || strings.Contains(s, "{session:json}")
	})
}
