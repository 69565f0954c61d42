package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"cabra-run/tasks"
)

// Job is a problem for a model.
type Job struct {
	Agent, Version string // what the conversation says of its agent
	SessionID      string
	Form           Form
	Wire, Model    string
	Effort         string // what the user wants, "" for the family's default
	Code           tasks.Files
	Problem        string
	Tries          int           // answers that are asked for at most, 0 for DefaultTries
	AskTime        time.Duration // the longest that one answer may take; 0 leaves it to the context
}

// DefaultTries is how often a model is asked until an answer can be read.
const DefaultTries = 10

// Result is what came of a job.
type Result struct {
	Files  tasks.Files // all files of the codebase; nil without a readable answer
	Text   string      // of the last answer
	Reason string      // why there are no files
}

// Solve asks until an answer can be read, always the same question. An answer
// that breaks off is a try as well; a request that is refused ends it, for what
// trying again can mend the gateway has tried. Everything that is said goes to
// log, a line of JSON each. The error is one of writing there, or the context's.
func Solve(ctx context.Context, ask Asker, j Job, log io.Writer) (Result, error) {
	if j.Tries == 0 {
		j.Tries = DefaultTries
	}
	w := &writer{to: log}
	q := Question{Model: j.Model, Prompt: Prompt(j.Form, j.Code, j.Problem), Effort: Effort(j.Wire, j.Model, j.Effort)}
	w.write(line{Type: lineSession, Format: conversationFormat, SessionID: j.SessionID, Agent: j.Agent, AgentVersion: j.Version,
		Wire: j.Wire, Model: j.Model, Effort: q.Effort, Form: string(j.Form)})
	c := &conversation{writer: w, ask: ask, job: j, question: q}
	end, tried := "", 0
	for end == "" && tried < j.Tries && w.err == nil {
		tried++
		end = c.try(ctx, tried)
	}
	if end == "" {
		end = endUnparseable
		if c.broken {
			end = endFailed
		}
		c.Reason = fmt.Sprintf("no readable answer in %d tries; the last one: %s", tried, c.Reason)
	}
	w.write(line{Type: lineEnd, End: end, Tries: tried, Error: c.Reason})
	if end == endStopped {
		return c.Result, ctx.Err()
	}
	return c.Result, w.err
}

// conversation is a job at work.
type conversation struct {
	*writer
	Result
	ask      Asker
	job      Job
	question Question
	broken   bool // the last try had no whole answer
}

// try asks once and returns how the conversation ended, "" when it goes on.
func (c *conversation) try(ctx context.Context, number int) string {
	request := line{Type: lineRequest, Try: number}
	if number == 1 {
		request.Prompt = c.question.Prompt
	}
	c.write(request)
	asking, cancel := ctx, context.CancelFunc(func() {})
	if c.job.AskTime > 0 {
		asking, cancel = context.WithTimeout(ctx, c.job.AskTime)
	}
	a, err := c.ask.Ask(asking, c.question)
	cancel()
	if c.broken = err != nil; c.broken {
		return c.failed(ctx, number, a, err)
	}
	c.Text = a.Text
	files, err := c.read(a)
	said := line{Type: lineAnswer, Try: number, Text: a.Text, Reasoning: a.Reasoning, Model: a.Model, Finish: a.Finish, Usage: &a.Usage}
	if err != nil {
		c.Reason, said.ParseError = err.Error(), err.Error()
	}
	c.write(said)
	if err != nil {
		return ""
	}
	c.Files, c.Reason = files, ""
	return endSolved
}

// read reads a whole answer.
func (c *conversation) read(a *Answer) (tasks.Files, error) {
	if a.Cut {
		return nil, fmt.Errorf("the answer was cut at the limit of its length (%s)", a.Finish)
	}
	return Parse(c.job.Form, a.Text, c.job.Code)
}

// failed notes a try without a whole answer.
func (c *conversation) failed(ctx context.Context, number int, a *Answer, err error) string {
	said := line{Type: lineFailure, Try: number, Text: a.Text, Reasoning: a.Reasoning, Model: a.Model, Error: err.Error()}
	if a.Text != "" {
		c.Text = a.Text
	}
	c.Reason = err.Error()
	var refused *StatusError
	if errors.As(err, &refused) {
		said.Status = refused.Status
	}
	c.write(said)
	switch {
	case ctx.Err() != nil:
		return endStopped
	case refused != nil:
		return endFailed
	}
	return ""
}
