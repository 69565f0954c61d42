package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// miniFormat is that of mini-SWE-agent: one JSON document, written anew after
// every step.
var miniFormat = format{
	name: "mini", versions: "2.4.6 (mini-swe-agent-1.1)", series: []string{"2."},
	matches: func(p string) bool { return strings.HasSuffix(p, ".traj.json") },
	read:    readMini,
	settle: func(b *builder) {
		b.settle(b.Shutdown == "")
	},
}

type miniInfo struct {
	Version    string `json:"mini_version"`
	ExitStatus string `json:"exit_status"`
	Config     struct {
		Model struct {
			Name string `json:"model_name"`
		} `json:"model"`
	} `json:"config"`
}

type miniMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Reasoning  string          `json:"reasoning_content"`
	ToolCallID string          `json:"tool_call_id"`
	Object     string          `json:"object"`
	Extra      struct {
		Actions   []miniAction    `json:"actions"`
		Response  json.RawMessage `json:"response"`
		Timestamp float64         `json:"timestamp"`
		Interrupt string          `json:"interrupt_type"`

		RawOutput  *string  `json:"raw_output"`
		ReturnCode *float64 `json:"returncode"`
		Exception  string   `json:"exception_info"`

		ExitStatus   string `json:"exit_status"`
		ExceptionStr string `json:"exception_str"`
	} `json:"extra"`
}

type miniAction struct {
	Command    string `json:"command"`
	ToolCallID string `json:"tool_call_id"`
}

type miniReader struct {
	*builder
	info  miniInfo
	open  []string // ids of the calls whose observations are awaited
	exit  *miniMessage
	count int
}

func readMini(b *builder, src source) {
	r, err := openRegular(src.home, src.path)
	if err != nil {
		b.problem(0, fmt.Sprintf("trajectory %q not read: %s", clip(src.path, 200), clip(err.Error(), 200)))
		return
	}
	defer r.Close()
	b.readMini(r)
}

func (b *builder) readMini(r io.Reader) {
	p := &miniReader{builder: b}
	limited := &io.LimitedReader{R: r, N: MaxFileBytes + 1}
	if err := p.document(json.NewDecoder(limited)); err != nil {
		reason := clip(err.Error(), 200)
		if limited.N <= 0 {
			reason = "file too large"
		}
		b.problem(0, "the trajectory is not read to its end: "+reason)
	}
	b.Lines = p.count
	p.conclude()
}

// document reads as far as it goes: a killed agent may leave half of it.
func (p *miniReader) document(dec *json.Decoder) error {
	if err := expect(dec, json.Delim('{')); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		switch key {
		case "info":
			err = dec.Decode(&p.info)
			p.known++
		case "messages":
			err = p.messages(dec)
		case "trajectory_format":
			err = p.trajectoryFormat(dec)
		default:
			err = dec.Decode(new(json.RawMessage))
		}
		if err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
	}
	return expect(dec, json.Delim('}'))
}

func expect(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("found %v where %v belongs", t, want)
	}
	return nil
}

func (p *miniReader) trajectoryFormat(dec *json.Decoder) error {
	var name string
	if err := dec.Decode(&name); err != nil {
		return err
	}
	if !strings.HasPrefix(name, "mini-swe-agent-1") {
		p.formatProblem(0, fmt.Sprintf("the trajectory has the format %q", clip(name, 50)))
	}
	return nil
}

func (p *miniReader) messages(dec *json.Decoder) error {
	if err := expect(dec, json.Delim('[')); err != nil {
		return err
	}
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		p.count++
		var m miniMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			p.problem(p.count, "message not understood: "+clip(err.Error(), 200))
			continue
		}
		p.known++
		if err := p.message(m); err != nil {
			p.problem(p.count, clip(err.Error(), 200))
		}
	}
	return expect(dec, json.Delim(']'))
}

// seconds is a time out of seconds since 1970, zero when it is none.
func seconds(v float64) time.Time { return millis(math.Round(v * 1000)) }

func (p *miniReader) message(m miniMessage) error {
	at := seconds(m.Extra.Timestamp)
	p.at(at)
	switch {
	case m.Role == "exit":
		p.exit = &m
	case m.Role == "assistant" || m.Object == "response":
		p.answered(m.Extra.Response, at)
		p.say(at, m.Reasoning, contentText(m.Content))
		return p.actions(m.Extra.Actions, at)
	case m.Extra.Interrupt == "FormatError":
		return p.refused(m)
	case m.Extra.ReturnCode != nil:
		return p.observed(m, at)
	case m.Role == "":
		p.formatProblem(p.count, "a message without role")
	}
	return nil
}

type miniResponse struct {
	Model   string  `json:"model"`
	Created float64 `json:"created"`
	Choices []struct {
		Message struct {
			Content   json.RawMessage `json:"content"`
			ToolCalls []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string          `json:"name"`
					Arguments json.RawMessage `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"message"`
	} `json:"choices"`
	Usage *struct {
		Prompt        *float64 `json:"prompt_tokens"`
		Completion    *float64 `json:"completion_tokens"`
		PromptDetails *struct {
			Cached *float64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails *struct {
			Reasoning *float64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
		CacheWrite *float64 `json:"cache_creation_input_tokens"`
	} `json:"usage"`
}

// answered counts an answer of the model and its usage. The input includes
// the cached one, the output the reasoning.
func (p *miniReader) answered(raw json.RawMessage, at time.Time) miniResponse {
	p.Turns++
	var r miniResponse
	if json.Unmarshal(raw, &r) != nil || r.Usage == nil {
		return r // kept as a text when it could not be written as JSON
	}
	u := Usage{Input: count(r.Usage.Prompt), CacheWrite: count(r.Usage.CacheWrite), Output: count(r.Usage.Completion)}
	if d := r.Usage.PromptDetails; d != nil {
		u.Cached = count(d.Cached)
	}
	if d := r.Usage.CompletionDetails; d != nil {
		u.Reasoning = count(d.Reasoning)
	}
	p.Model = clip(orElse(r.Model, p.Model), 200)
	p.addUsage(CallUsage{Model: r.Model, Usage: u, At: at})
	return r
}

func (p *miniReader) actions(actions []miniAction, at time.Time) error {
	p.open = nil
	for i, a := range actions {
		id := orElse(a.ToolCallID, fmt.Sprintf("%d.%d", p.Turns, i))
		args, err := json.Marshal(map[string]string{"command": a.Command})
		if err != nil {
			return err
		}
		if err := p.begin(Call{ID: id, Tool: "bash", Arguments: string(args), Started: at}); err != nil {
			return err
		}
		p.open = append(p.open, id)
	}
	return nil
}

// refused takes an answer that mini-SWE-agent could not use: it is kept only
// inside of the message that says so.
func (p *miniReader) refused(m miniMessage) error {
	r := p.answered(m.Extra.Response, time.Time{})
	if len(r.Choices) == 0 {
		return nil
	}
	at := seconds(r.Created)
	p.say(at, "", contentText(r.Choices[0].Message.Content))
	for _, c := range r.Choices[0].Message.ToolCalls {
		err := p.begin(Call{ID: c.ID, Tool: c.Function.Name, Arguments: argumentText(c.Function.Arguments),
			Started: at, Done: true, Result: contentText(m.Content)})
		if err != nil {
			return err
		}
	}
	return nil
}

// notExecuted is said of the commands behind the one that ended the session,
// and of that one itself.
const notExecuted = "action was not executed"

// observed takes the output of the next call, or of the one that it names. All
// outputs of an answer are written when its last command has ended.
func (p *miniReader) observed(m miniMessage, at time.Time) error {
	id := m.ToolCallID
	if id == "" && len(p.open) > 0 {
		id = p.open[0]
	}
	c := p.call("", id)
	if c == nil || c.Done {
		return fmt.Errorf("output of a call that did not start")
	}
	if len(p.open) > 0 {
		p.open = p.open[1:]
	}
	c.end(at, m.Extra.Exception == "")
	c.Result = contentText(m.Content)
	if m.Extra.RawOutput != nil {
		c.Result = joinLines(*m.Extra.RawOutput, m.Extra.Exception)
	}
	c.Result = p.keep(c.Result)
	if code := *m.Extra.ReturnCode; m.Extra.Exception == "" && code >= -1<<31 && code < 1<<31 {
		n := int(code)
		c.ExitCode = &n
	}
	return nil
}

// miniStatus are the statuses behind the names of exceptions.
var miniStatus = map[string]int{
	"BadRequestError": 400, "AuthenticationError": 401, "PermissionDeniedError": 403, "NotFoundError": 404,
	"Timeout": 408, "RateLimitError": 429, "InternalServerError": 500, "ServiceUnavailableError": 503,
}

func (p *miniReader) conclude() {
	p.Version = clip(p.info.Version, 100)
	p.Model = clip(orElse(p.Model, p.info.Config.Model.Name), 200)
	if p.Version == "" && p.known > 0 {
		p.formatProblem(0, "a trajectory without mini_version")
	}
	status := p.info.ExitStatus
	if status == "" && p.exit != nil {
		status = p.exit.Extra.ExitStatus
	}
	p.Shutdown = clip(status, 100)
	switch status {
	case "", "LimitsExceeded", "TimeExceeded":
	case "Submitted":
		p.Completed = true
		p.submitted()
	case "UserInterruption", "KeyboardInterrupt":
		p.Aborted = status
	default:
		p.Error = &Error{Type: p.Shutdown, Message: p.Shutdown, Status: miniStatus[status]}
		if p.exit != nil {
			p.Error.Message = clip(orElse(p.exit.Extra.ExceptionStr, contentText(p.exit.Content)), 2000)
		}
	}
}

// submitted mends the call that ended the session: it was executed, and well,
// or the session would not have ended with it.
func (p *miniReader) submitted() {
	for i := range p.Calls {
		if c := &p.Calls[i]; c.Done && !c.Success && strings.HasSuffix(c.Result, notExecuted) {
			c.Success, c.ExitCode, c.Result = true, new(int), ""
			return
		}
	}
}
