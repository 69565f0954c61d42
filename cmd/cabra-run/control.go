package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/control"
	"cabra-run/sandbox"
)

func newControl(a *app) *cobra.Command {
	var drain, halt bool
	var jobs int
	cmd := &cobra.Command{
		Use:   "control RUN",
		Short: "see and steer a run that is being worked on",
		Long: `Asks the process that works on the run what it is doing, and tells it with
  --drain    to start nothing new and to end when what runs has finished
  --halt     to end what runs in order, keeping what it did
  --jobs N   to run N attempts at the same time from now on
Only the user who runs it, and root, may ask; both commands need the same
--state-dir. What was stopped is continued by: cabra-run resume RUN.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			request := control.Request{Op: control.OpStatus}
			given := 0
			for _, f := range []struct {
				is bool
				to control.Request
			}{
				{drain, control.Request{Op: control.OpDrain}}, {halt, control.Request{Op: control.OpHalt}},
				{cmd.Flags().Changed("jobs"), control.Request{Op: control.OpJobs, Jobs: jobs}},
			} {
				if f.is {
					given++
					request = f.to
				}
			}
			if given > 1 {
				return usagef("--drain, --halt and --jobs exclude each other")
			}
			if err := checkJobs(jobs); request.Op == control.OpJobs && err != nil {
				return err
			}
			return controlRun(cmd.Context(), a, args[0], request)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&drain, "drain", false, "start nothing new, let what runs finish")
	f.BoolVar(&halt, "halt", false, "end what runs in order")
	f.IntVar(&jobs, "jobs", 0, "attempts at the same time")
	f.BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

func checkJobs(n int) error {
	if n < 1 || n > sandbox.GuestSlots {
		return usagef("--jobs %d: 1 to %d", n, sandbox.GuestSlots)
	}
	return nil
}

func controlRun(ctx context.Context, a *app, run string, r control.Request) error {
	store, err := a.openRun(run, results.ReadOnly) // says what is wrong with the name
	if err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	state, err := control.Ask(ctx, a.stateDir, a.runPath(run), r)
	var none *control.NotRunningError
	if errors.As(err, &none) {
		return a.notRunning(run, err)
	}
	if errors.Is(err, fs.ErrPermission) {
		return hinted(err, "only the user who runs it, and root, may ask; what is done can be seen by: "+a.command("status", run))
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(state)
	}
	return printLive(a.stdout, state)
}

// notRunning adds to the error what the run's lock says.
func (a *app) notRunning(run string, err error) error {
	pid, held, heldErr := results.Held(a.runPath(run))
	switch {
	case heldErr != nil || !held:
		return hinted(err, "continue it: "+a.command("resume", run))
	case pid == 0:
		return hinted(err, "another process has it open; if that is a sweep, it has another --state-dir")
	}
	return hinted(err, fmt.Sprintf("process %d has it open; if that is a sweep, it has another --state-dir", pid))
}

func printLive(w io.Writer, s control.State) error {
	_, err := fmt.Fprintf(w, "run %s, process %d: %s, %d of at most %d attempts at the same time\n",
		printableLine(s.Run), s.PID, levelText(s), s.Taken, s.Jobs)
	if err == nil {
		_, err = fmt.Fprintf(w, "%d of %d trials done, spent %s\n", s.Done, s.Planned, liveCost(s))
	}
	if err == nil && s.Waiting != "" {
		_, err = fmt.Fprintln(w, "nothing new is started: "+printableLine(s.Waiting))
	}
	for _, at := range s.Attempts {
		if err == nil {
			_, err = fmt.Fprintln(w, "  "+flightText(at))
		}
	}
	return err
}

func levelText(s control.State) string {
	if s.Why == "" {
		return s.Level
	}
	return s.Level + " (" + printableLine(s.Why) + ")"
}

func liveCost(s control.State) string {
	switch {
	case s.CostUSD == nil && s.CostUnknown > 0:
		return "unknown"
	case s.CostUSD == nil:
		return "$0.00"
	}
	return atLeast(s.CostUnknown) + fmt.Sprintf("$%.2f", *s.CostUSD)
}

func flightText(at control.Attempt) string {
	text := at.Task
	if at.Repetition > 1 {
		text += fmt.Sprintf(", repetition %d", at.Repetition)
	}
	if at.Who != "" {
		text += ", " + at.Who
	}
	return printableLine(fmt.Sprintf("%s, attempt %d, for %s", text, at.Number, ageText(at.Seconds)))
}

// ageText is a time without the fractions that nobody reads.
func ageText(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// steered is a sweep as others may see and steer it.
type steered struct {
	app   *app
	sweep *runner.Sweep
	store *results.Store

	mu    sync.Mutex
	spent results.Spending // as of read
	read  time.Time
}

// spentEvery is how old a sum of what was spent may be: adding it up takes a
// while for large runs, and anybody may ask all the time.
const spentEvery = 10 * time.Second

// steer lets others steer a sweep until the returned function is called, which
// has to be before the run's lock is given up.
func (a *app) steer(store *results.Store, s *runner.Sweep) (end func()) {
	srv, err := control.Listen(a.stateDir, store.Dir(), &steered{app: a, sweep: s, store: store})
	if err != nil {
		a.say(fmt.Sprintf("this run cannot be steered from elsewhere: %v", err))
		return func() {}
	}
	return func() {
		if err := srv.Close(); err != nil {
			a.say(fmt.Sprintf("the control socket could not be removed: %v", err))
		}
	}
}

func (s *steered) State(ctx context.Context) (control.State, error) {
	l := s.sweep.Live()
	out := control.State{Jobs: l.Jobs, Taken: l.Taken, Level: l.Level.String(), Why: l.Why, Waiting: l.Waiting,
		Planned: l.Planned, Done: l.Done, Attempts: []control.Attempt{}}
	for _, f := range l.InFlight {
		out.Attempts = append(out.Attempts, control.Attempt{Task: string(f.Task), Repetition: f.Repetition,
			Number: f.Number, Who: f.Who, Seconds: time.Since(f.Started).Seconds()})
	}
	spent, err := s.spending(ctx)
	if err != nil {
		return out, err
	}
	out.CostUnknown = spent.Unknown
	if spent.USD > 0 || spent.Unknown == 0 {
		out.CostUSD = &spent.USD
	}
	return out, nil
}

func (s *steered) spending(ctx context.Context) (results.Spending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.read.IsZero() || now.Sub(s.read) >= spentEvery {
		total, _, err := s.store.Spending(ctx)
		if err != nil {
			return total, err
		}
		s.spent, s.read = total, now
	}
	return s.spent, nil
}

const toldBy = "told to by cabra-run control"

func (s *steered) Drain() {
	if s.sweep.Stop.Level() < runner.Drain {
		s.app.say("\ntold to drain: what runs finishes, nothing new starts")
	}
	s.sweep.Stop.Raise(runner.Drain, toldBy)
}

func (s *steered) Halt() {
	if s.sweep.Stop.Level() < runner.Halt {
		s.app.say("\ntold to halt: ending the attempts in order, keeping what they did")
	}
	s.sweep.Stop.Raise(runner.Halt, toldBy)
}

func (s *steered) SetJobs(n int) error {
	if err := checkJobs(n); err != nil {
		return err
	}
	if was := s.sweep.Live().Jobs; was != n {
		s.app.say(fmt.Sprintf("\ntold to run %d attempts at the same time, not %d", n, was))
	}
	s.sweep.SetJobs(n)
	return nil
}
