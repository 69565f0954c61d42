package runner

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cabra-run/results"
	"cabra-run/runner/admission"
	"cabra-run/runner/agent"
	"cabra-run/sandbox"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/gateway/price"
	"cabra-run/tasks"
)

// Sweep works off the trials of one run.
type Sweep struct {
	Source tasks.Source
	Store  *results.Store
	// Pairings are the agents with their models, in the order of the store's
	// lock. No two have the same agent, version and model.
	Pairings []Pairing
	Scorer   Scorer
	// Verdicts names those that every trial gets, nil for those of the store's
	// lock. Without one that the lock names a trial is not done.
	Verdicts []string

	// SameTasks says that the source was found to be what the run was planned
	// with: a plan that is whole is then not made again.
	SameTasks bool
	// Select says which trials of the plan this run has; nil for all.
	Select func(results.Trial) bool

	// Replay answers every attempt from the recorded traffic of an earlier run;
	// nil asks the models.
	Replay *Replays

	Engine  sandbox.Engine
	Gateway *gateway.Gateway
	// Budget bounds what the run may spend; nil bounds nothing. When it is used
	// up the sweep ends in order, and what was not finished stays pending.
	Budget *gateway.Budget

	Settings Settings
	Stop     *Stopper
	Observer Observer

	// Connect makes the model connection out of a box's standard streams.
	Connect func(ctx context.Context, stdio io.ReadWriteCloser) (ModelConn, error)
	// Pause waits between two attempts of a trial; nil waits by the clock.
	Pause func(ctx context.Context, d time.Duration) error
	// Room says why nothing new can be started just now, "" when it can. It is
	// asked before each attempt and again while one waits. Nil goes by the
	// settings: MinFreeDisk and MinFreeMemory.
	Room func(ctx context.Context) string

	// step is told of every step that is passed, clock is the machine's; both
	// are set by tests alone.
	step  func(Step)
	clock func() time.Time

	breaker breaker
	scoring breaker // of trials that could not be scored
	places  places
	opening opening
	engine  engineWatch
	flights flights
	// admission is what Room asks by itself; nil where Room was given, or
	// nothing has to stay free.
	admission *admission.Gate

	mu     sync.Mutex
	paused string // why the breaker paused the sweep
	failed error  // what made going on pointless: the store cannot be written
	queue  queue  // of those who wait for room
}

// Pairing is an agent with the model that it is given.
type Pairing struct {
	Agent agent.Agent
	Model Model
	Ask   Ask
	Image string // ID of the agent's image
}

// String is the pairing's name for people.
func (p *Pairing) String() string {
	return p.Agent.Name() + "@" + p.Agent.Version() + " " + p.Model.Name
}

// Model is what answers the agent.
type Model struct {
	Name     string // in records and tables, as the user wrote it
	Agent    string // what the CLI is told
	Wire     string // what the provider is asked for
	Upstream gateway.Upstream
	Wires    []string // the wire formats that the upstream serves
	// Price says what its tokens cost; nil leaves costs unknown.
	Price *price.Model
	// Login is set where the agent asks its maker's own hosts.
	Login *gateway.Login
}

// Ask is what the agent is told beside its task and its model.
type Ask struct {
	Wire   string // the wire format to speak, one of the agent's
	Effort string // reasoning effort, "" for its own default
	// Instructions lets files such as AGENTS.md in the workspace instruct it.
	Instructions bool
}

// ModelConn is the host's end of a box's model connection: every connection
// that the agent opens is accepted from it.
type ModelConn interface {
	net.Listener
	Done() <-chan struct{} // closed when the connection has ended
	Err() error            // why; what the box did wrong wraps relay.ErrProtocol
}

// Scorer judges code.
type Scorer interface {
	// ScoreBy gives the named verdicts. With an error, which is a failure of
	// ours and never of the code, it returns those that it could give.
	ScoreBy(ctx context.Context, task *tasks.Task, code tasks.Files, verdicts ...string) ([]results.Verdict, error)
}

// Settings are the knobs of a sweep.
type Settings struct {
	Jobs        int
	Repetitions int
	Timeout     time.Duration // of an attempt, without the time spent waiting for the provider
	MaxWait     time.Duration // the most that waiting may add
	Stall       time.Duration
	Grace       time.Duration // between the ending signal and the kill
	OutputBytes int64
	Limits      sandbox.Limits
	Network     sandbox.Network
	BreakAfter  int // attempts in a row that failed outside of the agent

	// MinFreeDisk and MinFreeMemory are the bytes that have to stay free while
	// attempts are started; 0 does not look. MaxRoomWait is how long the sweep
	// waits for room with nothing in flight before it pauses; 0 waits for ever.
	MinFreeDisk, MinFreeMemory int64
	MaxRoomWait                time.Duration
}

// Summary is how a sweep ended.
type Summary struct {
	Planned, Done, Pending int
	// WithoutOutcome counts finished trials that say nothing about the agent.
	WithoutOutcome int
	Paused         string // why the breaker paused the sweep
	Budget         string // what the run has spent, when its budget ended the sweep
	Stopped        string // why it was stopped from outside
}

// Run plans the trials of the source, works through those that are not done
// and returns when all are, or when it was stopped or paused. A failed trial is
// a record, not an error.
func (s *Sweep) Run(ctx context.Context) (Summary, error) {
	s.prepare()
	ctx, cancel := s.abortable(ctx)
	defer cancel()
	defer s.heedBudget()()
	todo, err := s.plan(ctx)
	if err != nil {
		return Summary{}, err
	}
	s.Observer.observe(Event{Kind: SweepPlanned, Planned: todo.planned, Done: todo.done})
	if err := s.work(ctx, todo); err != nil {
		return Summary{}, err
	}
	return s.summarise(ctx)
}

func (s *Sweep) prepare() {
	s.breaker.limit, s.scoring.limit = s.Settings.BreakAfter, s.Settings.BreakAfter
	if limit, _ := s.places.Jobs(); limit == 0 { // nobody has changed it yet
		s.places.set(s.Settings.Jobs)
	}
	if s.Pause == nil {
		s.Pause = sleep
	}
	s.Observer = s.flights.hearing(s.Observer)
	if s.Room == nil {
		s.watchRoom()
	}
}

// abortable returns a context that ends when the sweep is aborted.
func (s *Sweep) abortable(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.Stop.Reached(Abort):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// SetJobs changes how many trials are worked on at the same time, also while
// the sweep runs: what is more than that ends as it would have.
func (s *Sweep) SetJobs(n int) { s.places.set(n) }

// work gives every open trial to the group, in plan order. Generating the
// tasks again is cheaper than holding them all.
func (s *Sweep) work(ctx context.Context, todo *plan) error {
	var g errgroup.Group
	err := func() error {
		if len(todo.open) == 0 {
			return nil
		}
		for task, err := range s.Source.Tasks(ctx) {
			if err != nil {
				return fmt.Errorf("generating tasks: %w", err)
			}
			for _, t := range todo.take(task.ID) {
				if !s.places.take(s.Stop.Reached(Drain)) {
					return nil
				}
				g.Go(func() error {
					defer s.places.free()
					s.trial(ctx, &t, &task)
					return nil
				})
			}
			if len(todo.open) == 0 {
				return nil
			}
		}
		return nil
	}()
	_ = g.Wait() // trials are records, they return no errors
	if err != nil && s.Stop.Level() < Abort {
		return err
	}
	return s.failed
}

// fail stops the sweep: what runs finishes as far as it can, nothing new starts.
func (s *Sweep) fail(err error) {
	s.mu.Lock()
	if s.failed == nil {
		s.failed = err
	}
	s.mu.Unlock()
	s.Stop.Raise(Drain, err.Error())
}

func (s *Sweep) summarise(ctx context.Context) (Summary, error) {
	sum := Summary{Paused: s.paused, Budget: s.overBudget()}
	counts, err := s.Store.Counts(context.WithoutCancel(ctx))
	if err != nil {
		return sum, err
	}
	sum.Planned, sum.Done, sum.WithoutOutcome = counts.Planned, counts.Done, counts.WithoutOutcome
	sum.Pending = counts.Planned - counts.Done
	if s.Stop.Level() > Running {
		sum.Stopped = s.Stop.Why()
	}
	return sum, nil
}
