package docker

import (
	"context"
	"io"
	"time"

	"github.com/docker/docker/api/types/container"

	"cabra-run/sandbox"
)

// The engine refuses a size until the command runs, and has no call that waits
// for that.
const (
	resizeTries = 100
	resizePoll  = 20 * time.Millisecond
)

// copyTerminal copies what a terminal shows. A writer that fails is given
// nothing more, and the rest is dropped.
func copyTerminal(src io.Reader, out io.Writer) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 && out != nil {
			if _, werr := out.Write(buf[:n]); werr != nil {
				out = nil
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// keepSize gives the terminal its first size and those that follow, until the
// command's output ends. A size that is not taken costs nothing but looks.
func (p *process) keepSize(t sandbox.Terminal) {
	retry := time.NewTicker(resizePoll)
	defer retry.Stop()
	for try := 1; p.resize(t.Size) != nil && try < resizeTries; try++ {
		select {
		case <-retry.C:
		case <-p.copied:
			return
		}
	}
	for {
		select {
		case size, ok := <-t.Resize:
			if !ok {
				return
			}
			_ = p.resize(size)
		case <-p.copied:
			return
		}
	}
}

func (p *process) resize(size sandbox.TerminalSize) error {
	if size.Rows == 0 || size.Cols == 0 {
		return nil
	}
	return p.box.e.call(context.Background(), "resizing terminal", func(ctx context.Context) error {
		return p.box.e.api.ContainerExecResize(ctx, p.id, container.ResizeOptions{Height: size.Rows, Width: size.Cols})
	})
}
