package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cabra-run/results"
	"cabra-run/runner/agent"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/relay"
	"cabra-run/tasks"
)

const (
	pollEvery    = time.Second     // at least, see Sweep.pollEvery
	pollsASecond = 500             // of all attempts together
	openTimeout  = 3 * time.Minute // create, start and first word of the relay
	closeTimeout = 2 * time.Minute // removal of the box
	// slack is what ending an attempt may take beyond its own limits before
	// the box ends by itself.
	slack = 10 * time.Minute
	// guestRoom is how many processes of a box's limit the agent cannot have,
	// so that a helper command can start beside a fork bomb.
	guestRoom = 64
	// maxUsageFaults is how many readings in a row may fail before the engine
	// is taken to be gone.
	maxUsageFaults = 10
)

// attempt is one sandboxed execution for a trial.
type attempt struct {
	sweep *Sweep
	pair  *Pairing
	trial results.Trial
	task  *tasks.Task

	record    results.Attempt
	code      tasks.Files // the starter's files as they were left; nil without a solution
	permanent bool        // a failure outside of the agent that trying again cannot mend
	staged    bool        // the provider error was asked for by the scripted model
	owed      debts

	original *original // the attempt that is replayed, nil for none

	job     agent.Job
	launch  agent.Launch
	box     sandbox.Box
	conn    ModelConn
	gate    *gateway.Session
	served  chan struct{} // closed when the gateway has stopped serving
	metered metered
	art     *results.Artefacts
	out     *outputs
	// exited is closed when the agent's program has ended and its output is
	// written; exit is valid then. Nil when it never started.
	exited chan struct{}
	exit   procEnd

	spell     int       // of the engine, see engineWatch
	begun     time.Time // as record.Started, by the clock that cannot be set
	started   time.Time // of the agent
	peak      sandbox.Usage
	evidence  evidence
	collected collected
}

// procEnd is how the agent's program ended.
type procEnd struct {
	code int
	err  error
}

// attempt makes one attempt and records it. The error is one of the store;
// everything else that goes wrong is the attempt's outcome.
func (s *Sweep) attempt(ctx context.Context, open *openTrial, task *tasks.Task) (*attempt, error) {
	a, err := s.newAttempt(ctx, open, task)
	if err != nil {
		return nil, err
	}
	a.tell(AttemptStarted)
	if a.art, err = s.Store.BeginArtefacts(a.trial.Key, a.record.Number); err != nil {
		return nil, err
	}
	defer func() { _ = a.art.Discard() }() // does nothing after a commit
	a.perform(ctx)
	a.conclude()
	if err := a.save(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	a.tell(AttemptEnded)
	return a, nil
}

// newAttempt records that an attempt begins.
func (s *Sweep) newAttempt(ctx context.Context, open *openTrial, task *tasks.Task) (*attempt, error) {
	record, err := s.Store.StartAttempt(context.WithoutCancel(ctx), open.trial.Key)
	if err != nil {
		return nil, err
	}
	a := &attempt{sweep: s, pair: open.pair, trial: open.trial, task: task, record: record,
		begun: s.now(), spell: s.engine.now(), out: newOutputs(s.Settings.OutputBytes)}
	s.passed(StepStarted)
	return a, nil
}

// tell tells the observer of the attempt's start or end.
func (a *attempt) tell(kind EventKind) {
	r := &a.record
	e := Event{Who: a.sweep.who(a.pair), Kind: kind, Task: a.task.ID, Repetition: a.trial.Repetition, Attempt: r.Number}
	if kind == AttemptEnded {
		e.Outcome, e.Reason, e.Wall = r.Outcome, r.Reason, max(0, r.Ended.Sub(r.Started))
	}
	a.sweep.Observer.observe(e)
}

// isBare is a function of its own because traits are large, and what an attempt
// holds on its stack it may hold for hours; see also Sweep.retryOf.
//
//go:noinline
func (a *attempt) isBare() bool { return a.pair.Agent.Traits().Bare != "" }

// perform goes from an empty box to the collected evidence. Whatever fails on
// the way, the box is removed at the end.
func (a *attempt) perform(ctx context.Context) {
	if err := a.openOriginal(); err != nil {
		if errors.Is(err, errReplayStopped) {
			a.evidence.Ended = endedCancelled
			return
		}
		a.evidence.Diverged, a.staged = err.Error(), true
		return
	}
	if a.isBare() {
		a.performBare(ctx)
		return
	}
	defer a.close(ctx)
	if err := a.open(ctx); err != nil {
		a.fault(ctx, err)
		return
	}
	a.work(ctx)
	a.end(ctx)
	a.collect(ctx)
}

// fault notes a failure of the engine or the host, unless the sweep is being
// aborted: then errors of calls in flight are its echo.
func (a *attempt) fault(ctx context.Context, err error) {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		a.evidence.Ended = endedCancelled
	case a.evidence.Fault == nil:
		a.evidence.Fault = err
	}
}

func (a *attempt) open(ctx context.Context) error {
	leave, err := a.sweep.opening.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	box, err := a.create(ctx)
	if err != nil {
		return err
	}
	a.box = box
	a.sweep.passed(StepCreated)
	if err := box.Start(ctx); err != nil {
		return err
	}
	a.sweep.passed(StepBooted)
	if a.conn, err = a.sweep.Connect(ctx, box.Stdio()); err != nil {
		return fmt.Errorf("connecting to the relay: %w (it said: %.200q)", err, box.Stderr())
	}
	a.sweep.passed(StepConnected)
	a.noteEffective(ctx)
	if err := a.openGateway(); err != nil {
		return err
	}
	return a.start(ctx)
}

func (a *attempt) spec() sandbox.Spec {
	set := a.sweep.Settings
	life := set.Timeout + set.MaxWait + set.Grace + slack
	files := map[string][]byte{}
	for p, text := range a.task.Starter {
		files[p] = []byte(text)
	}
	return sandbox.Spec{
		Image:   a.pair.Image,
		Command: relay.ServeCommand(relay.ServeOptions{Deadline: life}),
		Guest:   true, Home: true, Workspace: files,
		Network: set.Network, Limits: set.Limits,
		Labels: sandbox.Labels{
			Run: a.sweep.Store.Lock().Run, Trial: string(a.task.ID), Attempt: a.record.Number,
			Deadline: a.sweep.now().Add(life),
		},
	}
}

func (a *attempt) openGateway() error {
	recording, err := newRestingFile(a.art.Root(), results.RecordingFile)
	if err != nil {
		return err
	}
	recorder, err := gateway.NewRecorder(recording)
	if err != nil {
		return errors.Join(err, recording.Close())
	}
	m := a.pair.Model
	a.gate, err = a.sweep.Gateway.Open(gateway.SessionOptions{
		Upstream: a.upstream(), Model: m.Wire, Login: m.Login, Record: recorder,
		Script: gateway.Script{
			Place: a.trial.Seq, File: tasks.SolutionFile,
			Starter: a.task.Starter[tasks.SolutionFile], Reference: a.task.Reference[tasks.SolutionFile],
			Edited: a.task.Check.Edited,
		},
		OnSend: a.openExchange, OnExchange: a.addExchange,
		Price: m.Price, Budget: a.sweep.Budget, Trial: a.trial.Key, Wires: a.wires(),
	})
	if err != nil {
		return errors.Join(err, recording.Close())
	}
	a.served = make(chan struct{})
	go func() {
		defer close(a.served)
		defer recording.Close()
		defer recorder.Close()
		_ = a.gate.Serve(context.Background(), a.conn) // ends with the connection, whose Err says why
		// Requests that were cut off are still being recorded then.
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = a.gate.Close(ctx)
	}()
	a.sweep.passed(StepGateway)
	return nil
}

// wires are those that the agent was told to speak.
func (a *attempt) wires() []gateway.Wire {
	if a.pair.Ask.Wire == "" {
		return nil
	}
	return []gateway.Wire{gateway.Wire(a.pair.Ask.Wire)}
}

func (a *attempt) openExchange(e gateway.Exchange) error {
	err := a.sweep.Store.OpenExchange(context.Background(), a.trial.Key, a.record.Number, a.exchangeRecord(e))
	a.sweep.passed(StepOpened)
	a.noteStorage(err)
	return err
}

func (a *attempt) addExchange(e gateway.Exchange) error {
	if e.Status >= 200 && e.Status <= 299 {
		a.noteUsage(e.Usage)
	}
	record := a.exchangeRecord(e)
	a.sweep.passed(StepAnswered)
	err := a.sweep.Store.AddExchange(context.Background(), a.trial.Key, a.record.Number, record)
	if err != nil {
		a.owed.add(record)
	}
	a.sweep.passed(StepBooked)
	a.noteStorage(err)
	return err
}

// noteStorage stops the sweep when a disk has failed, however much of the
// attempt can still be saved.
func (a *attempt) noteStorage(err error) {
	var failed *results.StorageError
	if errors.As(err, &failed) {
		a.sweep.fail(fmt.Errorf("booking a request of %s: %w", a.task.ID, err))
	}
}

// newJob is what the agent is told.
func (a *attempt) newJob() agent.Job {
	host, ask := fmt.Sprintf("http://127.0.0.1:%d", relay.Port), a.pair.Ask
	job := agent.Job{
		Model: a.pair.Model.Agent, Prompt: a.task.Statement, SessionID: a.sessionID(),
		Root: host + a.gate.Root(), BaseURL: host + a.gate.BasePath(),
		Wire: ask.Wire, Effort: ask.Effort, Instructions: ask.Instructions,
		Workspace: sandbox.WorkspaceDir, Home: sandbox.HomeDir,
	}
	if a.pair.Model.Login != nil {
		job.Login = agent.Login(a.gate.GuestLogin(fmt.Sprintf("127.0.0.1:%d", relay.Port)))
	}
	if a.pair.Agent.Traits().Solution {
		job.Solution = a.task.Reference
	}
	return job
}

// prepare asks the agent how it is to be started.
func (a *attempt) prepare() (err error) {
	a.job = a.newJob()
	if a.launch, err = a.pair.Agent.Launch(a.job); err != nil {
		// Trying again cannot mend it.
		return &sandbox.Fault{Op: "starting the agent", Kind: sandbox.FaultBadSpec, Err: err}
	}
	return nil
}

// start starts the agent under its own uid.
func (a *attempt) start(ctx context.Context) error {
	if err := a.prepare(); err != nil {
		return err
	}
	if err := a.unpack(ctx); err != nil {
		return err
	}
	stdout, err := newRestingFile(a.art.Root(), results.StdoutFile)
	if err != nil {
		return err
	}
	stderr, err := newRestingFile(a.art.Root(), results.StderrFile)
	if err != nil {
		return errors.Join(err, stdout.Close())
	}
	set := a.sweep.Settings.Limits.OrDefaults()
	a.started = a.sweep.now()
	proc, err := a.box.Exec(ctx, sandbox.Command{
		Args: relay.GuestCommand(set.Pids-guestRoom, a.launch.Args), Env: a.launch.Env, Dir: sandbox.WorkspaceDir,
		Stdin: readerOf(a.launch.Stdin), Stdout: a.out.to(stdout), Stderr: a.out.to(stderr),
	})
	if err != nil {
		return errors.Join(err, stdout.Close(), stderr.Close())
	}
	a.exited = make(chan struct{})
	go a.await(proc, stdout, stderr)
	a.sweep.passed(StepRunning)
	return nil
}

// await passes on the end of the agent's program; it returns at the latest
// when the box is gone, which the attempt sees to.
func (a *attempt) await(proc sandbox.Process, files ...*restingFile) {
	code, err := proc.Wait(context.Background())
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	a.exit = procEnd{code, err}
	close(a.exited)
}

// close removes the box and stops the gateway, in their own time whatever the
// caller's context says.
func (a *attempt) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if a.gate != nil {
		_ = a.gate.Close(ctx)
	}
	if a.conn != nil {
		_ = a.conn.Close()
	}
	if a.box != nil {
		if err := a.box.Remove(ctx); err != nil {
			a.notice(fmt.Sprintf("a box was left behind, the next start removes it: %v", err))
		}
	}
	for _, done := range []chan struct{}{a.served, a.exited} {
		if done != nil {
			<-done
		}
	}
	a.sweep.passed(StepRemoved)
}
