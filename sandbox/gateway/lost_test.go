package gateway

import (
	"io"
	"net"
	"net/http"
	"testing"
)

// A try whose connection broke after it was sent may have been charged: what
// comes of the next one does not make that nothing.
func TestBrokenTryIsNotFree(t *testing.T) {
	unsent := &net.OpError{Op: "dial", Err: io.ErrUnexpectedEOF}
	for name, c := range map[string]struct {
		first, then error
		status      int
		unknown     int
	}{
		"refused after a broken try": {io.ErrUnexpectedEOF, nil, 400, 1},
		"unsent after a broken try":  {io.ErrUnexpectedEOF, unsent, 0, 1},
		"refused after an unsent":    {unsent, nil, 400, 0},
		"unsent twice":               {unsent, unsent, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			m := &moody{name: "p", next: func(int) (*http.Response, error) {
				calls++
				switch {
				case calls == 1:
					return nil, c.first
				case c.then != nil:
					return nil, c.then
				}
				return replied(c.status, "no"), nil
			}}
			budget := NewBudget(BudgetOptions{Run: Caps{USD: 5}})
			b := openBoxWith(t, quick(2), SessionOptions{Upstream: m, Model: "m", Price: &dear, Budget: budget}, overTCP(t))
			_, _, _ = b.ask(`{"max_tokens":10}`)
			x, _ := b.one()
			if x.Tries != 2 || budget.Spent().Unknown != c.unknown || (x.CostUSD == nil) != (c.unknown == 1) {
				t.Errorf("%+v, spent %+v", x, budget.Spent())
			}
		})
	}
}

// xAI and Gemini's chat completions tell reasoning beside the completion.
func TestReasoningBesideCompletion(t *testing.T) {
	for usage, want := range map[string]int64{
		`"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}`:   103,
		`"prompt_tokens":32,"completion_tokens":9,"total_tokens":135`:                                                       103,
		`"prompt_tokens":32,"completion_tokens":103,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}`: 103,
		`"prompt_tokens":32,"completion_tokens":9,"total_tokens":50,"completion_tokens_details":{"reasoning_tokens":94}`:    9,
		`"prompt_tokens":32,"completion_tokens":9,"total_tokens":0`:                                                         9,
	} {
		m := newMeter(modelCall{wire: WireChat}, false)
		_, _ = m.Write([]byte(`{"choices":[],"usage":{` + usage + `}}`))
		if m.end(); m.usage.Output == nil || *m.usage.Output != want {
			t.Errorf("%s: %v, want %d", usage, m.usage.Output, want)
		}
	}
}
