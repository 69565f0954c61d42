//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// program builds the relay as the images get it.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "relay")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return path
}

// The agent can read the program. It must hold nothing of ours but itself,
// nothing of the tasks, and be small.
func TestProgramHoldsNothingElse(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"cabra-run/sandbox/relay/cabra-relay", "cabra-run/sandbox/relay/internal/wire",
		"github.com/hashicorp/yamux", "golang.org/x/sys/unix"}
	got := strings.Fields(string(out))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the program is made of %q, want %q", got, want)
	}
	code, err := os.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(code) > 5<<20 {
		t.Errorf("the program has %d bytes, more than 5 MiB", len(code))
	}
	for _, word := range []string{"traversal", "dead-code", "dead_code", "add-parameter", "add_parameter", "add-return",
		"cache-function", "dont-repeat", "get_multiplier", "refactor", "callgraph", "strops", "mylibrary", "verdict",
		"scorer", "cabra-run/tasks", "cabra-run/runner", "cabra-run/results", "docker", "PYTHONPATH"} {
		if bytes.Contains(bytes.ToLower(code), []byte(strings.ToLower(word))) {
			t.Errorf("the program holds the word %q", word)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{}, {"unknown"}, {"serve", "x"}, {"serve", "--port"}, {"serve", "--port", "x"}, {"serve", "--port", "-1"},
		{"serve", "--what", "1"}, {"guest"}, {"guest", "--processes", "3", "--"}, {"signal"}, {"signal", "NOPE"},
		{"signal", "TERM", "HUP"}, {"kill", "x"}, {"archive"}, {"archive", "--only", "../x", "/tmp"},
		{"archive", "--only", "/x", "/tmp"}, {"archive", "--only", ".", "/tmp"}, {"usage"}, {"usage", "a", "b"},
		{"unpack"}, {"unpack", "a", "b"}, {"unpack", "--replace"}, {"unpack", "--bytes", "-1", "/tmp"},
	} {
		code, err := run(args)
		if code != exitUsage || !errors.Is(err, errUsage) {
			t.Errorf("relay %q: exit code %d, %v", args, code, err)
		}
	}
}

func TestKillSparesPeople(t *testing.T) {
	if os.Getuid() >= firstUID {
		t.Skip("this user has a uid that boxes use")
	}
	// This signal would do no harm, should the check be missing.
	if code, err := run([]string{"signal", "CONT"}); code != exitFailed || err == nil {
		t.Errorf("signalling everything as uid %d: exit code %d, %v", os.Getuid(), code, err)
	}
}

// inBox runs a shell script as PID 1 of a process namespace of its own, where
// a signal to everybody cannot get out, and returns its output.
func inBox(t *testing.T, relay, script string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("making a process namespace with several uids needs root")
	}
	openFolders(t, relay)
	cmd := exec.Command("sh", "-c", "mount -t proc proc /proc && "+script)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS, // the latter makes mounts private
	}
	cmd.Env = append(os.Environ(), "RELAY="+relay)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// openFolders lets every uid reach the program.
func openFolders(t *testing.T, path string) {
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// A uid that no box has: limits of processes count those of other boxes, too.
const asGuest = "setpriv --reuid 29001 --regid 29001 --clear-groups "

func TestKill(t *testing.T) {
	out := inBox(t, program(t), strings.Join([]string{
		asGuest + "sleep 1000 &", asGuest + "sh -c 'trap : TERM HUP INT; sleep 1000 & sleep 1000; sleep 1000' &",
		"setpriv --reuid 29002 sleep 1000 & other=$!", "sleep 0.2",
		asGuest + "$RELAY signal TERM; echo signal $?",
		asGuest + "$RELAY kill; echo kill $?",
		"kill -0 $other && echo other lives",
		asGuest + "$RELAY kill; echo again $?", "kill $other",
	}, "\n"))
	for _, want := range []string{"signal 0\n", "kill 0\n", "other lives\n", "again 0\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestGuest(t *testing.T) {
	out := inBox(t, program(t), asGuest+`$RELAY guest --processes 7 -- sh -c '
prlimit --nproc --noheadings --output SOFT,HARD; cat /proc/self/oom_score_adj
prlimit --pid $$ --nproc=100:100 2>/dev/null || echo refused'; `+asGuest+`$RELAY guest -- nothing-such; echo $?`)
	words := strings.Fields(out)
	if len(words) < 5 || !slices.Equal(words[:4], []string{"7", "7", "1000", "refused"}) || words[len(words)-1] != "127" {
		t.Errorf("output %q", out)
	}
}

func TestLivesAs(t *testing.T) {
	status := "Name:\tx\nState:\t%s\nUid:\t%s\n"
	tests := []struct {
		state, uid string
		want       bool
	}{
		{"S (sleeping)", "20001\t20001\t20001\t20001", true},
		{"T (stopped)", "20001\t0\t0\t0", true},
		{"Z (zombie)", "20001\t20001\t20001\t20001", false},
		{"X (dead)", "20001\t20001\t20001\t20001", false},
		{"S (sleeping)", "2000\t20001\t20001\t20001", false},
	}
	for _, test := range tests {
		if got := livesAs(fmt.Appendf(nil, status, test.state, test.uid), 20001); got != test.want {
			t.Errorf("state %q, uid %q: %v", test.state, test.uid, got)
		}
	}
}

func TestUsage(t *testing.T) {
	relay := program(t)
	dir := tree(t, map[string]string{"a": strings.Repeat("x", 100_000), "b/c": "y", "b/d/": ""})
	if err := os.Symlink("/", filepath.Join(dir, "root")); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(relay, "usage", "--", dir).Output()
	var bytes, files int64
	if n, _ := fmt.Sscanf(string(out), "%d %d\n", &bytes, &files); n != 2 || err != nil {
		t.Fatalf("output %q, %v", out, err)
	}
	// Folders and one-byte files take a block at most on any file system that we know.
	if files != 5 || bytes < 100_000 || bytes > 100_000+5*64<<10 {
		t.Errorf("%d bytes in %d files", bytes, files)
	}
	cmd := exec.Command(relay, "usage", "--entries", "2", dir)
	if cmd.Run(); cmd.ProcessState.ExitCode() != exitPartial {
		t.Errorf("exit code %d of a count that stopped", cmd.ProcessState.ExitCode())
	}
}
