package results_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cabra-run/results"
)

// TestFailingStorage lets every step of a trial meet a disk that is full,
// read-only or broken, with a write-ahead log and without.
func TestFailingStorage(t *testing.T) { inSmallFileSystem(t, "faults") }

// place is an operation on a file that can fail.
type place struct {
	name string
	op   int
	part string
	kind fuseKind // "" for both kinds
}

var places = []place{
	{"writing the log", opWrite, "run.db-wal", fuseLocal},
	{"syncing the log", opFsync, "run.db-wal", fuseLocal},
	{"writing the journal", opWrite, "run.db-journal", fuseNoMap},
	{"syncing the journal", opFsync, "run.db-journal", fuseNoMap},
	{"emptying the journal", opSetattr, "run.db-journal", fuseNoMap},
	{"writing the database", opWrite, "run.db", fuseNoMap},
	{"syncing the database", opFsync, "run.db", fuseNoMap},
	{"making the artefacts' folder", opMkdir, "tmp/", ""},
	{"making a file of code", opCreate, "solution.py", ""},
	{"writing a file of code", opWrite, "solution.py", ""},
	{"writing the attempt's record", opWrite, "attempt.json", ""},
	{"syncing a file", opFsync, "solution.py", ""},
	{"syncing a folder", opFsyncdir, "tmp/", ""},
	{"making the trial's folder", opMkdir, "trials/", ""},
	{"moving the artefacts", opRename2, "trials/", ""},
	{"syncing the trial's folder", opFsyncdir, "trials/", ""},
}

var errnos = []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EROFS}

// runFaults is the process that uses the failing file system.
func runFaults(dir string) error {
	var errs []error
	done := 0
	for _, kind := range []fuseKind{fuseLocal, fuseNoMap} {
		for _, p := range places {
			if p.kind != "" && p.kind != kind {
				continue
			}
			for _, errno := range errnos {
				if err := meetFault(dir, kind, p, errno); err != nil {
					errs = append(errs, fmt.Errorf("%s on a file system with %s, %v: %w", p.name, kind, errno, err))
				}
				done++
			}
		}
	}
	fmt.Println(done, "faults")
	return errors.Join(errs...)
}

func meetFault(dir string, kind fuseKind, p place, errno syscall.Errno) error {
	fuse, err := mountFuse(dir, kind)
	if err != nil {
		return err
	}
	defer fuse.close()
	ctx := context.Background()
	run := filepath.Join(fuse.dir, "r")
	s, err := results.Create(run, testLock())
	if err != nil {
		return err
	}
	trials := testTrials(3)
	var said bytes.Buffer
	if err := errors.Join(s.Plan(ctx, trials), work(ctx, s, &said, trials[0].Key)); err != nil {
		return err
	}
	if err := fuse.fails(fault(p.op, p.part, errno), fault(opRename, p.part, errno)); err != nil {
		return err
	}
	failure := work(ctx, s, &said, trials[1].Key)
	if err := told(failure, p, errno); err != nil {
		return err
	}
	if err := fuse.fails(); err != nil {
		return err
	}
	s.Close() // may tell of the failure once more
	return goOn(ctx, run, trials, said.String())
}

// told looks whether a step failed as it should, and says what to do.
func told(failure error, p place, errno syscall.Errno) error {
	if failure == nil {
		return errors.New("nothing failed")
	}
	if strings.HasSuffix(p.part, ".py") && p.op != opFsync {
		if !errors.Is(failure, errno) { // written by the caller itself, who gets the bare error
			return fmt.Errorf("it was told %w", failure)
		}
		return nil
	}
	var storage *results.StorageError
	if !errors.As(failure, &storage) || storage.Hint() == "" {
		return fmt.Errorf("it was told without advice: %w", failure)
	}
	return nil
}

// goOn opens the run again, puts it in order, looks whether all that was
// promised is there, and finishes it.
func goOn(ctx context.Context, run string, trials []results.Trial, said string) error {
	s, err := results.Open(run, results.ReadWrite)
	if err != nil {
		return fmt.Errorf("opening it again: %w", err)
	}
	defer s.Close()
	rec, err := s.Recover(ctx)
	if err != nil {
		return err
	}
	if err := kept(ctx, s, said); err != nil {
		return err
	}
	for _, ref := range rec.ToScore {
		if err := judge(ctx, s, new(bytes.Buffer), ref.TrialKey, ref.Number); err != nil {
			return err
		}
	}
	for _, trial := range trials {
		counts, err := s.Counts(ctx)
		if err != nil {
			return err
		}
		for r, err := range s.Unfinished(ctx) {
			if err != nil {
				return err
			}
			if r.Key == trial.Key {
				if err := work(ctx, s, new(bytes.Buffer), trial.Key); err != nil {
					return fmt.Errorf("going on with %+v: %w", counts, err)
				}
			}
		}
	}
	counts, err := s.Counts(ctx)
	if err != nil || counts.Done != len(trials) {
		return fmt.Errorf("at the end there is %+v, %w", counts, err)
	}
	left, err := os.ReadDir(filepath.Join(run, "tmp"))
	if err != nil || len(left) > 0 {
		return fmt.Errorf("left in tmp: %v, %w", left, err)
	}
	return s.CheckSound(ctx)
}

// kept looks for everything that was said to be recorded.
func kept(ctx context.Context, s *results.Store, said string) error {
	found := map[string]results.TrialResult{}
	for r, err := range s.Results(ctx) {
		if err != nil {
			return err
		}
		found[r.Key] = r
	}
	for line := range strings.Lines(said) {
		var what, key string
		var n, seq int
		fmt.Sscan(line, &what, &key, &n, &seq) // only exchanges have the last
		r := found[key]
		if len(r.Attempts) < n {
			return fmt.Errorf("%q was recorded, and there are %d attempts", line, len(r.Attempts))
		}
		a := r.Attempts[n-1]
		code, codeErr := os.ReadFile(filepath.Join(s.AttemptDir(a.Attempt), results.FilesDir, "solution.py"))
		switch {
		case what == "x" && a.Usage.Exchanges < seq,
			what == "c" && (codeErr != nil || string(code) != key || !a.HasArtefacts),
			what == "r" && a.Outcome != results.Answered,
			what == "v" && r.Verdict == nil:
			return fmt.Errorf("%q was recorded, and there is %+v", line, a)
		}
	}
	return nil
}
