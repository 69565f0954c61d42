package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"cabra-run/results"
	"cabra-run/runner"
)

// progress shows a sweep while it runs: a line that renews itself on a
// terminal, log lines elsewhere.
type progress struct {
	log zerolog.Logger
	bar *progressbar.ProgressBar // nil without a terminal

	mu      sync.Mutex
	words   map[string]int
	waiting bool // nothing new is started for want of room
}

func newProgress(a *app, name string, jobs int) *progress {
	p := &progress{words: map[string]int{}}
	out := zerolog.ConsoleWriter{Out: a.stderr, NoColor: true, TimeFormat: time.TimeOnly}
	p.log = zerolog.New(out).With().Timestamp().Logger()
	if isTerminal(a.stderr) {
		p.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(a.stderr), progressbar.OptionShowCount(),
			progressbar.OptionShowIts(), progressbar.OptionSetItsString("trials"), progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(20), progressbar.OptionThrottle(200*time.Millisecond),
			progressbar.OptionOnCompletion(func() { fmt.Fprintln(a.stderr) }))
		return p
	}
	p.log.Info().Str("run", name).Int("jobs", jobs).Msg("starting")
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// observe is the sweep's observer.
func (p *progress) observe(e runner.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case runner.SweepPlanned:
		p.planned(e)
	case runner.AttemptEnded:
		p.attemptEnded(e)
	case runner.TrialDone:
		p.trialDone(e)
	case runner.Notice:
		p.notice(e)
	case runner.Waiting, runner.Resuming:
		p.room(e)
	}
}

func (p *progress) planned(e runner.Event) {
	if p.bar == nil {
		p.log.Info().Int("trials", e.Planned).Int("done", e.Done).Msg("planned")
		return
	}
	p.bar.ChangeMax(e.Planned)
	_ = p.bar.Set(e.Done)
}

func (p *progress) attemptEnded(e runner.Event) {
	if e.Outcome == results.Answered {
		return // the trial's own line says it
	}
	if p.bar == nil {
		of(p.log.Info(), e).Int("attempt", e.Attempt).Str("outcome", string(e.Outcome)).
			Str("reason", e.Reason).Msg("attempt ended")
	}
}

func (p *progress) trialDone(e runner.Event) {
	p.words[e.Word]++
	if p.bar == nil {
		of(p.log.Info(), e).Str("word", e.Word).Str("counts", p.counts()).Str("reason", e.Reason).Msg("trial done")
		return
	}
	p.describe()
	_ = p.bar.Add(1)
}

func (p *progress) notice(e runner.Event) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	level := zerolog.WarnLevel
	if e.Kind == runner.Resuming {
		level = zerolog.InfoLevel
	}
	l := of(p.log.WithLevel(level), e)
	if e.Attempt > 0 {
		l = l.Int("attempt", e.Attempt)
	}
	l.Msg(e.Reason)
}

// room says why nothing new is started, or that it is again; the line that
// renews itself shows it as long as it is so.
func (p *progress) room(e runner.Event) {
	p.waiting = e.Kind == runner.Waiting
	p.notice(e)
	if p.bar != nil {
		p.describe()
	}
}

// of adds to a log line what the event is about.
func of(l *zerolog.Event, e runner.Event) *zerolog.Event {
	if e.Task != "" {
		l = l.Str("task", string(e.Task))
	}
	if e.Repetition > 1 {
		l = l.Int("repetition", e.Repetition)
	}
	if e.Who != "" {
		l = l.Str("who", e.Who)
	}
	return l
}

func (p *progress) describe() {
	text := p.counts()
	if p.waiting {
		text = strings.TrimSpace(text + " waiting for room")
	}
	p.bar.Describe(text)
}

// counts is "solved 12 failed 3", the frequent words first.
func (p *progress) counts() string {
	words := make([]string, 0, len(p.words))
	for w := range p.words {
		words = append(words, w)
	}
	sort.Slice(words, func(i, j int) bool {
		if p.words[words[i]] != p.words[words[j]] {
			return p.words[words[i]] > p.words[words[j]]
		}
		return words[i] < words[j]
	})
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s %d", w, p.words[w])
	}
	return b.String()
}

func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Exit()
	}
}
