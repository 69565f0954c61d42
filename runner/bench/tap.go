package bench

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"cabra-run/runner"
	"cabra-run/sandbox"
)

// tap stands between a sweep and its engine and notes what is asked of boxes
// and how long it takes.
type tap struct {
	sandbox.Engine
	made func(box sandbox.Box) // told of the first box, once it runs

	mu    sync.Mutex
	first *tappedBox
	steps map[string][]float64 // milliseconds
}

func newTap(e sandbox.Engine) *tap { return &tap{Engine: e, steps: map[string][]float64{}} }

// took notes a step that began then.
func (t *tap) took(step string, began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps[step] = append(t.steps[step], milliseconds(time.Since(began)))
}

// reset forgets the times.
func (t *tap) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = map[string][]float64{}
}

// The steps of an attempt as the contract of package sandbox has them, in
// their order; what an attempt does beside them is the rest.
const (
	stepCreate  = "create the box"
	stepStart   = "start it"
	stepConnect = "first word of the relay"
	stepAgent   = "the agent's command"
	stepKillAll = "kill the guest's processes"
	stepHome    = "read the home"
	stepLimits  = "ask for its limits"
	stepKill    = "kill the box"
	stepCollect = "read the workspace"
	stepRemove  = "remove the box"
)

func steps() []string {
	return []string{stepCreate, stepStart, stepConnect, stepLimits, stepAgent, stepKillAll, stepHome, stepKill,
		stepCollect, stepRemove}
}

// execSteps are the commands of an attempt of an agent that ends by itself.
func execSteps() []string { return []string{stepAgent, stepKillAll, stepHome} }

func (t *tap) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Box, error) {
	defer t.took(stepCreate, time.Now())
	box, err := t.Engine.Create(ctx, spec)
	if err != nil {
		return nil, err
	}
	b := &tappedBox{Box: box, tap: t}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first == nil {
		t.first = b
	}
	return b, nil
}

// connect is a sweep's Connect.
func (t *tap) connect(ctx context.Context, stdio io.ReadWriteCloser) (runner.ModelConn, error) {
	defer t.took(stepConnect, time.Now())
	return connect(ctx, stdio)
}

// tappedBox notes the steps of one box.
type tappedBox struct {
	sandbox.Box
	tap *tap

	mu       sync.Mutex
	commands []tappedCommand
}

// tappedCommand is a command that can be started again.
type tappedCommand struct {
	sandbox.Command
	stdin string
}

// again returns the commands of the box, as new.
func (b *tappedBox) again() []sandbox.Command {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []sandbox.Command
	for _, c := range b.commands {
		if c.Stdin != nil {
			c.Stdin = strings.NewReader(c.stdin)
		}
		list = append(list, c.Command)
	}
	return list
}

func (b *tappedBox) Start(ctx context.Context) error {
	began := time.Now()
	err := b.Box.Start(ctx)
	b.tap.took(stepStart, began)
	if err == nil && b == b.tap.first && b.tap.made != nil {
		b.tap.made(b.Box)
	}
	return err
}

func (b *tappedBox) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	c := tappedCommand{Command: cmd}
	if cmd.Stdin != nil {
		text, err := io.ReadAll(cmd.Stdin)
		if err != nil {
			return nil, err
		}
		c.stdin = string(text)
		cmd.Stdin = strings.NewReader(c.stdin)
	}
	b.mu.Lock()
	step := execSteps()[min(len(b.commands), len(execSteps())-1)]
	b.commands = append(b.commands, c)
	b.mu.Unlock()
	began := time.Now()
	p, err := b.Box.Exec(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return &tappedProcess{Process: p, ended: sync.OnceFunc(func() { b.tap.took(step, began) })}, nil
}

type tappedProcess struct {
	sandbox.Process
	ended func()
}

func (p *tappedProcess) Wait(ctx context.Context) (int, error) {
	defer p.ended()
	return p.Process.Wait(ctx)
}

func (b *tappedBox) Effective(ctx context.Context) (sandbox.Effective, error) {
	defer b.tap.took(stepLimits, time.Now())
	return b.Box.Effective(ctx)
}

func (b *tappedBox) Kill(ctx context.Context) error {
	defer b.tap.took(stepKill, time.Now())
	return b.Box.Kill(ctx)
}

func (b *tappedBox) Collect(ctx context.Context, dst *os.Root, l sandbox.CollectLimits) (sandbox.Collection, error) {
	defer b.tap.took(stepCollect, time.Now())
	return b.Box.Collect(ctx, dst, l)
}

func (b *tappedBox) Remove(ctx context.Context) error {
	defer b.tap.took(stepRemove, time.Now())
	return b.Box.Remove(ctx)
}
