package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// within answers a request that came through TLS for a host of GitHub's.
func (s *Session) within(w http.ResponseWriter, r *http.Request, host string) {
	// A limit of an answer before must not end this one.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	if !s.enter() {
		http.Error(w, "session has ended", http.StatusServiceUnavailable)
		return
	}
	defer s.handlers.Done()
	wire := wireGuess(r.URL.Path, r.Header)
	no := func(status int, why string) {
		s.refuse(w, r, refusal{wire: wire, status: status, path: host + r.URL.Path, err: errors.New(why)})
	}
	if !s.bounded() {
		s.tell(w, wire, http.StatusForbidden, "this attempt has made too many requests")
		return
	}
	if asked, _, _ := strings.Cut(r.Host, ":"); !strings.EqualFold(asked, host) {
		no(http.StatusMisdirectedRequest, "the request is for another host than the connection")
		return
	}
	c, asks := callOf(belowVersion(r.URL.Path))
	asks = asks && c.wire != WireGemini && isCopilotHost(host) && r.Method == http.MethodPost
	if !asks && !isLookup(host, r) {
		no(http.StatusForbidden, "only the model and the user's settings are served here")
		return
	}
	authorization, ok := s.swap.authorization(r.Header.Get("Authorization"))
	if !ok {
		no(http.StatusUnauthorized, "the request does not bear the token of this attempt")
		return
	}
	if asks {
		c.host, c.authorization = host, authorization
		s.serve(w, r, c)
		return
	}
	s.lookUp(w, r, host, authorization)
}

// lookups are the questions beside the model's that GitHub is asked, by host.
var lookups = []string{
	"/copilot_internal/user", "/copilot_internal/managed_settings", "/copilot_internal/v2/token", "/user",
}

// isLookup reports whether a request asks for what a CLI must know before it
// can ask the model: who the user is, and which models there are.
func isLookup(host string, r *http.Request) bool {
	switch {
	case r.Method != http.MethodGet:
		return false
	case isCopilotHost(host):
		return r.URL.Path == modelsPath
	}
	return slices.Contains(lookups, r.URL.Path)
}

const (
	maxLookup  = 4 << 20
	lookupTime = time.Minute
)

// githubHeaders are the headers of the CLI that GitHub gets: which client asks,
// and for what. Nothing that authorizes is among them.
var githubHeaders = []string{
	"Copilot-Integration-Id", "Copilot-Harness-Id", "Copilot-Vision-Request", "Editor-Version", "Editor-Plugin-Version",
	"Openai-Intent", "X-Github-Api-Version", "X-Initiator", "X-Interaction-Id", "X-Interaction-Type", "X-Agent-Task-Id",
	"X-Client-Session-Id", "X-Client-Machine-Id", "X-Github-Repository-Nwo", "X-Github-Repository-Host",
}

// lookUp asks GitHub, and tells the box the answer without the tokens in it.
func (s *Session) lookUp(w http.ResponseWriter, r *http.Request, host, authorization string) {
	if s.slots.Acquire(r.Context(), 1) != nil {
		return
	}
	defer s.slots.Release(1)
	rec := Record{Started: time.Now(), Method: r.Method, Path: host + r.URL.Path}
	if s.replay != nil {
		s.replayLookup(w, rec)
		return
	}
	header := http.Header{}
	copyHeaders(header, r.Header, passedHeaders, githubHeaders)
	if authorization != "" {
		header.Set("Authorization", authorization)
	}
	resp, body, err := s.o.Login.github.fetch(r.Context(), &url.URL{Host: host, Path: r.URL.Path}, header)
	if ended(r.Context()) {
		return
	}
	if err != nil {
		f := s.transportFailure(err)
		s.note(func(st *Stats) { st.LastError = f })
		rec.Status, rec.Error = f.agentStatus(), f.Message
		s.recordLookup(rec)
		s.tell(w, WireChat, rec.Status, f.Message)
		return
	}
	if resp.StatusCode == http.StatusOK && r.URL.Path == modelsPath {
		body = onlyModel(body, s.o.Model)
	}
	body = s.mask(s.swap.hide(body, s.o.Login.github.Mask()))
	s.noteRefusedLogin(resp, body, r.URL.Path)
	rec.Status, rec.Complete, rec.Response = resp.StatusCode, true, string(body)
	s.recordLookup(rec)
	contentType := resp.Header.Get("Content-Type")
	if contentType == "" {
		contentType = "application/json"
	}
	s.send(w, resp.StatusCode, s.maskString(contentType), body)
}

// replayLookup tells the box what was told in the recording, where tokens are
// dummies already; it gets others, good for this attempt.
func (s *Session) replayLookup(w http.ResponseWriter, rec Record) {
	was, err := s.replay.lookUp(rec.Path)
	if err != nil {
		f := s.transportFailure(err)
		s.note(func(st *Stats) { st.LastError = f })
		rec.Status, rec.Error = f.agentStatus(), f.Message
		s.recordLookup(rec)
		s.tell(w, WireChat, rec.Status, f.Message)
		return
	}
	if was.Error != "" {
		rec.Status, rec.Error = was.Status, was.Error
		s.recordLookup(rec)
		s.tell(w, WireChat, rec.Status, rec.Error)
		return
	}
	body := s.swap.hide([]byte(was.Response), NewMask())
	rec.Status, rec.Complete, rec.Response = was.Status, true, string(body)
	s.recordLookup(rec)
	s.send(w, was.Status, "application/json", body)
}

// noteRefusedLogin notes that GitHub does not know the user: no model will be
// asked then.
func (s *Session) noteRefusedLogin(resp *http.Response, body []byte, path string) {
	refused := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
	if !refused || path == "/copilot_internal/managed_settings" {
		return
	}
	f := &ProviderFailure{Kind: kindOf(resp.StatusCode, body), Status: resp.StatusCode, At: time.Now(),
		Message: errorMessage(body), Permanent: true, body: body}
	s.note(func(st *Stats) { st.LastError = f })
}

func (s *Session) recordLookup(rec Record) {
	rec.Ended = time.Now()
	if s.o.Record != nil {
		s.recorded(len(rec.Response), s.o.Record.Write(rec))
	}
}

func copyHeaders(into, from http.Header, lists ...[]string) {
	for _, name := range slices.Concat(lists...) {
		if v := from.Get(name); v != "" {
			into.Set(name, v)
		}
	}
}

// onlyModel leaves one model in a list: the gateway asks for no other, whatever
// a CLI would choose for its helpers. A list without it stays, so that the CLI
// says what there is. Transports that cannot be recorded are left out.
func onlyModel(body []byte, model string) []byte {
	var list map[string]json.RawMessage
	var models []map[string]json.RawMessage
	if json.Unmarshal(body, &list) != nil || json.Unmarshal(list["data"], &models) != nil {
		return body
	}
	for _, m := range models {
		var id string
		if json.Unmarshal(m["id"], &id) != nil || id != model {
			continue
		}
		var ways []string
		if json.Unmarshal(m["supported_endpoints"], &ways) == nil && ways != nil {
			ways = slices.DeleteFunc(ways, func(way string) bool { return strings.HasPrefix(way, "ws:") })
			m["supported_endpoints"], _ = json.Marshal(ways) // texts
		}
		one, err := json.Marshal([]any{m})
		if err != nil {
			return body
		}
		list["data"] = one
		out, err := json.Marshal(list)
		if err != nil {
			return body
		}
		return out
	}
	return body
}
