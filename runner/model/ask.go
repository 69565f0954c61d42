package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Usage is what one answer used, in tokens, by the provider's word: input with
// what was cached, output with reasoning. nil is unknown.
type Usage struct {
	Input      *int64 `json:"input"`
	Cached     *int64 `json:"cached"`
	CacheWrite *int64 `json:"cache_write"`
	Output     *int64 `json:"output"`
	Reasoning  *int64 `json:"reasoning"`
}

// Answer is what a model said to one request.
type Answer struct {
	Text      string
	Reasoning string // as far as the provider shows it
	Model     string // by the provider's word
	Finish    string // why it ended, in the wire's word
	Cut       bool   // it ended at a limit of its length
	Usage     Usage
}

// Question is one request.
type Question struct {
	Model  string
	Prompt string
	Effort string // reasoning effort, "" says nothing of it
}

// Asker asks a model in one wire format. The answer is never nil; with an error
// it is what had come by then.
type Asker interface {
	Ask(ctx context.Context, q Question) (*Answer, error)
}

// StatusError is a request that was refused.
type StatusError struct {
	Status  int
	Message string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("status %d: %s", e.Status, e.Message)
}

// errNoEnd is an answer whose stream ended without its end.
var errNoEnd = errors.New("the answer broke off")

// errTooLong is an answer that is not read further.
var errTooLong = fmt.Errorf("the answer is longer than %d MiB", maxAnswer>>20)

// Wires lists the wire formats that NewAsker knows.
func Wires() []string { return []string{wireChat, wireResponses, wireMessages} }

const (
	wireChat      = "chat"
	wireResponses = "responses"
	wireMessages  = "messages"
)

// NewAsker returns an Asker for a wire format. root is the address below which
// the wire's paths lie, without a version segment; no key is sent to it, and
// nothing is tried twice.
func NewAsker(wire, root string, client *http.Client) (Asker, error) {
	client = drained(client)
	switch wire {
	case wireChat:
		return newChat(root, client), nil
	case wireResponses:
		return newResponses(root, client), nil
	case wireMessages:
		return newMessages(root, client), nil
	}
	return nil, fmt.Errorf("no model is asked in the wire format %q; there is: %s", wire, strings.Join(Wires(), ", "))
}

// noKey stands where the vendors' libraries want a key; the gateway has it.
const noKey = "none"

// listener collects an answer from its stream.
type listener struct {
	*Answer
	text, reasoning strings.Builder
}

func listen() *listener { return &listener{Answer: &Answer{}} }

// hear adds to the answer; the error says that it is too long.
func (l *listener) hear(text, reasoning string) error {
	if l.text.Len()+len(text) > maxAnswer || l.reasoning.Len()+len(reasoning) > maxAnswer {
		return errTooLong
	}
	l.text.WriteString(text)
	l.reasoning.WriteString(reasoning)
	return nil
}

// end returns the answer. err is how its stream ended; one without an error
// must have come to its finish.
func (l *listener) end(err error) (*Answer, error) {
	l.Text, l.Reasoning = l.text.String(), l.reasoning.String()
	if err == nil && l.Finish == "" {
		err = errNoEnd
	}
	return l.Answer, err
}

// stream is what the libraries' streams of events have in common.
type stream[T any] interface {
	Next() bool
	Current() T
	Err() error
	Close() error
}

// follow calls take with every event until the stream ends or take fails.
func follow[T any](s stream[T], take func(T) error) error {
	defer s.Close()
	for s.Next() {
		if err := take(s.Current()); err != nil {
			return err
		}
	}
	return s.Err()
}

// known returns a figure, nil where the provider did not tell it.
func known(n int64, told bool) *int64 {
	if !told {
		return nil
	}
	return &n
}
