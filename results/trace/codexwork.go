package trace

import (
	"encoding/json"
	"strings"
	"time"
)

// codexWork is an item_completed: what was really done, with the exit codes.
type codexWork struct {
	Type     string          `json:"type"`
	ID       string          `json:"id"`
	Command  []string        `json:"command"`
	Status   string          `json:"status"`
	Exit     *float64        `json:"exit_code"`
	Output   string          `json:"aggregated_output"`
	Changes  json.RawMessage `json:"changes"`
	Stdout   string          `json:"stdout"`
	Duration *struct {
		Secs  float64 `json:"secs"`
		Nanos float64 `json:"nanos"`
	} `json:"duration"`
}

// tool is the tool that does such work; "" for items that are no work.
func (w codexWork) tool() string {
	switch w.Type {
	case "CommandExecution":
		return "exec_command"
	case "FileChange":
		return "apply_patch"
	}
	return ""
}

func (w codexWork) arguments() string {
	if w.Type == "FileChange" {
		return string(w.Changes)
	}
	b, err := json.Marshal(map[string][]string{"command": w.Command})
	if err != nil {
		return ""
	}
	return string(b)
}

// completed takes an item: that of a call of the model has the call's id; in
// code mode a script makes any number, which become calls below the script's.
func (p *codexReader) completed(raw json.RawMessage, start, end time.Time) error {
	var w codexWork
	if err := json.Unmarshal(raw, &w); err != nil {
		return err
	}
	if w.tool() == "" {
		return nil
	}
	c := p.call("", w.ID)
	if c == nil {
		err := p.begin(Call{ID: w.ID, Parent: p.script, Tool: w.tool(), Arguments: w.arguments(), Started: start})
		if err != nil {
			return err
		}
		c = p.call("", w.ID)
		c.Result = p.keep(w.Output + w.Stdout)
	}
	c.end(end, w.Status == "completed")
	if w.Duration != nil {
		c.Duration = duration(w.Duration.Secs, w.Duration.Nanos)
	}
	if w.Exit != nil && *w.Exit >= -1<<31 && *w.Exit < 1<<31 {
		code := int(*w.Exit)
		c.ExitCode = &code
	}
	return nil
}

// duration is that of whole seconds and nanoseconds, 0 when it is none.
func duration(secs, nanos float64) time.Duration {
	if !(secs >= 0 && secs < 1e9 && nanos >= 0 && nanos < 1e9) {
		return 0
	}
	return time.Duration(secs)*time.Second + time.Duration(nanos)
}

type codexUsage struct {
	Input      *float64 `json:"input_tokens"`
	Cached     *float64 `json:"cached_input_tokens"`
	CacheWrite *float64 `json:"cache_write_input_tokens"`
	Output     *float64 `json:"output_tokens"`
	Reasoning  *float64 `json:"reasoning_output_tokens"`
}

// usage converts: the input includes the cached one, the output the reasoning.
func (u codexUsage) usage() Usage {
	return Usage{Input: count(u.Input), Cached: count(u.Cached), CacheWrite: count(u.CacheWrite),
		Output: count(u.Output), Reasoning: count(u.Reasoning)}
}

func (p *codexReader) record(n int, at time.Time, raw json.RawMessage) error {
	var d struct {
		Usage *codexUsage `json:"usage"`
		Total *codexUsage `json:"thread_token_usage"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return err
	}
	p.answering = false
	if d.Usage == nil {
		p.formatProblem(n, "token_usage_record without usage")
		return nil
	}
	p.addUsage(CallUsage{Model: strings.Clone(p.Model), Usage: d.Usage.usage(), At: at})
	if d.Total != nil {
		p.Tokens = &Tokens{}
		p.Tokens.add(d.Total.usage())
	}
	return nil
}
