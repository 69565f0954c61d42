package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"cabra-run/results"
	"cabra-run/results/report"
	"cabra-run/runner"
	"cabra-run/runner/control"
)

// view is what can be seen of a run at one moment.
type view struct {
	Status *report.Status `json:"status"`
	// Live is what the process that works on it says; nil without one, or
	// where it has another state folder.
	Live *control.State `json:"live"`
	Held bool           `json:"worked_on"` // a process has the run open for writing
	at   time.Time
}

// idleShare is how much longer than a look took the next one is waited for at
// least: whoever watches a large run must not keep its machine busy.
const idleShare = 9

// watchRun shows a run until nobody works on it any more.
func watchRun(ctx context.Context, a *app, run, scorer string, every time.Duration) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	show := a.viewer(run)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return silent(exitInterrupt)
		case <-timer.C:
		}
		began := time.Now()
		v, err := a.look(ctx, run, scorer)
		if ctx.Err() != nil {
			return silent(exitInterrupt)
		}
		if err == nil {
			err = show(v)
		}
		if err != nil || !v.Held {
			return err
		}
		timer.Reset(max(every, idleShare*time.Since(began)))
	}
}

// look reads what there is to see. Who works on the run is asked first: what is
// read after it was let go is its last state.
func (a *app) look(ctx context.Context, run, scorer string) (v view, err error) {
	v.at = time.Now()
	state, err := control.Ask(ctx, a.stateDir, a.runPath(run), control.Request{Op: control.OpStatus})
	if err == nil {
		v.Live, v.Held = &state, true
	} else if _, v.Held, err = results.Held(a.runPath(run)); err != nil && ctx.Err() == nil {
		return v, err
	}
	v.Status, err = a.readStatus(ctx, run, scorer)
	return v, err
}

// readStatus opens a run for as long as reading its status takes.
func (a *app) readStatus(ctx context.Context, run, scorer string) (_ *report.Status, err error) {
	store, err := a.openRun(run, results.ReadOnly)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	all := store.Brief(ctx)
	if scorer != "" {
		all = store.BriefBy(ctx, scorer)
	}
	return report.BuildStatus(all, store.Lock(), time.Now())
}

// viewer returns what shows a view: on a terminal a block that renews itself,
// elsewhere a line whenever something has changed.
func (a *app) viewer(run string) func(view) error {
	if !a.json && isTerminal(a.stdout) {
		s := &screen{out: a.stdout}
		return func(v view) error {
			_, height := s.size()
			return s.draw(a.block(run, v, height))
		}
	}
	last := ""
	return func(v view) error {
		line, key, err := a.viewLine(run, v)
		if err != nil || key == last && v.Held {
			return err
		}
		last = key
		_, err = fmt.Fprintln(a.stdout, line)
		return err
	}
}

// viewLine is a view on one line; key is what of it counts as a change.
func (a *app) viewLine(run string, v view) (line, key string, err error) {
	key = changes(v)
	if a.json {
		text, err := json.Marshal(v)
		return string(text), key, err
	}
	line = v.at.Format(time.TimeOnly) + " " + key
	if !v.Held {
		line += "; " + a.ending(run, v)
	}
	return line, key, nil
}

// changes is what is worth a line of its own.
func changes(v view) string {
	parts := []string{countsText(v.Status)}
	if words := wordsText(v.Status); words != "" {
		parts = append(parts, words)
	}
	parts = append(parts, "spent "+costText(v.Status.Spent))
	if v.Live != nil {
		if v.Live.Level != runner.Running.String() {
			parts = append(parts, levelText(*v.Live))
		}
		parts = append(parts, fmt.Sprintf("%d jobs", v.Live.Jobs))
		if v.Live.Waiting != "" {
			parts = append(parts, "nothing new is started: "+printableLine(v.Live.Waiting))
		}
	}
	return strings.Join(parts, "; ")
}

func countsText(s *report.Status) string {
	c := s.Trials
	text := fmt.Sprintf("%d of %d trials done, %d running, %d pending", c.Done, c.Planned, c.Running, c.Pending)
	if c.Unscored > 0 {
		text += fmt.Sprintf(", %d not scored yet", c.Unscored)
	}
	return text
}

// wordsText counts the outcomes that there are.
func wordsText(s *report.Status) string {
	var parts []string
	for _, o := range s.Outcomes {
		if o.Word != results.Pending {
			parts = append(parts, fmt.Sprintf("%s %d", printableLine(o.Word), o.Trials))
		}
	}
	return strings.Join(parts, ", ")
}

func costText(u results.UsageTotal) string {
	switch {
	case u.CostUSD == nil && u.Unknown.Cost > 0:
		return "unknown"
	case u.CostUSD == nil:
		return "$0.00"
	}
	return atLeast(u.Unknown.Cost) + fmt.Sprintf("$%.2f", *u.CostUSD)
}

// ending says what became of a run that nobody works on.
func (a *app) ending(run string, v view) string {
	t := v.Status.Trials
	switch {
	case v.Status.Complete:
		return "the run is done; see it: " + a.command("report", run)
	case t.Running > 0:
		return fmt.Sprintf("nobody works on the run, and %d attempts were cut off; continue: %s",
			t.Running, a.command("resume", run))
	}
	return "nobody works on the run; continue: " + a.command("resume", run)
}
