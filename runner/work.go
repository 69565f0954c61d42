package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/relay"
)

// readerOf returns a reader of s, nil for the empty text.
func readerOf(s string) io.Reader {
	if s == "" {
		return nil
	}
	return strings.NewReader(s)
}

// pollEvery is the time between two looks at an attempt: longer where thousands
// are looked at, so that looking does not take the machine.
func (s *Sweep) pollEvery() time.Duration {
	jobs, _ := s.places.Jobs()
	return max(pollEvery, time.Duration(jobs)*time.Second/pollsASecond)
}

// work waits until the agent ends or something ends it.
func (a *attempt) work(ctx context.Context) {
	tick := time.NewTicker(a.sweep.pollEvery())
	defer tick.Stop()
	w := &watcher{attempt: a, active: a.started}
	for {
		select {
		case <-a.exited:
			a.ended(ctx)
			return
		case <-a.conn.Done():
			a.connectionLost(ctx)
			return
		case <-a.out.full:
			a.strike(strike{endedLimit, LimitOutput, fmt.Sprintf("more than %d MiB of output", a.sweep.Settings.OutputBytes>>20)})
			return
		case <-a.diverged():
			return
		case <-a.sweep.Stop.Reached(Halt):
			a.evidence.Ended = endedCancelled
			return
		case <-ctx.Done():
			a.evidence.Ended = endedCancelled
			return
		case now := <-tick.C:
			if done := w.look(ctx, now); done {
				return
			}
		}
	}
}

// ended notes that the agent's program ended by itself.
func (a *attempt) ended(ctx context.Context) {
	if a.exit.err == nil {
		a.evidence.ExitCode = &a.exit.code
		return
	}
	// The connection of the exec broke: the box is gone, or the engine is.
	a.fault(ctx, fmt.Errorf("waiting for the agent: %w", a.exit.err))
	select {
	case <-a.conn.Done():
		a.connectionLost(ctx)
	default:
	}
}

func (a *attempt) strike(s strike) {
	a.evidence.Ended, a.evidence.LimitHit, a.evidence.Detail = s.Ended, s.LimitHit, s.Detail
}

// watcher holds what the watchdog remembers from one reading to the next.
type watcher struct {
	*attempt
	active    time.Time     // the last sign of work
	waited    time.Duration // for the provider, by then
	workspace int64
	scratch   int64
	unread    int // readings in a row without the workspace's size
	faults    int
}

// look takes a reading and reports whether the attempt is over.
func (w *watcher) look(ctx context.Context, now time.Time) bool {
	usage, err := w.box.Usage(ctx)
	if err != nil {
		return w.usageFault(ctx, err)
	}
	w.faults = 0
	w.note(usage)
	if w.unread++; usage.WorkspaceBytes >= 0 {
		w.unread = 0
	}
	stats := w.gate.Stats()
	if gaveUp(stats) || stats.OverBudget != "" {
		// The gateway has tried long enough; the CLI would only start over.
		w.failed(stats)
		return true
	}
	printed, lastPrint := w.out.seen()
	w.signs(now, usage, stats, lastPrint)
	set := w.sweep.Settings
	limits := watchLimits{Timeout: set.Timeout, MaxWait: set.MaxWait, Stall: set.Stall,
		Output: set.OutputBytes, Disk: set.Limits.OrDefaults().WorkspaceBytes}
	s, struck := limits.check(reading{Now: now, Started: w.started, Waited: stats.Waited,
		Quiet: now.Sub(w.active) - (stats.Waited - w.waited), Output: printed, Usage: usage, Unread: w.unread})
	if struck {
		w.strike(s)
	}
	return struck
}

// gaveUp reports whether the gateway has used up its budget for a request, and
// nothing usable came since, not even for a request beside it.
func gaveUp(s gateway.Stats) bool {
	return s.Exhausted > 0 && !s.Scripted && s.LastError != nil && !s.LastError.Permanent
}

// signs notes signs of work: model traffic, output, a workspace, a session or
// other files of the box that change.
func (w *watcher) signs(now time.Time, usage sandbox.Usage, stats gateway.Stats, lastPrint time.Time) {
	latest := w.active
	if usage.WorkspaceBytes != w.workspace {
		w.workspace, latest = usage.WorkspaceBytes, now
	}
	if usage.ScratchBytes != w.scratch { // a session file that grows, for one
		w.scratch, latest = usage.ScratchBytes, now
	}
	for _, at := range []time.Time{stats.LastActivity, lastPrint} {
		if at.After(latest) {
			latest = at
		}
	}
	if latest.After(w.active) {
		w.active, w.waited = latest, stats.Waited
	}
}

// usageFault bears with an engine that does not answer for a moment.
func (w *watcher) usageFault(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		w.evidence.Ended = endedCancelled
		return true
	}
	if sandbox.IsFault(err, sandbox.FaultNotRunning) {
		w.connectionLost(ctx)
		return true
	}
	if w.faults++; w.faults < maxUsageFaults && !sandbox.IsFault(err, sandbox.FaultGone) {
		return false
	}
	w.fault(ctx, err)
	return true
}

// note keeps the highest reading.
func (a *attempt) note(u sandbox.Usage) {
	a.peak.MemoryPeakBytes = max(a.peak.MemoryPeakBytes, u.MemoryPeakBytes, u.MemoryBytes)
	a.peak.OOMKills = max(a.peak.OOMKills, u.OOMKills)
	a.peak.PidsLimitHits = max(a.peak.PidsLimitHits, u.PidsLimitHits)
}

// connectionLost decides whose doing it was that the model connection, which is
// PID 1, ended in mid-attempt: the engine's, the box's or what ran in it.
func (a *attempt) connectionLost(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cause := a.conn.Err()
	if errors.Is(cause, relay.ErrProtocol) {
		a.evidence.Fault = nil
		a.strike(strike{endedLimit, LimitProtocol, cause.Error()})
		return
	}
	if _, err := a.sweep.Engine.Info(asking); err != nil {
		a.fault(ctx, err)
		return
	}
	exit, err := a.box.Wait(asking)
	switch {
	case err != nil:
		a.fault(ctx, err)
	case exit.OOMKilled:
		a.evidence.Fault = nil
		a.strike(strike{endedLimit, LimitMemory, "the box ran out of memory and its connection died"})
	case exit.Code == 0:
		// The relay ends in order only when its stream is closed from outside.
		a.fault(ctx, fmt.Errorf("the connection to the box broke: %v", cause))
	default:
		a.evidence.Fault = nil
		a.strike(strike{endedLimit, LimitProtocol, fmt.Sprintf("the box's connection died (exit code %d): %v", exit.Code, cause)})
	}
}
