package runner_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"cabra-run/results"
	"cabra-run/runner"
)

// storageFault is a failure of the storage that a child brings about while it
// works, in a mount namespace of its own.
type storageFault struct {
	uid   int    // of the child in there; as another than 0 it is bound by modes
	hint  string // what the error must say to do
	bring func(j job) error
	mend  func(j job) error
}

var storageFaults = map[string]storageFault{
	"full disk": {hint: "free space", bring: fillDisk, mend: func(j job) error { return os.Remove(ballast(j)) }},
	"read-only artefacts": {uid: 1000, hint: "writable",
		bring: func(j job) error { return chmodTrials(j, 0o500) },
		mend:  func(j job) error { return chmodTrials(j, 0o700) }},
	"read-only temporary folder": {uid: 1000, hint: "writable",
		bring: func(j job) error { return os.Chmod(filepath.Join(j.Dir, "tmp"), 0o500) },
		mend:  func(j job) error { return os.Chmod(filepath.Join(j.Dir, "tmp"), 0o700) }},
}

// chmodTrials gives all folders for artefacts a mode, except those of attempts.
func chmodTrials(j job, mode fs.FileMode) error {
	top := filepath.Join(j.Dir, "trials")
	if err := os.MkdirAll(top, 0o700); err != nil {
		return err
	}
	return filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return err
		case strings.HasPrefix(d.Name(), "attempt-"):
			return fs.SkipDir
		}
		return os.Chmod(name, mode)
	})
}

func ballast(j job) string { return filepath.Join(filepath.Dir(j.Dir), "ballast") }

// fillDisk writes until nothing more fits.
func fillDisk(j job) error {
	f, err := os.Create(ballast(j))
	if err != nil {
		return err
	}
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	return nil
}

const noMount = "cannot mount a small file system"

// The storage fails in the middle of a sweep. The sweep starts nothing more and
// says what to do; once that is done, a resume makes the run whole.
func TestStorageFails(t *testing.T) {
	calls := []int{1, 6, 13} // of the model, from which on it fails
	if torture(t) > 0 {
		calls = nil
		for call := 1; call <= 20; call++ {
			calls = append(calls, call)
		}
	}
	for name, fault := range storageFaults {
		for _, call := range calls {
			t.Run(fmt.Sprintf("%s at call %d", name, call), func(t *testing.T) {
				j := newJob(t, 1, 1, 3)
				small := filepath.Join(filepath.Dir(j.Ledger), "small")
				if err := os.Mkdir(small, 0o700); err != nil {
					t.Fatal(err)
				}
				j.Dir, j.Fault, j.Nth = filepath.Join(small, "run"), name, call
				cmd, _ := j.command(t)
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
					UidMappings: []syscall.SysProcIDMap{{ContainerID: fault.uid, HostID: os.Getuid(), Size: 1}},
					GidMappings: []syscall.SysProcIDMap{{ContainerID: fault.uid, HostID: os.Getgid(), Size: 1}}}
				out, err := cmd.CombinedOutput()
				if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || strings.Contains(string(out), noMount) {
					t.Skipf("this machine allows no user namespace with mounts: %v %s", err, out)
				}
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// mountSmall gives the run a small file system where the fault needs one.
func mountSmall(t *inChild, j job) {
	if storageFaults[j.Fault].uid != 0 {
		return
	}
	if err := unix.Mount("tmpfs", filepath.Dir(j.Dir), "tmpfs", 0, "size=8m,mode=0700"); err != nil {
		t.Fatal(noMount, err)
	}
}

// workWithFault works the run off until its storage fails, mends it, and goes on.
func workWithFault(t *inChild, j job) {
	mountSmall(t, j)
	fault := storageFaults[j.Fault]
	r := newChildRig(t, j)
	started := failAtCall(t, r, j)
	_, err := r.sweep.Run(context.Background())
	var storage *results.StorageError
	if !errors.As(err, &storage) || !strings.Contains(storage.Hint(), fault.hint) {
		t.Errorf("the sweep ends with %v, want a hint on %q", err, fault.hint)
	}
	// One more where the failing attempt and the next one pass each other.
	if n := started(); n > j.Jobs {
		t.Errorf("%d attempts were started after the fault, with %d places", n, j.Jobs)
	}
	if left := r.host.Boxes(); len(left) > 0 {
		t.Errorf("%d boxes left", len(left))
	}
	_ = r.store.Close() // may fail as everything else does
	if err := fault.mend(j); err != nil {
		t.Fatal(err)
	}
	again := newChildRig(t, j)
	sum, err := again.sweep.Run(context.Background())
	if err != nil || sum.Pending > 0 {
		t.Fatal("the resume:", sum, err)
	}
	again.finish(t)
	j.checkWhole(t, 1)
}

// failAtCall brings the fault about at a call of the model, and counts the
// attempts that are started after it.
func failAtCall(t *inChild, r *rig, j job) (started func() int) {
	var mu sync.Mutex
	failing, n := false, 0
	solve := r.model.answer
	r.model.answer = func(call int, prompt string) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		if call == j.Nth {
			failing = true
			if err := storageFaults[j.Fault].bring(j); err != nil {
				t.Fatal(err)
			}
		}
		return solve(call, prompt)
	}
	r.sweep.Observer = func(e runner.Event) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(e.Kind, e.Reason)
		if failing && e.Kind == runner.AttemptStarted {
			n++
		}
	}
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}
