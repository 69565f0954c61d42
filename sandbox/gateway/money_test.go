package gateway

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cabra-run/sandbox/gateway/price"
)

// A dollar per thousand tokens in, two out; no answer is longer than 1,000.
var dear = price.Model{MaxOutput: 1000, Rates: price.Rates{Input: 1000, Cached: 1000, CacheWrite: 1000, CacheWriteLong: 1000, Output: 2000}}

// answered is a stream that tells 100 tokens in and 50 out: 0.1 + 0.1 dollars.
const toldStream = `data: {"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}` + "\n\n" +
	`data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50}}` + "\n\ndata: [DONE]\n\n"

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestCostOfExchanges(t *testing.T) {
	for name, c := range map[string]struct {
		body, answer string
		status       int
		err          bool
		cost         float64 // -1 when unknown
		spent        Spending
	}{
		// The body that is sent has 68 bytes: (34 + 512) × 0.001 + 10 × 0.002.
		"told":      {`{"stream":true,"max_tokens":10}`, toldStream, 200, false, 0.2, Spending{USD: 0.2, Tokens: 150}},
		"no number": {`{"stream":true,"max_tokens":10}`, strings.Replace(toldStream, "50", `"50"`, 1), 200, false, -1, Spending{Unknown: 1}},
		"untold":    {`{"stream":true,"max_tokens":10}`, streamText, 200, false, -1, Spending{Unknown: 1}},
		"cut":       {`{"stream":true,"max_tokens":10}`, strings.SplitAfter(toldStream, "finish")[0], 200, false, -1, Spending{Unknown: 1}},
		"refused":   {`{"stream":true,"max_tokens":10}`, "no", 400, false, 0, Spending{}},
		"transport": {`{"stream":true,"max_tokens":10}`, "", 0, true, -1, Spending{Unknown: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &moody{name: "p", next: func(int) (*http.Response, error) {
				if c.err {
					return nil, io.ErrUnexpectedEOF
				}
				return replied(c.status, c.answer), nil
			}}
			budget := NewBudget(BudgetOptions{Run: Caps{USD: 5}})
			b := openBoxWith(t, quick(1), SessionOptions{Upstream: m, Model: "m", Price: &dear, Budget: budget, Trial: "t"}, overTCP(t))
			_, _, _ = b.ask(c.body)
			x, _ := b.one()
			if c.cost < 0 && x.CostUSD != nil || c.cost >= 0 && (x.CostUSD == nil || !near(*x.CostUSD, c.cost)) {
				t.Errorf("cost %v, want %v: %+v", x.CostUSD, c.cost, x)
			}
			worst := float64(x.WorstTokens-10)*0.001 + 0.02
			if x.WorstUSD == nil || !near(*x.WorstUSD, worst) || x.WorstTokens < 512+10+20 || x.WorstTokens > 512+10+60 {
				t.Errorf("worst %v, %d tokens", *x.WorstUSD, x.WorstTokens)
			}
			if c.spent.Unknown > 0 {
				c.spent.WorstUSD, c.spent.WorstTokens = budget.Spent().WorstUSD, x.WorstTokens
				if !near(c.spent.WorstUSD, worst) {
					t.Errorf("%+v is set aside of %v", budget.Spent(), worst)
				}
			}
			if got := budget.Spent(); got != c.spent {
				t.Errorf("spent %+v, want %+v", got, c.spent)
			}
		})
	}
}

// What a provider itself says about the cost goes before the table.
func TestToldCost(t *testing.T) {
	for usage, want := range map[string]float64{
		`"cost":0.95`: 0.95, `"cost":0.05,"is_byok":true,"cost_details":{"upstream_inference_cost":0.5}`: 0.55,
		`"cost":0.05,"is_byok":true`: 0.2, `"cost":-1`: 0.2, `"cost":"x"`: 0.2, `"cost":null`: 0.2,
	} {
		text := strings.Replace(toldStream, `"completion_tokens":50`, `"completion_tokens":50,`+usage, 1)
		m := &moody{name: "p", next: func(int) (*http.Response, error) { return replied(200, text), nil }}
		b := openBoxWith(t, quick(1), SessionOptions{Upstream: m, Model: "m", Price: &dear}, overTCP(t))
		if status, _, err := b.ask(`{"stream":true}`); status != 200 || err != nil {
			t.Fatal(status, err)
		}
		if x, _ := b.one(); x.CostUSD == nil || !near(*x.CostUSD, want) {
			t.Errorf("%s: %v, want %v", usage, x.CostUSD, want)
		}
	}
}

// What agents and runners see when there is no money left.
func TestBudgetRefusal(t *testing.T) {
	for wire, c := range map[Wire]struct{ path, body, want string }{
		WireChat:      {"/v1/chat/completions", `{"max_tokens":1000}`, `"error":{`},
		WireResponses: {"/v1/responses", `{"input":"x"}`, `"error":{`},
		WireMessages:  {"/v1/messages", `{"max_tokens":1000}`, `"type":"error"`},
		WireGemini:    {"/v1beta/models/x:generateContent", `{}`, `"code":402`},
	} {
		m := &moody{name: "p", next: func(int) (*http.Response, error) { return replied(200, toldStream), nil }}
		budget := NewBudget(BudgetOptions{Run: Caps{USD: 2}})
		b := openBoxWith(t, quick(8), SessionOptions{Upstream: m, Model: "m", Price: &dear, Budget: budget}, overTCP(t))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			strings.TrimSuffix(b.url, "/v1")+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusPaymentRequired || !strings.Contains(string(text), c.want) ||
			!strings.Contains(string(text), "budget of the run") {
			t.Errorf("%s: %d %s", wire, resp.StatusCode, text)
		}
		x, _ := b.one()
		st := b.Stats()
		if f := st.LastError; f == nil || f.Kind != FailureBudget || f.Scope != BudgetRun || !f.Permanent || f.PausesSweep() ||
			st.OverBudget != BudgetRun || st.Exhausted != 0 || !closed(budget.Exhausted()) {
			t.Errorf("%s: %+v %+v", wire, st, f)
		}
		if len(m.calls) != 0 || x.Tries != 0 || x.CostUSD == nil || *x.CostUSD != 0 {
			t.Errorf("%s: %d calls, %+v", wire, len(m.calls), x)
		}
	}
}

// Sixty attempts under a budget of half of what they would cost: it is spent
// as far as whole requests fit, and never passed.
func TestHalfTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Each request: 0.2 dollars, at worst about 0.57. All: 60 × 5 × 0.2 = 60.
		const limit = 30.0
		budget := NewBudget(BudgetOptions{Run: Caps{USD: limit}})
		var sent atomic.Int64
		m := &moody{name: "p", next: func(int) (*http.Response, error) {
			sent.Add(1)
			time.Sleep(5 * time.Second)
			return replied(200, toldStream), nil
		}}
		g := New(Options{Backoff: Backoff{Jitter: fixed(0)}})
		var refused atomic.Bool
		var wg sync.WaitGroup
		var boxes []*box
		for i := range 60 {
			b := openBoxWith(t, g, SessionOptions{
				Upstream: m, Model: "m", Price: &dear, Budget: budget, Trial: fmt.Sprint(i),
			}, inMemory)
			boxes = append(boxes, b)
			wg.Go(func() {
				for range 5 {
					status, _, err := b.ask(`{"stream":true,"max_tokens":10}`)
					if status == http.StatusPaymentRequired {
						refused.Store(true)
						return
					}
					if status != 200 || err != nil {
						t.Errorf("%d %v", status, err)
					}
				}
			})
		}
		wg.Wait()
		spent := budget.Spent()
		worst := *boxes[0].exchanges[0].WorstUSD
		if spent.USD > limit || spent.USD < limit-worst-0.2 || !near(spent.USD, float64(sent.Load())*0.2) ||
			!refused.Load() || !closed(budget.Exhausted()) {
			t.Errorf("spent %+v of %v in %d requests, refused %v", spent, limit, sent.Load(), refused.Load())
		}
	})
}

// An agent that leaves has cost what its request may have cost, but only if
// that was on its way.
func TestAgentLeavesBudget(t *testing.T) {
	for _, waiting := range []bool{true, false} {
		bubble(t, Options{}, func(t *testing.T, g *Gateway, m *moody) {
			m.next = func(int) (*http.Response, error) {
				if waiting {
					return replied(429, "", "Retry-After", "60"), nil
				}
				time.Sleep(20 * time.Second)
				return replied(200, toldStream), nil
			}
			budget := NewBudget(BudgetOptions{Run: Caps{USD: 5}})
			b := openBoxWith(t, g, SessionOptions{Upstream: m, Model: "m", Price: &dear, Budget: budget}, inMemory)
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if resp, err := b.post(ctx, `{"max_tokens":10}`); err == nil {
				resp.Body.Close()
				t.Fatal("answered")
			}
			x, _ := b.one()
			unknown := 1
			if waiting {
				unknown = 0
			}
			if got := budget.Spent(); got.Unknown != unknown || (x.CostUSD == nil) != (unknown == 1) {
				t.Errorf("waiting %v: %+v %+v", waiting, got, x)
			}
		})
	}
}

// Anthropic's cache writes for an hour have a price of their own.
func TestLongCacheWrites(t *testing.T) {
	m := newMeter(modelCall{wire: WireMessages}, false)
	_, _ = m.Write([]byte(`{"content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":2000,` +
		`"cache_read_input_tokens":5000,"cache_creation_input_tokens":3000,` +
		`"cache_creation":{"ephemeral_5m_input_tokens":2000,"ephemeral_1h_input_tokens":1000},"output_tokens":100}}`))
	if !m.end() {
		t.Fatal("not an answer")
	}
	table, err := price.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	sonnet, _ := table.Lookup("anthropic", "claude-sonnet-4-6")
	// 2000 × 3 + 5000 × 0.3 + 2000 × 3.75 + 1000 × 6 + 100 × 15, per million
	if usd, ok := sonnet.Cost(m.usage.priced()); !ok || !near(usd, 0.0225) {
		t.Errorf("%v %v: %+v", usd, ok, m.usage)
	}
}
