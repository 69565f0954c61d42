package sandboxtest

import (
	"bufio"
	"context"
	"io"
	"strings"

	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
)

// console waits for the sizes of its terminal, then for a line.
var console = script{
	name: "console",
	shell: `[ -t 0 ] && [ -t 1 ] && [ -t 2 ] || exit 9
until [ "$(stty size)" = "40 120" ]; do :; done; echo first >&2
until [ "$(stty size)" = "50 130" ]; do :; done; echo second
read line; echo "heard $line"; exit 6`,
	fake: func(_ context.Context, p *fake.Proc) int { // which has no terminals
		io.WriteString(p.Stdout, "first\r\nsecond\r\n")
		line, err := bufio.NewReader(p.Stdin).ReadString('\n')
		if err != nil {
			return 1
		}
		io.WriteString(p.Stdout, "heard "+strings.TrimSpace(line)+"\r\n")
		return 6
	},
}

func testTerminal(s *suite) {
	b := s.start(s.spec(idle))
	in, input := io.Pipe()
	defer input.Close()
	output, out := io.Pipe()
	sizes := make(chan sandbox.TerminalSize, 1)
	p, err := b.Exec(s.ctx, sandbox.Command{
		Args: console.args(), Env: path, Stdin: in, Stdout: out,
		Terminal: &sandbox.Terminal{Size: sandbox.TerminalSize{Rows: 40, Cols: 120}, Resize: sizes},
	})
	s.must("starting command", err)
	lines := bufio.NewReader(output)
	expect := func(want string) {
		s.Helper()
		for { // the terminal itself repeats what is typed
			line, err := lines.ReadString('\n')
			s.must("reading "+want, err)
			if strings.TrimSpace(line) == want {
				return
			}
		}
	}
	expect("first")
	sizes <- sandbox.TerminalSize{Rows: 50, Cols: 130}
	expect("second")
	_, err = io.WriteString(input, "something\n")
	s.must("typing", err)
	expect("heard something")
	go io.Copy(io.Discard, lines)
	if code, err := p.Wait(s.ctx); err != nil || code != 6 {
		s.Errorf("code %d, %v; want 6", code, err)
	}
	out.Close()
}
