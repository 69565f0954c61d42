package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestSlowReader(t *testing.T) {
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		line := ": " + strings.Repeat("x", 1<<16) + "\n"
		for r.Context().Err() == nil {
			sendStream(w, line)
		}
	})
	g := New(Options{Limits: Limits{WriteTime: 20 * time.Millisecond}})
	b := openBox(t, g, up, overTCP(t))
	resp, err := b.post(context.Background(), `{"stream":true}`)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for b.Stats().InFlight > 0 { // ends by itself, though nobody reads
		time.Sleep(time.Millisecond)
	}
	if x, _ := b.one(); !strings.Contains(x.Error, "stopped reading") || x.Complete {
		t.Errorf("%+v", x)
	}
}

func TestAnswerIsBounded(t *testing.T) {
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			sendStream(w, streamText)
		}
	})
	b := openBox(t, New(Options{Limits: Limits{AnswerBytes: 100 << 10}}), up, overTCP(t))
	if _, text, err := b.ask(`{"stream":true}`); err == nil || len(text) > 200<<10 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if x, _ := b.one(); !strings.Contains(x.Error, "longer than") || x.Complete {
		t.Errorf("%+v", x)
	}
}

func TestAddresses(t *testing.T) {
	var calls atomic.Int32
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) { calls.Add(1) })
	b := openBox(t, quick(8), up, overTCP(t))
	host := strings.TrimSuffix(b.url, b.BasePath())
	token := strings.Split(b.BasePath(), "/")[1]
	if len(token) != 32 {
		t.Errorf("token %q", token)
	}
	other := openBox(t, quick(8), up, overTCP(t))
	cases := []struct {
		method, url string
		status      int
	}{
		{"GET", host + "/", 404},
		{"POST", host + "/v1/chat/completions", 404},
		{"POST", host + "/" + token[1:] + token[:1] + "x/v1/chat/completions", 404},
		{"POST", host + "/" + strings.Repeat("0", 32) + "/v1/chat/completions", 404},
		{"POST", host + other.BasePath() + "/chat/completions", 404},
		{"POST", host + "/" + token + "x/v1/chat/completions", 404},
		{"POST", host + "/" + token + "/v1x/chat/completions", 404},
		{"OPTIONS", host + "/*", 404},
		{"GET", b.url + "/models", 200},
		{"GET", b.url + "/chat/completions", 404},
		{"GET", b.url + "/responses", 404},
		{"HEAD", host + b.Root() + "/api/hello", 404},
		{"POST", b.url + "/chat/completions/../../../x", 404},
		{"POST", b.url, 404},
	}
	for _, c := range cases {
		r, err := http.NewRequest(c.method, c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := b.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || strings.Contains(string(text), token) {
			t.Errorf("%s %s: %d %s", c.method, c.url, resp.StatusCode, text)
		}
		if c.status == 200 && string(text) != fmt.Sprintf(
			`{"data":[{"id":"wire-model","object":"model","owned_by":%q}],"object":"list"}`, up.Name()) {
			t.Errorf("models: %s", text)
		}
	}
	b.end()
	recs, err := read(t, b.file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range recs {
		if r.Seq != 0 || r.Status != 404 {
			t.Errorf("%+v", r)
		}
		paths = append(paths, r.Method+" "+r.Path)
	}
	want := []string{
		"POST /v1x/chat/completions", "GET /v1/chat/completions", "GET /v1/responses",
		"POST /v1/chat/completions/../../../x", "POST /v1",
	}
	if !reflect.DeepEqual(paths, want) {
		t.Errorf("recorded %q", paths)
	}
	if st := b.Stats(); st.Strays != 7 || st.Refused != 5 || st.Requests != 0 || calls.Load() != 0 {
		t.Errorf("%+v, %d calls", st, calls.Load())
	}
}

func TestBodiesAreBounded(t *testing.T) {
	var calls atomic.Int32
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		sendStream(w, streamText)
	})
	g := New(Options{Limits: Limits{BodyBytes: 1000, BufferBytes: 1000}})
	b := openBox(t, g, up, overTCP(t))
	fits := `{"a":"` + strings.Repeat("x", 992) + `"}`
	for _, c := range []struct {
		name   string
		body   io.Reader
		status int
	}{
		{"fits", strings.NewReader(fits), 200},
		{"fits, length unknown", io.MultiReader(strings.NewReader(fits)), 200},
		{"too large", strings.NewReader(fits + " "), 413},
		{"too large, length unknown", io.MultiReader(strings.NewReader(fits + " ")), 413},
		{"no JSON", strings.NewReader("hello"), 400},
		{"empty", strings.NewReader(""), 400},
		{"fits still", strings.NewReader(fits), 200},
	} {
		resp, err := b.client.Post(b.url+"/chat/completions", "application/json", c.body)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", c.name, resp.StatusCode, c.status)
		}
	}
	b.end()
	if st := b.Stats(); st.Requests != 3 || st.Refused != 4 || calls.Load() != 3 {
		t.Errorf("%+v, %d calls", st, calls.Load())
	}
}

func TestRequestsAreBounded(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan struct{}, 5)
	var most, now, calls atomic.Int32
	up := fakeProvider(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		for n := now.Add(1); ; {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		arrived <- struct{}{}
		<-release
		now.Add(-1)
		sendStream(w, streamText)
	})
	g := New(Options{Limits: Limits{Concurrent: 2, Requests: 5}})
	b := openBox(t, g, up, overTCP(t))
	statuses := make(chan int, 7)
	for range 7 {
		go func() {
			status, _, _ := b.ask(`{"stream":true}`)
			statuses <- status
		}()
	}
	count := map[int]int{<-statuses: 1}
	count[<-statuses]++ // the two that are refused come first: the others wait
	<-arrived
	<-arrived
	close(release)
	for range 5 {
		count[<-statuses]++
	}
	if !reflect.DeepEqual(count, map[int]int{200: 5, 403: 2}) || most.Load() != 2 ||
		calls.Load() != 5 || !b.Stats().OverLimit {
		t.Errorf("statuses %v, at one time %d, calls %d, %+v", count, most.Load(), calls.Load(), b.Stats())
	}
}
