package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestFailures(t *testing.T) {
	answer := func(statuses ...int) func(http.ResponseWriter, int) {
		return func(w http.ResponseWriter, call int) {
			status := statuses[min(call, len(statuses))-1]
			if status == 200 {
				sendStream(w, streamText)
				return
			}
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"message":"told %d"}}`, status)
		}
	}
	quota := func(w http.ResponseWriter, _ int) {
		w.WriteHeader(429)
		_, _ = io.WriteString(w, `{"error":{"message":"pay first","type":"insufficient_quota"}}`)
	}
	cutOnce := func(w http.ResponseWriter, call int) {
		if call == 1 {
			cut()
		}
		sendStream(w, streamText)
	}
	headersThenCut := func(w http.ResponseWriter, call int) {
		if call == 1 {
			sendStream(w, "")
			cut()
		}
		sendStream(w, streamText)
	}
	cases := []struct {
		name    string
		handler func(w http.ResponseWriter, call int)
		calls   int // at the provider
		status  int // at the agent
		text    string
		kind    FailureKind
		pauses  bool
	}{
		{"429 once", answer(429, 200), 2, 200, streamText, "", false},
		{"500 and 529", answer(500, 529, 200), 3, 200, streamText, "", false},
		{"408", answer(408, 200), 2, 200, streamText, "", false},
		{"500 for ever", answer(500), 4, 500, `{"error":{"message":"told 500"}}`, FailureServer, false},
		{"429 for ever", answer(429), 4, 429, `{"error":{"message":"told 429"}}`, FailureRateLimit, false},
		{"401", answer(401), 1, 401, `{"error":{"message":"told 401"}}`, FailureCredentials, true},
		{"403 after 500", answer(500, 403), 2, 403, `{"error":{"message":"told 403"}}`, FailureCredentials, true},
		{"404", answer(404), 1, 404, `{"error":{"message":"told 404"}}`, FailureModel, true},
		{"402", answer(402), 1, 402, `{"error":{"message":"told 402"}}`, FailureQuota, true},
		{"400", answer(400), 1, 400, `{"error":{"message":"told 400"}}`, FailureRequest, false},
		{"quota", quota, 1, 429, `{"error":{"message":"pay first","type":"insufficient_quota"}}`, FailureQuota, true},
		{"cut before an answer", cutOnce, 2, 200, streamText, "", false},
		{"cut behind the head", headersThenCut, 2, 200, streamText, "", false},
		{"empty answer for ever", func(http.ResponseWriter, int) {}, 4, 502, "", FailureTransport, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var calls atomic.Int32
			up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				c.handler(w, int(calls.Add(1)))
			})
			b := openBox(t, quick(4), up, overTCP(t))
			status, text, err := b.ask(`{"stream":true}`)
			if status != c.status || c.text != "" && text != c.text || err != nil {
				t.Errorf("the agent got %d %q, %v", status, text, err)
			}
			x, rec := b.one()
			st := b.Stats()
			if int(calls.Load()) != c.calls || x.Tries != c.calls {
				t.Errorf("%d calls, %d tries", calls.Load(), x.Tries)
			}
			if x.Status != c.status || x.Complete != (c.kind == "") || rec.Status != c.status {
				t.Errorf("exchange %+v", x)
			}
			if c.kind == "" {
				if st.LastError != nil || st.Answers != 1 || st.Exhausted != 0 || c.calls > 1 &&
					x.Waited <= 0 {
					t.Errorf("stats %+v, waited %v", st, x.Waited)
				}
				return
			}
			f := st.LastError
			if f == nil || f.Kind != c.kind || f.PausesSweep() != c.pauses || st.Answers != 0 ||
				x.Error != f.Error() {
				t.Fatalf("stats %+v, error %+v", st, f)
			}
			if (st.Exhausted == 1) == f.Permanent {
				t.Errorf("exhausted %d, permanent %v", st.Exhausted, f.Permanent)
			}
		})
	}
}

// A usable answer takes the last error back.
func TestLastErrorIsTheLast(t *testing.T) {
	var calls atomic.Int32
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		sendStream(w, streamText)
	})
	b := openBox(t, quick(1), up, overTCP(t))
	if status, _, _ := b.ask(`{"stream":true}`); status != 400 || b.Stats().LastError == nil {
		t.Errorf("first: %d, %+v", status, b.Stats())
	}
	if status, _, _ := b.ask(`{"stream":true}`); status != 200 {
		t.Errorf("second: %d", status)
	}
	b.end()
	if st := b.Stats(); st.LastError != nil || st.Answers != 1 || st.Requests != 2 ||
		st.Usage.Unknown != 1 {
		t.Errorf("%+v", st)
	}
}

func TestCutAnswer(t *testing.T) {
	cases := []struct {
		name    string
		handler func(w http.ResponseWriter)
		idle    time.Duration
		clean   bool // the agent sees an ordinary end
		usage   Usage
		want    string
	}{
		{name: "cut", handler: func(w http.ResponseWriter) { sendStream(w, streamText); cut() }, want: "EOF"},
		{name: "cut behind usage", handler: func(w http.ResponseWriter) { sendStream(w, usageChunk); cut() }, usage: fullUsage, want: "EOF"},
		{name: "ended early", handler: func(w http.ResponseWriter) { sendStream(w, `data: {"choices":[]}`+"\n\n") },
			clean: true, want: "the answer ended early"},
		{name: "error within", handler: func(w http.ResponseWriter) { sendStream(w, `data: {"error":{"message":"gone"}}`+"\n\n") },
			clean: true, want: "gone"},
		{name: "silence", idle: 20 * time.Millisecond, want: ErrSilent.Error()},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
				if c.handler != nil {
					c.handler(w)
					return
				}
				sendStream(w, streamText)
				<-r.Context().Done()
			}, func(o *HTTPOptions) { o.IdleTimeout = c.idle })
			b := openBox(t, quick(8), up, overTCP(t))
			status, _, err := b.ask(`{"stream":true}`)
			if status != 200 || (err == nil) != c.clean {
				t.Errorf("the agent got %d, %v", status, err)
			}
			x, _ := b.one()
			if x.Complete || x.Usable || x.Tries != 1 || !strings.Contains(x.Error, c.want) ||
				!reflect.DeepEqual(x.Usage, c.usage) {
				t.Errorf("exchange %+v", x)
			}
			st := b.Stats()
			if st.LastError == nil || st.LastError.Permanent || st.Answers != 0 ||
				st.Usage.Known() != c.usage.Known() {
				t.Errorf("stats %+v", st)
			}
		})
	}
}

// Known reports whether nothing is unknown in the totals; for tests.
func (t Totals) Known() bool { return t.Unknown == 0 }

func TestSilentProvider(t *testing.T) {
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}, func(o *HTTPOptions) { o.HeaderTimeout = 10 * time.Millisecond })
	b := openBox(t, quick(2), up, overTCP(t))
	if status, text, _ := b.ask(`{}`); status != 502 || !strings.Contains(text, "no answer in time") {
		t.Errorf("%d %q", status, text)
	}
	if x, _ := b.one(); x.Tries != 2 || x.Usage.Known() {
		t.Errorf("%+v", x)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var strayed atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer other.Close()
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	b := openBox(t, quick(8), up, overTCP(t))
	if status, _, err := b.ask(`{}`); status != 502 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	if x, _ := b.one(); strayed.Load() != 0 || x.Tries != 1 || b.Stats().LastError.Status != 307 {
		t.Errorf("%d strayed, %+v", strayed.Load(), x)
	}
	if f := b.Stats().LastError; !f.PausesSweep() || !strings.Contains(f.Message, "check the base URL") {
		t.Errorf("%+v", f)
	}
}

func TestErrorMessage(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"a\n b","code":1}}`: "a b",
		`{"error":"text"}`:                       "text",
		`{"error":{"code":7}}`:                   `{"code":7}`,
		`{"message":"m"}`:                        "m",
		`{"error":null}`:                         `{"error":null}`,
		"<html>\n\tBad\x00\x1b[31m Gateway":      "<html> Bad [31m Gateway",
		"a\xffb":                                 "a\uFFFDb",
		strings.Repeat("ü", 300):                 strings.Repeat("ü", 250) + "…",
		"x" + strings.Repeat("ü", 300):           "x" + strings.Repeat("ü", 249) + "…",
		"":                                       "",
	} {
		if got := errorMessage([]byte(body)); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}

// A key across the place where a message is cut must not leave its half.
func TestNoHalfKeyInMessage(t *testing.T) {
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, strings.Repeat("x", maxErrorMessage-10)+testKey)
	})
	b := openBox(t, quick(1), up, overTCP(t))
	if _, _, err := b.ask(`{}`); err != nil {
		t.Fatal(err)
	}
	if x, _ := b.one(); strings.Contains(x.Error, testKey[:8]) || !strings.Contains(x.Error, Masked) {
		t.Errorf("%q", x.Error)
	}
}

// A model that has answered exists: an agent must not be able to pause a sweep
// by asking for something that the provider does not find.
func TestNotFoundAfterAnAnswer(t *testing.T) {
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "gone") {
			http.Error(w, `{"error":{"message":"no such thing"}}`, http.StatusNotFound)
			return
		}
		sendStream(w, streamText)
	})
	for _, tt := range []struct {
		bodies []string
		kind   FailureKind
		pauses bool
	}{
		{[]string{`{"messages":["gone"]}`}, FailureModel, true},
		{[]string{`{"stream":true}`, `{"messages":["gone"]}`}, FailureRequest, false},
	} {
		b := openBox(t, quick(1), up, overTCP(t))
		for _, body := range tt.bodies {
			if _, _, err := b.ask(body); err != nil {
				t.Fatal(err)
			}
		}
		b.end()
		f := b.Stats().LastError
		if f == nil || f.Kind != tt.kind || f.PausesSweep() != tt.pauses || f.Status != http.StatusNotFound {
			t.Errorf("%q: %+v", tt.bodies, f)
		}
	}
}
