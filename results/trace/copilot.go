package trace

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"time"
)

// copilotFormat is that of the Copilot CLI: events.jsonl of a session, and for
// the usage per call the table assistant_usage_events of its SQLite store.
var copilotFormat = format{
	name: "copilot", versions: "1.0.7x to 1.0.81", series: []string{"1.0."}, named: true,
	matches: func(p string) bool {
		return path.Base(p) == "events.jsonl" && path.Base(path.Dir(path.Dir(p))) == "session-state"
	},
	head:   copilotHead,
	read:   readCopilot,
	settle: func(b *builder) { b.settle(b.Shutdown == "") },
}

func readCopilot(b *builder, src source) {
	b.eachLineOf(src.home, src.path, (&copilotReader{builder: b}).line)
	// session-state/ID/events.jsonl and session-store.db lie below one folder.
	b.copilotUsage(src.home, path.Join(path.Dir(path.Dir(path.Dir(src.path))), "session-store.db"))
}

func copilotHead(line []byte) fileHead {
	var ev struct {
		Type string `json:"type"`
		Data struct {
			SessionID string    `json:"sessionId"`
			StartTime time.Time `json:"startTime"`
		} `json:"data"`
	}
	if json.Unmarshal(line, &ev) != nil || ev.Type != "session.start" {
		return fileHead{}
	}
	return fileHead{known: true, id: ev.Data.SessionID, start: ev.Data.StartTime}
}

type copilotReader struct{ *builder }

type copilotEvent struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	AgentID   string          `json:"agentId"`
	Data      json.RawMessage `json:"data"`
}

func (p *copilotReader) line(n int, line []byte) {
	var ev copilotEvent
	if err := json.Unmarshal(line, &ev); err != nil {
		p.problem(n, "not an event: "+clip(err.Error(), 200))
		return
	}
	p.at(ev.Timestamp)
	handle, ok := copilotHandlers[ev.Type]
	if !ok {
		return // more than a hundred types exist; most say nothing about the work
	}
	p.known++
	if err := handle(p, ev); err != nil {
		p.problem(n, fmt.Sprintf("%s: %s", clip(ev.Type, 60), clip(err.Error(), 200)))
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
	p.SessionID = clip(d.SessionID, 100)
	p.Version = clip(d.CopilotVersion, 100)
	p.Model = clip(d.SelectedModel, 200)
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
	p.Turns++
	p.Error = nil // the model answered after all
	p.say(ev.Timestamp, d.ReasoningText, d.Content)
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
	if d.ToolName == "" {
		p.formatProblem(0, "tool.execution_start without toolName")
	}
	return p.begin(Call{ID: d.ToolCallID, AgentID: ev.AgentID, Tool: d.ToolName,
		Arguments: argumentText(d.Arguments), Started: ev.Timestamp})
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
	c := p.call(ev.AgentID, d.ToolCallID)
	if c == nil || c.Done {
		return fmt.Errorf("end of a call that did not start")
	}
	c.end(ev.Timestamp, d.Success)
	// The event session.task_complete carries no agent id, also when a
	// sub-agent completed its own task; the call does.
	if c.Tool == "task_complete" && c.AgentID == "" && d.Success {
		p.Completed = true
	}
	c.Result = p.keep(d.Result.Content + d.Error.Message)
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
	p.Error = &Error{Type: clip(d.ErrorType, 100), Message: clip(d.Message, 2000), Status: int(d.StatusCode)}
	return nil
}

func (p *copilotReader) abort(ev copilotEvent) error {
	var d struct {
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return err
	}
	p.Aborted = clip(d.Reason, 200)
	return nil
}

func (p *copilotReader) shutdown(ev copilotEvent) error {
	var d struct {
		ShutdownType string `json:"shutdownType"`
		ModelMetrics map[string]struct {
			Usage struct {
				Input      *float64 `json:"inputTokens"`
				Output     *float64 `json:"outputTokens"`
				Cached     *float64 `json:"cacheReadTokens"`
				CacheWrite *float64 `json:"cacheWriteTokens"`
				Reasoning  *float64 `json:"reasoningTokens"`
			} `json:"usage"`
		} `json:"modelMetrics"`
	}
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return err
	}
	p.Shutdown = clip(d.ShutdownType, 100)
	var sum Tokens
	for _, m := range d.ModelMetrics {
		sum.add(Usage{Input: count(m.Usage.Input), Cached: count(m.Usage.Cached),
			CacheWrite: count(m.Usage.CacheWrite), Output: count(m.Usage.Output), Reasoning: count(m.Usage.Reasoning)})
	}
	p.Tokens = &sum
	return nil
}
