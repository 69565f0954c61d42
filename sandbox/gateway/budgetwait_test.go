package gateway

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Requests that wait too long for what is set aside for others have met a
// budget and no provider.
func TestLongWaitForBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A request can cost 1.75, so that one at a time has room in 3.4.
		budget := NewBudget(BudgetOptions{Run: Caps{USD: 3.4}})
		m := &moody{name: "p", next: func(int) (*http.Response, error) {
			time.Sleep(time.Minute)
			return replied(200, toldStream), nil
		}}
		g := New(Options{Backoff: Backoff{Jitter: fixed(0)}})
		var mu sync.Mutex
		statuses := map[int]int{}
		var wg sync.WaitGroup
		for range 8 {
			b := openBoxWith(t, g, SessionOptions{Upstream: m, Model: "m", Price: &dear, Budget: budget, Trial: "t"}, inMemory)
			wg.Go(func() {
				status, text, err := b.ask(`{"stream":true,"max_tokens":600}`)
				mu.Lock()
				defer mu.Unlock()
				statuses[status]++
				if status == 200 && err == nil {
					return
				}
				st := b.Stats()
				f := st.LastError
				if f == nil || f.Kind != FailureBudget || f.Scope != BudgetRun || st.OverBudget != BudgetRun ||
					st.Exhausted != 0 || !strings.Contains(text, "fewer --jobs") {
					t.Errorf("%d %s: %+v %+v", status, text, f, st)
				}
			})
		}
		wg.Wait()
		// Four minutes hold four answers of a minute; who comes to its turn at the
		// end of them may get a fifth.
		if statuses[200] < 4 || statuses[200] > 5 || statuses[200]+statuses[http.StatusPaymentRequired] != 8 {
			t.Errorf("%v", statuses)
		}
	})
}
