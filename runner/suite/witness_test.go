package suite

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"cabra-run/sandbox/gateway"
)

// witness is the scripted upstream with somebody who listens: what it was asked
// and what it told is noted here, apart from what the gateway makes of it.
type witness struct {
	*gateway.Scripted

	mu    sync.Mutex
	asked [][]byte
	told  []*told
}

// told is one answer.
type told struct {
	status int
	body   bytes.Buffer
	whole  bool // it was read to its end
	aside  bool // asked beside the work: Gemini CLI asks whether it is in a loop
}

// For implements what the gateway asks of a scripted upstream.
func (w *witness) For(s gateway.Script) gateway.Upstream {
	return &overheard{w.Scripted.For(s), w}
}

type overheard struct {
	gateway.Upstream
	w *witness
}

func (o *overheard) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := &told{aside: bytes.Contains(body, []byte(`"responseMimeType":"application/json"`))}
	// Counting tokens beside the work is no model request.
	if counts := strings.HasSuffix(r.URL.Path, "count_tokens") || strings.HasSuffix(r.URL.Path, ":countTokens"); !counts {
		o.w.mu.Lock()
		o.w.asked, o.w.told = append(o.w.asked, body), append(o.w.told, answer)
		o.w.mu.Unlock()
	}
	resp, err := o.Upstream.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.status = resp.StatusCode
	resp.Body = &listener{resp.Body, answer, &o.w.mu}
	return resp, nil
}

// listener notes what is read.
type listener struct {
	io.ReadCloser
	answer *told
	mu     *sync.Mutex
}

func (l *listener) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer.body.Write(p[:n])
	if err == io.EOF {
		l.answer.whole = true
	}
	return n, err
}

// heard reports whether a text was among what the model was asked.
func (w *witness) heard(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.asked, func(body []byte) bool {
		var doc any
		return json.Unmarshal(body, &doc) == nil && holds(doc, text)
	})
}

// holds looks for a text in the texts of a JSON value.
func holds(value any, text string) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return holds(e, text) })
	case map[string]any:
		for _, e := range v {
			if holds(e, text) {
				return true
			}
		}
	}
	return false
}

// sums are what the upstream told in answers that came to their end.
type sums struct {
	answers, aside, calls                        int
	input, cached, cacheWrite, output, reasoning int64
}

func (w *witness) sums() sums {
	w.mu.Lock()
	defer w.mu.Unlock()
	var s sums
	for _, t := range w.told {
		if t.status == http.StatusOK && t.whole {
			s.answers++
			if t.aside {
				s.aside++
			}
			s.add(t.body.Bytes())
		}
	}
	return s
}

// documents are the JSON documents of an answer: one, or those of its events.
func documents(body []byte) []map[string]any {
	var list []map[string]any
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		text, _ := strings.CutPrefix(strings.TrimSpace(lines.Text()), "data:")
		var doc map[string]any
		if json.Unmarshal([]byte(text), &doc) == nil {
			list = append(list, doc)
		}
	}
	return list
}

// add reads an answer of whichever wire, each by the words of its vendor.
func (s *sums) add(body []byte) {
	last := map[string]any{} // Gemini repeats its usage; the last one counts
	for _, doc := range documents(body) {
		s.addChat(doc)
		s.addResponses(doc)
		s.addMessages(doc)
		if u, ok := doc["usageMetadata"].(map[string]any); ok {
			last = u
		}
		s.calls += strings.Count(asText(doc["candidates"]), `"functionCall":`)
	}
	s.input += figure(last, "promptTokenCount")
	s.cached += figure(last, "cachedContentTokenCount")
	s.output += figure(last, "candidatesTokenCount") + figure(last, "thoughtsTokenCount")
	s.reasoning += figure(last, "thoughtsTokenCount")
}

func (s *sums) addChat(doc map[string]any) {
	object, _ := doc["object"].(string)
	if !strings.HasPrefix(object, "chat.completion") {
		return
	}
	s.calls += strings.Count(asText(doc["choices"]), `"id":`) // only the first piece of a call names it
	u := doc["usage"]
	s.input += figure(u, "prompt_tokens")
	s.cached += figure(u, "prompt_tokens_details", "cached_tokens")
	s.output += figure(u, "completion_tokens")
	s.reasoning += figure(u, "completion_tokens_details", "reasoning_tokens")
}

func (s *sums) addResponses(doc map[string]any) {
	answer := doc
	switch doc["type"] {
	case "response.completed":
		answer, _ = doc["response"].(map[string]any)
	default:
		if doc["object"] != "response" {
			return
		}
	}
	output := asText(answer["output"])
	s.calls += strings.Count(output, `"type":"function_call"`) + strings.Count(output, `"type":"custom_tool_call"`)
	u := answer["usage"]
	s.input += figure(u, "input_tokens")
	s.cached += figure(u, "input_tokens_details", "cached_tokens")
	s.output += figure(u, "output_tokens")
	s.reasoning += figure(u, "output_tokens_details", "reasoning_tokens")
}

func (s *sums) addMessages(doc map[string]any) {
	s.calls += strings.Count(asText(doc["content_block"]), `"type":"tool_use"`)
	switch doc["type"] {
	case "message": // not streamed
		s.calls += strings.Count(asText(doc["content"]), `"type":"tool_use"`)
		s.addAnthropic(doc["usage"])
		s.output += figure(doc["usage"], "output_tokens")
	case "message_start":
		s.addAnthropic(doc["message"].(map[string]any)["usage"])
	case "message_delta":
		s.output += figure(doc["usage"], "output_tokens")
	}
}

// addAnthropic adds the three parts of the input.
func (s *sums) addAnthropic(u any) {
	s.input += figure(u, "input_tokens") + figure(u, "cache_read_input_tokens") + figure(u, "cache_creation_input_tokens")
	s.cached += figure(u, "cache_read_input_tokens")
	s.cacheWrite += figure(u, "cache_creation_input_tokens")
}

func asText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// figure is the number at a path of names, 0 where there is none.
func figure(v any, path ...string) int64 {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	n, _ := v.(float64)
	return int64(n)
}
