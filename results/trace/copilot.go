package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"
)

// ReadCopilot reads an events.jsonl of the Copilot CLI (1.0.7x to 1.0.81).
func ReadCopilot(r io.Reader) *Trace {
	p := &copilotReader{
		trace: &Trace{Agent: "copilot"},
		open:  map[callKey]int{},
	}
	p.trace.eachLine(r, p.line)
	return p.trace
}

// callKey joins the start and the end of a call; providers reuse call ids
// between sub-agents.
type callKey struct{ agent, id string }

type copilotReader struct {
	trace *Trace
	open  map[callKey]int // index into trace.Calls
}

type copilotEvent struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	AgentID   string          `json:"agentId"`
	Data      json.RawMessage `json:"data"`
}

func (p *copilotReader) line(n int, line []byte) {
	var ev copilotEvent
	if err := json.Unmarshal(line, &ev); err != nil {
		p.trace.problem(n, "not an event: "+clip(err.Error(), 200))
		return
	}
	if !ev.Timestamp.IsZero() {
		if p.trace.Started.IsZero() {
			p.trace.Started = ev.Timestamp
		}
		p.trace.Ended = ev.Timestamp
	}
	handle, ok := copilotHandlers[ev.Type]
	if !ok {
		return // more than a hundred types exist; most say nothing about the work
	}
	if err := handle(p, ev); err != nil {
		p.trace.problem(n, fmt.Sprintf("%s: %s", clip(ev.Type, 60), clip(err.Error(), 200)))
	}
}

var copilotHandlers = map[string]func(*copilotReader, copilotEvent) error{
	"session.start":           (*copilotReader).start,
	"assistant.message":       (*copilotReader).message,
	"tool.execution_start":    (*copilotReader).callStart,
	"tool.execution_complete": (*copilotReader).callEnd,
	"session.error":           (*copilotReader).sessionError,
	"abort":                   (*copilotReader).abort,
	"session.shutdown":        (*copilotReader).shutdown,
}

func (p *copilotReader) start(ev copilotEvent) error {
	var d struct {
		SessionID      string `json:"sessionId"`
		CopilotVersion string `json:"copilotVersion"`
		SelectedModel  string `json:"selectedModel"`
	}
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return err
	}
	p.trace.SessionID = clip(d.SessionID, 100)
	p.trace.Version = clip(d.CopilotVersion, 100)
	p.trace.Model = clip(d.SelectedModel, 200)
	return nil
}

func (p *copilotReader) message(ev copilotEvent) error {
	var d struct {
		Content       string `json:"content"`
		ReasoningText string `json:"reasoningText"`
	}
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return err
	}
	p.trace.Turns++
	p.trace.Error = nil // the model answered after all
	if len(p.trace.Texts) < maxTextParts {
		p.trace.Texts = append(p.trace.Texts, TextPart{
			At: ev.Timestamp, Reasoning: clip(d.ReasoningText, MaxResult), Text: clip(d.Content, MaxResult),
		})
	}
	return nil
}

func (p *copilotReader) callStart(ev copilotEvent) error {
	var d struct {
		ToolCallID string          `json:"toolCallId"`
		ToolName   string          `json:"toolName"`
		Arguments  json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return err
	}
	if len(p.trace.Calls) >= MaxCalls {
		return fmt.Errorf("more than %d calls, not kept", MaxCalls)
	}
	p.open[callKey{ev.AgentID, d.ToolCallID}] = len(p.trace.Calls)
	p.trace.Calls = append(p.trace.Calls, Call{
		ID: clip(d.ToolCallID, 200), AgentID: clip(ev.AgentID, 200), Tool: clip(d.ToolName, 200),
		Arguments: argumentText(d.Arguments), Started: ev.Timestamp,
	})
	return nil
}

// argumentText returns the text of a free-text call, else the JSON as it stands.
func argumentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return clip(s, MaxResult)
	}
	return clip(string(raw), MaxResult)
}

func (p *copilotReader) callEnd(ev copilotEvent) error {
	var d struct {
		ToolCallID string `json:"toolCallId"`
		Success    bool   `json:"success"`
		Result     struct {
			Content string `json:"content"`
		} `json:"result"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
		Telemetry struct {
			Metrics struct {
				ExitCode *float64 `json:"exit_code"`
			} `json:"metrics"`
		} `json:"toolTelemetry"`
	}
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return err
	}
	key := callKey{ev.AgentID, d.ToolCallID}
	i, ok := p.open[key]
	if !ok {
		return fmt.Errorf("end of a call that did not start")
	}
	delete(p.open, key)
	c := &p.trace.Calls[i]
	c.Done, c.Success = true, d.Success
	// The event session.task_complete carries no agent id, also when a
	// sub-agent completed its own task; the call does.
	if c.Tool == "task_complete" && c.AgentID == "" && d.Success {
		p.trace.Completed = true
	}
	c.Duration = ev.Timestamp.Sub(c.Started)
	c.Result = clip(d.Result.Content+d.Error.Message, MaxResult)
	c.ExitCode = shellExitCode(d.Result.Content)
	if m := d.Telemetry.Metrics.ExitCode; m != nil && c.ExitCode == nil {
		code := int(*m)
		c.ExitCode = &code
	}
	return nil
}

var shellExit = regexp.MustCompile(`<shellId: [^>\n]{1,40} completed with exit code (-?\d{1,9})>\s*$`)

// shellExitCode reads the exit code from a shell call's last line: the event's
// own success is true for a command that failed.
func shellExitCode(content string) *int {
	m := shellExit.FindStringSubmatch(content)
	if m == nil {
		return nil
	}
	code, err := strconv.Atoi(m[1])
	if err != nil {
		return nil
	}
	return &code
}

func (p *copilotReader) sessionError(ev copilotEvent) error {
	var d struct {
		ErrorType  string  `json:"errorType"`
		Message    string  `json:"message"`
		StatusCode float64 `json:"statusCode"`
	}
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return err
	}
	p.trace.Error = &Error{Type: clip(d.ErrorType, 100), Message: clip(d.Message, 2000), Status: int(d.StatusCode)}
	return nil
}

func (p *copilotReader) abort(ev copilotEvent) error {
	var d struct {
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return err
	}
	p.trace.Aborted = clip(d.Reason, 200)
	return nil
}

func (p *copilotReader) shutdown(ev copilotEvent) error {
	var d struct {
		ShutdownType string `json:"shutdownType"`
		ModelMetrics map[string]struct {
			Usage struct {
				Input     float64 `json:"inputTokens"`
				Output    float64 `json:"outputTokens"`
				Cached    float64 `json:"cacheReadTokens"`
				Reasoning float64 `json:"reasoningTokens"`
			} `json:"usage"`
		} `json:"modelMetrics"`
	}
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return err
	}
	p.trace.Shutdown = clip(d.ShutdownType, 100)
	var sum Tokens
	for _, m := range d.ModelMetrics {
		sum.Input += int64(m.Usage.Input)
		sum.Output += int64(m.Usage.Output)
		sum.Cached += int64(m.Usage.Cached)
		sum.Reasoning += int64(m.Usage.Reasoning)
	}
	p.trace.Tokens = &sum
	return nil
}
