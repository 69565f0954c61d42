package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cabra-run/results"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/relay"
	"cabra-run/tasks"

	"github.com/rogpeppe/go-internal/diff"
)

const (
	archiveTimeout = 2 * time.Minute // of reading the home inside of the box
	collectTimeout = 2 * time.Minute // of reading the workspace from outside
	killTimeout    = time.Minute
	endTimeout     = 6 * time.Minute // of asking, killing and archiving together
)

// listFile is the list of what was read from a box and what was refused.
const listFile = "collected.json"

// collected lists what was read from a box and what was refused.
type collected struct {
	Workspace sandbox.Collection `json:"workspace"`
	Home      sandbox.Collection `json:"home"`
	HomeState string             `json:"home_state"` // "complete", "partial", "lost"
}

// end brings everything that runs in the box to its end: a signal and some
// grace where the agent was cut off, then death for every process of its uid,
// then the session files, then death for the box. After that nothing changes
// any more and the workspace can be read.
func (a *attempt) end(ctx context.Context) {
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), slack)
	defer cancel()
	a.record.WallSeconds = time.Since(a.started).Seconds()
	a.collected.HomeState = "lost"
	a.sweep.passed(StepEnding)
	if ctx.Err() == nil && a.alive() {
		if usage, err := a.box.Usage(cleanup); err == nil {
			a.note(usage)
		}
		a.endAgent(ctx)
	}
	if a.evidence.Ended == endedItself && a.evidence.Fault == nil && a.collected.HomeState == "lost" && !a.alive() {
		// The agent's end was seen first, but it came of its box's.
		a.connectionLost(ctx)
	}
	killCtx, cancelKill := context.WithTimeout(cleanup, killTimeout)
	defer cancelKill()
	if err := a.box.Kill(killCtx); err != nil {
		a.fault(ctx, err)
		return
	}
	a.sweep.passed(StepKilled)
	a.limitsHit(cleanup)
}

// alive reports whether PID 1 still serves, so that helper commands can run.
func (a *attempt) alive() bool {
	select {
	case <-a.conn.Done():
		return false
	default:
		return true
	}
}

// endAgent ends what runs beside PID 1 and reads the home. An abort of the
// sweep, which ends ctx, cuts both short; the trace is lost then.
func (a *attempt) endAgent(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	ending := sandbox.Ending{
		Exited: a.exited, Grace: a.sweep.Settings.Grace, Kill: relay.KillCommand(),
		Pids: a.sweep.Settings.Limits.OrDefaults().Pids,
	}
	if a.evidence.Fault == nil {
		ending.Signal = relay.SignalCommand(a.launch.Signal)
	}
	err := sandbox.EndGuest(ctx, a.box, ending)
	a.noteExit()
	if err != nil {
		return // the box's death takes the rest along; the trace is lost
	}
	a.archiveHome(ctx)
}

// noteExit takes the exit code of an agent that ended after all.
func (a *attempt) noteExit() {
	select {
	case <-a.exited:
		if a.exit.err == nil {
			a.evidence.ExitCode = &a.exit.code
		}
	default:
	}
}

// helper runs a command of the relay program beside PID 1 to its end.
func (a *attempt) helper(ctx context.Context, args []string, stdout io.Writer) (int, error) {
	p, err := a.box.Exec(ctx, sandbox.Command{Args: args, Dir: "/", Stdout: stdout})
	if err != nil {
		return 0, err
	}
	return p.Wait(ctx)
}

// archiveHome reads the session files out of the bounded home.
func (a *attempt) archiveHome(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	dst, err := makeDir(a.art.Root(), results.TraceDir)
	if err != nil {
		return
	}
	defer dst.Close()
	limits := sandbox.DefaultCollectLimits()
	argv := relay.ArchiveCommand(sandbox.HomeDir, relay.ArchiveBounds{
		Files: limits.Files, Entries: limits.Entries, Bytes: limits.Bytes, FileBytes: limits.FileBytes,
		Depth: limits.Depth, Only: a.launch.Sessions,
	})
	pr, pw := io.Pipe()
	type read struct {
		c   sandbox.Collection
		err error
	}
	done := make(chan read, 1)
	go func() {
		c, err := sandbox.ReadTar(pr, dst, limits)
		_, _ = io.Copy(io.Discard, pr) // whatever follows must not block the writer
		done <- read{c, err}
	}()
	code, err := a.helper(ctx, argv, pw)
	pw.CloseWithError(io.EOF)
	r := <-done
	a.collected.Home = r.c
	a.collected.HomeState = "complete"
	if err != nil || code != 0 || r.err != nil || r.c.Truncated || len(r.c.Refused)+r.c.Dropped > 0 {
		a.collected.HomeState = "partial"
	}
	a.sweep.passed(StepHome)
}

// limitsHit notes a limit that the box reports of itself after its end.
func (a *attempt) limitsHit(ctx context.Context) {
	exitCtx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	if exit, err := a.box.Wait(exitCtx); err == nil && exit.OOMKilled {
		a.peak.OOMKills = max(a.peak.OOMKills, 1)
	}
	limits := a.sweep.Settings.Limits.OrDefaults()
	switch e := &a.evidence; {
	case e.LimitHit != "" || e.Ended != endedItself:
	case a.peak.OOMKills > 0:
		e.LimitHit = LimitMemory
		e.Detail = fmt.Sprintf("a process was killed for using more than %d MiB", limits.MemoryBytes>>20)
	case a.peak.PidsLimitHits > 0:
		e.LimitHit = LimitPids
		e.Detail = fmt.Sprintf("more than %d processes", limits.Pids)
	}
}

// collect reads the workspace of the dead box and what the session files say.
func (a *attempt) collect(ctx context.Context) {
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectTimeout)
	defer cancel()
	dst, err := makeDir(a.art.Root(), results.FilesDir)
	if err != nil {
		a.fault(ctx, err)
		return
	}
	defer dst.Close()
	a.collected.Workspace, err = a.box.Collect(reading, dst, sandbox.DefaultCollectLimits())
	if err != nil {
		a.fault(ctx, err)
		return
	}
	a.sweep.passed(StepWorkspace)
	a.readCode(dst)
	a.readTrace()
}

// readCode takes the starter's files as they were left.
func (a *attempt) readCode(files *os.Root) {
	code := tasks.Files{}
	for p := range a.task.Starter {
		text, err := files.ReadFile(p)
		if err != nil {
			a.missing(p)
			return
		}
		code[p] = string(text)
	}
	a.setCode(code)
}

// missing explains why a file of the starter is not among what was read.
func (a *attempt) missing(p string) {
	reason := "was removed"
	for _, r := range a.collected.Workspace.Refused {
		if r.Path == p {
			reason = "could not be read: " + r.Reason
		}
	}
	if a.evidence.Detail == "" {
		a.evidence.Detail = fmt.Sprintf("%s %s", p, reason)
	}
}

func (a *attempt) readTrace() {
	dir, err := a.art.Root().OpenRoot(results.TraceDir)
	if err != nil {
		return
	}
	defer dir.Close()
	// A trace that cannot be read voids nothing that was paid for.
	stdout := filepath.Join(a.art.Root().Name(), results.StdoutFile)
	a.evidence.Trace, err = a.pair.Agent.ReadTrace(dir, stdout, a.job)
	if err != nil {
		a.collected.HomeState = "partial"
	}
	if t := a.evidence.Trace; t != nil {
		n := int64(len(t.Calls))
		a.record.ToolCalls = &n
	}
	a.compareUsage()
}

// conclude turns the evidence into the record.
func (a *attempt) conclude() {
	r := &a.record
	traits := a.pair.Agent.Traits()
	// Of connections that the box has to itself no answer is seen.
	unseen := !traits.AsksModel() || a.pair.Model.Login.Passthrough()
	a.evidence.Success, a.evidence.NoModel = traits.Success, unseen
	if a.gate != nil {
		a.concludeGateway()
	}
	a.concludeReplay()
	if f := a.evidence.Fault; sandbox.IsFault(f, sandbox.FaultBadSpec) || sandbox.IsFault(f, sandbox.FaultNoImage) {
		a.permanent = true
	}
	j := judge(a.evidence)
	r.Outcome, r.LimitHit, r.Reason, r.Unchanged = j.Outcome, j.LimitHit, plainLine(j.Reason), j.Unchanged
	r.ExitCode = a.evidence.ExitCode
	r.Unscored = a.code == nil
	r.MemoryPeak = a.peak.MemoryPeakBytes
	r.TraceState = a.traceState()
	r.Ended = a.at(a.sweep.now())
}

func (a *attempt) traceState() string {
	switch {
	case a.evidence.Trace != nil:
		return a.collected.HomeState
	case a.collected.HomeState == "complete":
		return "none"
	}
	return "lost"
}

func (a *attempt) concludeGateway() {
	stats := a.gate.Stats()
	a.record.Requests, a.record.Answers = stats.Requests, stats.Answers
	a.record.WaitSeconds = stats.Waited.Seconds()
	a.evidence.Answers = stats.Answers
	if err := errors.Join(stats.RecordErr, a.out.failure()); err != nil {
		a.notice(fmt.Sprintf("its recording or its output is not whole: %v", err))
	}
	if a.evidence.Failure == nil {
		a.failed(stats)
	}
}

// failed notes the provider's last failure. A request that it refuses after it
// has answered others is the agent's: too long a conversation, or something
// that a command in the box has sent.
func (a *attempt) failed(stats gateway.Stats) {
	f := stats.LastError
	if f != nil && f.Kind == gateway.FailureBudget {
		a.overBudget(f)
		return
	}
	if f == nil || f.Kind == gateway.FailureRequest && stats.Answers > 0 {
		return
	}
	if stats.StoreErr != nil && f.Permanent && f.Kind == gateway.FailureTransport {
		// It was not sent because our books could not be written.
		a.evidence.Fault = fmt.Errorf("booking a request: %w", stats.StoreErr)
		return
	}
	a.evidence.Failure = &providerFailure{Status: f.Status, Message: f.Message}
	a.permanent = f.PausesSweep()
	a.staged = stats.Scripted
}

// save writes the artefacts, usage that the store did not take at once, and
// then the row, in this order.
func (a *attempt) save(ctx context.Context) error {
	if err := a.writeLists(); err != nil {
		return err
	}
	a.sweep.passed(StepWritten)
	if err := a.art.Commit(ctx, a.record); err != nil {
		return err
	}
	a.sweep.passed(StepInPlace)
	if err := a.owed.pay(func(e results.Exchange) error {
		return a.sweep.Store.AddExchange(ctx, a.trial.Key, a.record.Number, e)
	}); err != nil {
		return err
	}
	err := a.sweep.Store.Collected(ctx, a.record)
	a.sweep.passed(StepCollected)
	return err
}

func (a *attempt) writeLists() error {
	list, err := json.MarshalIndent(a.collected, "", "  ")
	if err != nil {
		return err
	}
	err = a.art.Root().WriteFile(listFile, append(list, '\n'), 0o600)
	if a.code != nil {
		err = errors.Join(err, a.art.Root().WriteFile(results.PatchFile, patch(a.task.Starter, a.code), 0o600))
	}
	return errors.Join(err, a.writeReplay())
}

// maxPatched is the longest text that is compared; comparing takes some forty
// times its memory, and the scorer takes no longer one.
const maxPatched = 1 << 20

// patch is the unified difference between the starter and the code.
func patch(starter, code tasks.Files) []byte {
	var b strings.Builder
	for _, p := range starter.Paths() {
		if len(code[p]) > maxPatched {
			fmt.Fprintf(&b, "diff a/%s b/%s\nnot compared: %d bytes\n", p, p, len(code[p]))
			continue
		}
		b.Write(diff.Diff("a/"+p, []byte(starter[p]), "b/"+p, []byte(code[p])))
	}
	return []byte(b.String())
}

func makeDir(root *os.Root, name string) (*os.Root, error) {
	if err := root.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	return root.OpenRoot(name)
}
