package trace

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"
)

// copilotCall is a row of assistant_usage_events: one answered model call. The
// input includes the cached one, the output the reasoning.
type copilotCall struct {
	SessionID  string   `json:"session_id"`
	Model      string   `json:"model"`
	Input      *float64 `json:"input_tokens"`
	Output     *float64 `json:"output_tokens"`
	Cached     *float64 `json:"cache_read_tokens"`
	CacheWrite *float64 `json:"cache_write_tokens"`
	Reasoning  *float64 `json:"reasoning_tokens"`
	CreatedAt  string   `json:"created_at"`
}

// copilotUsage adds the usage per call, which only the store has. A session
// without a store has none.
func (b *builder) copilotUsage(home *os.Root, path string) {
	if _, err := home.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return
	}
	lines, known := b.Lines, b.known
	b.readStore(storeCopilot, home, path, func(_ string, row []byte) error {
		var c copilotCall
		if err := json.Unmarshal(row, &c); err != nil {
			return err
		}
		if c.SessionID != b.SessionID {
			return nil
		}
		at, err := time.Parse(time.RFC3339Nano, c.CreatedAt)
		if err != nil {
			at = time.Time{}
		}
		b.addUsage(CallUsage{Model: c.Model, At: at, Usage: Usage{Input: count(c.Input), Cached: count(c.Cached),
			CacheWrite: count(c.CacheWrite), Output: count(c.Output), Reasoning: count(c.Reasoning)}})
		return nil
	})
	b.Lines, b.known = lines, known // those of the session file
}
