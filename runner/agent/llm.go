package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"cabra-run/results/trace"
)

// The forms of a bare model's answers, as Traits.Bare names them.
const (
	BareFiles = "files" // whole files
	BareDiff  = "diff"
)

// llm is a model without tools: nothing runs in a box, the whole code goes into
// the prompt and the answer is read. Who asks it is not decided here.
type llm struct{ name, form, about string }

func bareModels() []Agent {
	return []Agent{
		llm{"llm", BareFiles, "a model without tools: the whole code in one prompt, whole files back, up to 10 tries"},
		llm{"llm:diff", BareDiff, "the same, with a diff as its answer"},
	}
}

// Name implements Agent.
func (l llm) Name() string { return l.name }

// Version implements Agent; it is that of prompt and reading of answers.
func (llm) Version() string { return "1" }

// Recipe implements Agent: there is no image.
func (llm) Recipe() string { return "" }

// Traits implements Agent.
func (l llm) Traits() Traits {
	return Traits{About: l.about, Needs: "a model; no image", Bare: l.form,
		Wires: []string{"chat", "responses", "messages"}, Success: Success{Completed: true}}
}

// Launch implements Agent: there is nothing to start.
func (l llm) Launch(j Job) (Launch, error) {
	switch {
	case j.Instructions:
		return Launch{}, fmt.Errorf("agent %s has no workspace that could hold instructions", l.name)
	case !slices.Contains(l.Traits().Wires, j.Wire):
		return Launch{}, fmt.Errorf("agent %s does not speak the wire format %q", l.name, j.Wire)
	}
	return Launch{}, nil
}

// ReadTrace implements Agent.
func (llm) ReadTrace(home *os.Root, _ string, j Job) (*trace.Trace, error) {
	return trace.Read("llm", home, trace.Hint{SessionID: j.SessionID})
}

// wiresFor are the wire formats in the order in which a model is asked for:
// Anthropic's own models in messages and the Codex models, which OpenAI has in
// responses only, there. A name with a slash is one of a router, which has all
// of them in chat completions.
func (l llm) wiresFor(model string) []string {
	wires := l.Traits().Wires
	first := "chat"
	switch {
	case strings.Contains(model, "/"):
	case strings.HasPrefix(model, "claude"):
		first = "messages"
	case strings.Contains(model, "codex"):
		first = "responses"
	}
	wires = slices.DeleteFunc(wires, func(w string) bool { return w == first })
	return slices.Insert(wires, 0, first)
}
