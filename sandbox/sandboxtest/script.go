package sandboxtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"cabra-run/sandbox"
	"cabra-run/sandbox/fake"
)

// script is a program of the suite in two forms: for a shell in a real box,
// and as a Go function that does the same in a fake one.
type script struct {
	name  string
	shell string
	fake  fake.Program
}

// args runs the script; a fake engine recognises it by its last argument.
func (s script) args() []string { return []string{"/bin/sh", "-c", s.shell, s.name} }

// path is the environment of every shell of the suite.
var path = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}

// Program finds the Go form of a script of the suite; give it to a fake engine
// that shall pass Conformance.
func Program(args []string) fake.Program {
	if len(args) != 4 {
		return nil
	}
	for _, s := range scripts() {
		if s.name == args[3] {
			return s.fake
		}
	}
	return nil
}

func scripts() []script {
	return []script{
		fastExit, echo, idle, zeros, lateRead, yes, show, fail, orphan,
		nastyTree, manyFiles, lockedTree, deepTree, megabyte, hog, crowd, console,
	}
}

var fastExit = script{
	name: "fast exit", shell: `echo out; echo err >&2; exit 7`,
	fake: func(_ context.Context, p *fake.Proc) int {
		io.WriteString(p.Stdout, "out\n")
		io.WriteString(p.Stderr, "err\n")
		return 7
	},
}

var echo = script{
	name: "echo", shell: `cat; exit 4`,
	fake: func(_ context.Context, p *fake.Proc) int {
		io.Copy(p.Stdout, p.Stdin)
		return 4
	},
}

// idle stays until its standard input ends.
var idle = script{
	name: "idle", shell: `cat >/dev/null`,
	fake: func(_ context.Context, p *fake.Proc) int {
		io.Copy(io.Discard, p.Stdin)
		return 0
	},
}

const zerosBytes = 20_000_000

var zeros = script{
	name: "zeros", shell: fmt.Sprintf(`head -c %d /dev/zero`, zerosBytes),
	fake: func(_ context.Context, p *fake.Proc) int {
		block := make([]byte, 10_000)
		for range zerosBytes / len(block) {
			if _, err := p.Stdout.Write(block); err != nil {
				return 1
			}
		}
		return 0
	},
}

// lateRead writes what fits into a pipe and ends.
var lateRead = script{
	name: "late read", shell: `head -c 30000 /dev/zero`,
	fake: func(_ context.Context, p *fake.Proc) int {
		p.Stdout.Write(make([]byte, 30_000))
		return 0
	},
}

// yes never stops writing.
var yes = script{
	name: "yes", shell: `yes`,
	fake: func(ctx context.Context, p *fake.Proc) int {
		for ctx.Err() == nil {
			if _, err := io.WriteString(p.Stdout, strings.Repeat("y\n", 1000)); err != nil {
				return 1
			}
		}
		return 1
	},
}

// show says who and where it is, and copies its standard input.
var show = script{
	name: "show", shell: `id -u; pwd; echo "$COLOUR"; cat; echo problem >&2; exit 3`,
	fake: func(_ context.Context, p *fake.Proc) int {
		fmt.Fprintf(p.Stdout, "%d\n%s\n%s\n", p.UID, p.Dir, p.Getenv("COLOUR"))
		io.Copy(p.Stdout, p.Stdin)
		io.WriteString(p.Stderr, "problem\n")
		return 3
	},
}

var fail = script{
	name: "fail", shell: `exit 1`,
	fake: func(context.Context, *fake.Proc) int { return 1 },
}

// orphan ends while a child of it keeps the standard output open.
var orphan = script{
	name: "orphan", shell: `echo started; sleep 1000 & exit 5`,
	fake: func(_ context.Context, p *fake.Proc) int {
		io.WriteString(p.Stdout, "started\n")
		return 5
	},
}

// The lengths of the sparse file of nastyTree. Through an archive stream it
// comes with all its zeros, and the tests have no time for five gigabytes; the
// file size limit keeps such a file out of a box with ordinary limits.
const (
	sparseBytes  = 5 << 30
	sparseStream = 200 << 20
)

// sparseEnv tells nastyTree the length.
const sparseEnv = "SPARSE="

// nastyTree fills the workspace with one of each kind.
var nastyTree = script{
	name: "nasty tree",
	shell: `set -e; cd /workspace
echo changed > solution.py
ln -s /etc/passwd link; ln -s / rootlink; ln -s nowhere dangling; ln -s /proc/self/fd looping
mkfifo fifo
echo twice > one; ln one two
echo hidden > closed; chmod 0000 closed
mkdir shut; echo inside > shut/file; chmod 0000 shut
echo newline > "$(printf 'new\nline')"; echo escape > "$(printf 'esc\033[31m')"; echo bytes > "$(printf 'bad\377name')"
truncate -s "$SPARSE" sparse
mkdir -p d1/d2/d3/d4; echo deep > d1/d2/d3/d4/deep; echo shallow > d1/d2/shallow
echo run > tool; chmod 0755 tool`,
	fake: func(_ context.Context, p *fake.Proc) int {
		size, err := strconv.ParseInt(p.Getenv("SPARSE"), 10, 64)
		if err != nil {
			return 1
		}
		return nasty(p.Box.Workspace(), size)
	},
}

func nasty(dir string, sparse int64) int {
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode os.FileMode) error {
		return os.WriteFile(at(name), []byte(text), mode)
	}
	steps := []error{
		write("solution.py", "changed\n", 0o644),
		os.Symlink("/etc/passwd", at("link")), os.Symlink("/", at("rootlink")),
		os.Symlink("nowhere", at("dangling")), os.Symlink("/proc/self/fd", at("looping")),
		unix.Mkfifo(at("fifo"), 0o644),
		write("one", "twice\n", 0o644), os.Link(at("one"), at("two")),
		write("closed", "hidden\n", 0o644), os.Chmod(at("closed"), 0),
		os.Mkdir(at("shut"), 0o755), write("shut/file", "inside\n", 0o644), os.Chmod(at("shut"), 0),
		write("new\nline", "newline\n", 0o644), write("esc\x1b[31m", "escape\n", 0o644),
		write("bad\xffname", "bytes\n", 0o644),
		write("sparse", "", 0o644), os.Truncate(at("sparse"), sparse),
		os.MkdirAll(at("d1/d2/d3/d4"), 0o755), write("d1/d2/d3/d4/deep", "deep\n", 0o644),
		write("d1/d2/shallow", "shallow\n", 0o644),
		write("tool", "run\n", 0o755), os.Chmod(at("tool"), 0o755),
	}
	for _, err := range steps {
		if err != nil {
			return 1
		}
	}
	return 0
}

const manyCount = 600

// manyFiles makes manyCount small files in a folder that sorts before the
// solution.
var manyFiles = script{
	name: "many files",
	shell: fmt.Sprintf(`cd /workspace && mkdir a && i=0
while [ $i -lt %d ]; do echo $i > a/f$i; i=$((i+1)); done`, manyCount),
	fake: func(_ context.Context, p *fake.Proc) int {
		dir := filepath.Join(p.Box.Workspace(), "a")
		if os.Mkdir(dir, 0o755) != nil {
			return 1
		}
		for i := range manyCount {
			if os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), fmt.Appendln(nil, i), 0o644) != nil {
				return 1
			}
		}
		return 0
	},
}

// lockedTree makes folders that their owner cannot enter or change any more.
var lockedTree = script{
	name: "locked tree",
	shell: `cd /workspace && mkdir -p a/b/c && echo x > a/b/c/f && chmod 0000 a/b/c/f a/b/c &&
chmod 0100 a/b && chmod 0500 a && chmod 0000 .`,
	fake: func(_ context.Context, p *fake.Proc) int {
		dir := p.Box.Workspace()
		deep := filepath.Join(dir, "a", "b", "c")
		if os.MkdirAll(deep, 0o755) != nil || os.WriteFile(filepath.Join(deep, "f"), nil, 0) != nil {
			return 1
		}
		for _, d := range []string{deep, filepath.Dir(deep), filepath.Dir(filepath.Dir(deep)), dir} {
			if os.Chmod(d, 0) != nil {
				return 1
			}
		}
		return 0
	},
}

// deepLevels makes a path of far more than the 4,096 bytes that a path may have.
const deepLevels = 3000

// deepTree nests folders deeper than any path can say.
var deepTree = script{
	name: "deep tree",
	// A shell keeps the path in mind and gives up.
	shell: fmt.Sprintf(`cd /workspace && python3 -c '
import os
for i in range(%d):
    os.mkdir("d")
    os.chdir("d")
'`, deepLevels),
	fake: func(_ context.Context, p *fake.Proc) int {
		at, err := unix.Open(p.Box.Workspace(), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		for i := 0; i < deepLevels && err == nil; i++ {
			err = unix.Mkdirat(at, "d", 0o755)
			next, oerr := unix.Openat(at, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			unix.Close(at)
			at, err = next, errors.Join(err, oerr)
		}
		unix.Close(at)
		if err != nil {
			return 1
		}
		return 0
	},
}

// megabyte writes one to the workspace.
var megabyte = script{
	name: "megabyte", shell: `head -c 1048576 /dev/zero > /workspace/big`,
	fake: func(_ context.Context, p *fake.Proc) int {
		err := os.WriteFile(filepath.Join(p.Box.Workspace(), "big"), make([]byte, 1<<20), 0o644)
		if err != nil {
			return 1
		}
		return 0
	},
}

// hog takes memory until it is stopped. As PID 1 it takes the box with it.
var hog = script{
	name: "hog", shell: `read line; exec tail /dev/zero`,
	fake: func(ctx context.Context, p *fake.Proc) int {
		bufio.NewReader(p.Stdin).ReadString('\n')
		if p.UID == sandbox.InitUID {
			p.Box.OutOfMemory()
			<-ctx.Done()
			return 137
		}
		p.Box.SetUsage(sandbox.Usage{OOMKills: 1, Pids: 1})
		return 137
	},
}

// crowdSize is how many processes crowd starts.
const crowdSize = 40

// crowd starts processes; it fails when it may not.
var crowd = script{
	name: "crowd",
	shell: fmt.Sprintf(`i=0; all=; while [ $i -lt %d ]; do
sleep 1000 </dev/null >/dev/null 2>&1 & all="$all $!"; i=$((i+1)); done; kill $all`, crowdSize),
	fake: func(_ context.Context, p *fake.Proc) int {
		if p.Box.Pids() < crowdSize {
			return 2
		}
		return 0
	},
}
