package score

import (
	"context"
	"os"
	"strings"
	"testing"

	"cabra-run/sandbox/sandboxtest"
)

// realScorer skips where there is no container engine.
func realScorer(t *testing.T) *Scorer {
	t.Helper()
	if os.Getenv(sandboxtest.RealEnv) != "1" {
		t.Skipf("looks around in a real box; set %s=1 to run it", sandboxtest.RealEnv)
	}
	return newScorer(t, 1)
}

const lookHead = `import ctypes, os, socket

def denied(action, *args):
    try:
        action(*args)
    except OSError as e:
        return type(e).__name__
    return "possible"

def writable():
    found = []
    for folder, folders, _ in os.walk("/"):
        if folder == "/":
            folders.remove("proc")
            folders.remove("sys")
        if os.access(folder, os.W_OK):
            found.append(folder)
    return found

LIBC = ctypes.CDLL(None, use_errno=True)

def failing(name, *args):
    ctypes.set_errno(0)
    return ctypes.get_errno() if getattr(LIBC, name)(*args) == -1 else "possible"

`

// What a program finds in the box that it runs in.
func TestScorerBox(t *testing.T) {
	checkExpressions(t, realScorer(t), "math", [4]int{}, lookHead, [][2]string{
		{"os.getuid()", "10000"},
		{"sorted(set(os.environ) - {'PATH', 'LC_ALL', 'OPENBLAS_NUM_THREADS', 'TZ', 'HOME', 'HOSTNAME', 'PWD', 'TERM'})", "[]"},
		// Some engines leave /dev/mqueue; the executor empties it.
		{"set(writable()) <= {'/dev/mqueue'}", "True"},
		{"os.listdir('/workspace') if os.path.exists('/workspace') else []", "[]"},
		{"denied(open, '/proc/1/environ')", `"PermissionError"`},
		{"denied(open, '/proc/1/mem')", `"PermissionError"`},
		{"denied(os.listdir, '/proc/1/fd')", `"PermissionError"`},
		{"denied(open, '/proc/self/mem', 'r+b')", `"PermissionError"`},
		{"[fd for fd in range(64) if denied(os.fstat, fd) == 'possible']", "[0, 1, 2, 3]"},
		{"denied(os.fork)", `"PermissionError"`},
		{"denied(os.kill, 1, 9)", `"PermissionError"`},
		{"denied(os.execv, '/bin/true', ['true'])", `"PermissionError"`},
		{"denied(socket.socket)", `"PermissionError"`},
		{"[name for _, name in socket.if_nameindex()] if denied(socket.if_nameindex) == 'possible' else []", "[]"},
		{"failing('ptrace', 16, 1, 0, 0)", "1"},
		{"failing('shmget', 1, 4096, 0o1600)", "1"},
		{"failing('unshare', 0x10000000)", "1"},
		{"failing('mq_open', b'/x', 0o102, 0o600, None)", "1"},
		{"denied(os.setpriority, os.PRIO_PROCESS, 1, 19)", `"PermissionError"`},
	})
}

// What one candidate leaves behind is gone when the next one looks for it in
// the same box.
func TestNothingIsLeftForLater(t *testing.T) {
	s := realScorer(t)
	for _, a := range fileAttacks(t, "hostile") {
		if a.name != "leave_for_later" && a.name != "left_by_earlier" {
			continue
		}
		v, err := s.Score(context.Background(), tinyTask(), solution(a.source))
		if err != nil || !failsWith(v.Checks, "behaviour", "got 0.0") {
			t.Errorf("%s: %+v, %v", a.name, v, err)
		}
	}
}

// The versions that verdicts depend on: older Pythons reject right code.
func TestScorerVersions(t *testing.T) {
	s := realScorer(t)
	w, err := s.pools[roleCandidate].borrow(context.Background(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.pools[roleCandidate].giveBack(w, true)
	if !strings.HasPrefix(w.ready.Python, "3.13.") || !strings.HasPrefix(w.ready.Numpy, "2.") || !w.ready.Filter {
		t.Errorf("Python %s, numpy %s, system calls filtered %v", w.ready.Python, w.ready.Numpy, w.ready.Filter)
	}
}
