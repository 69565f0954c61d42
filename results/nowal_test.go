package results_test

import (
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

func TestNoWAL(t *testing.T) { inSmallFileSystem(t, "nowal") }

// runNoWAL makes, reads and continues runs where no write-ahead log can be.
func runNoWAL(dir string) error {
	fuse, err := mountFuse(dir, fuseNoMap)
	if err != nil {
		return err
	}
	defer fuse.close()
	mnt := fuse.dir
	facts, err := results.StorageCheck(mnt)
	if err != nil || facts.Type != "fuse" || facts.WAL || !facts.Locks || facts.Problem == "" || facts.Hint() == "" {
		return fmt.Errorf("storage check says %+v, %w", facts, err)
	}
	if left, err := os.ReadDir(mnt); err != nil || len(left) > 0 {
		return fmt.Errorf("the check left %v, %w", left, err)
	}
	return errors.Join(workWithoutWAL(mnt), moveFromElsewhere(dir, mnt))
}

// workWithoutWAL takes trials through every step beside readers.
func workWithoutWAL(mnt string) error {
	ctx := context.Background()
	run := filepath.Join(mnt, "r")
	s, err := results.Create(run, testLock())
	if err != nil {
		return err
	}
	trials := testTrials(4)
	if err := s.Plan(ctx, trials); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(run, "run.db-wal")); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is a log: %v", err)
	}
	reader, err := results.Open(run, results.ReadOnly)
	if err != nil {
		return fmt.Errorf("reading a run that is written: %w", err)
	}
	defer reader.Close()
	for i, trial := range trials[:3] {
		// A reader in the middle of its list neither stops the writer nor sees
		// what it does meanwhile.
		seen := 0
		for r, err := range reader.Results(ctx) {
			if err != nil {
				return err
			}
			if r.State == results.StateDone {
				seen++
			}
			if r.Seq == 0 {
				if err := work(ctx, s, os.Stderr, trial.Key); err != nil {
					return fmt.Errorf("writing beside a reader: %w", err)
				}
			}
		}
		if seen != i {
			return fmt.Errorf("a reader sees %d of %d done trials", seen, i)
		}
	}
	if _, err := s.StartAttempt(ctx, trials[3].Key); err != nil {
		return err
	}
	if _, err := results.Open(run, results.ReadWrite); !isLocked(err) {
		return fmt.Errorf("a second writer: %v", err)
	}
	if err := errors.Join(s.CheckBooks(ctx), s.Close()); err != nil {
		return err
	}
	again, err := results.Open(run, results.ReadWrite)
	if err != nil {
		return err
	}
	defer again.Close()
	rec, err := again.Recover(ctx)
	if err != nil || len(rec.Closed) != 1 || len(rec.Missing) > 0 {
		return fmt.Errorf("%+v, %w", rec, err)
	}
	return again.CheckBooks(ctx)
}

func isLocked(err error) bool {
	var locked *results.LockedError
	return errors.As(err, &locked)
}

// moveFromElsewhere brings a run with a log to where there can be none: it is
// read as it is, and the first writer takes the log from it.
func moveFromElsewhere(dir, mnt string) error {
	ctx := context.Background()
	home := filepath.Join(dir, "home")
	s, err := results.Create(home, testLock())
	if err != nil {
		return err
	}
	trials := testTrials(2)
	if err := errors.Join(s.Plan(ctx, trials), work(ctx, s, os.Stderr, trials[0].Key), s.Close()); err != nil {
		return err
	}
	run := filepath.Join(mnt, "moved")
	if err := os.CopyFS(run, os.DirFS(home)); err != nil {
		return err
	}
	for i, mode := range []results.Mode{results.ReadOnly, results.ReadWrite, results.ReadOnly} {
		s, err := results.Open(run, mode)
		if err != nil {
			return fmt.Errorf("opening a moved run, step %d: %w", i, err)
		}
		counts, err := s.Counts(ctx)
		if want := min(i/2+1, 2); err != nil || counts.Done != want {
			return fmt.Errorf("a moved run has %+v, want %d done, %w", counts, want, err)
		}
		if mode == results.ReadWrite {
			err = work(ctx, s, os.Stderr, trials[1].Key)
		}
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
	}
	return nil
}

func TestNoLocks(t *testing.T) { inSmallFileSystem(t, "nolocks") }

// runNoLocks asks for a run where the file system has no locks.
func runNoLocks(dir string) error {
	fuse, err := mountFuse(dir, fuseNoLocks)
	if err != nil {
		return err
	}
	defer fuse.close()
	mnt := fuse.dir
	if err := fuse.fails(fault(opSetlk, "*", syscall.ENOLCK)); err != nil {
		return err
	}
	facts, err := results.StorageCheck(mnt)
	if err != nil || facts.Locks || !strings.Contains(facts.Problem, "locks do not work") || !strings.Contains(facts.Hint(), "--runs") {
		return fmt.Errorf("storage check says %+v, %w", facts, err)
	}
	_, err = results.Create(filepath.Join(mnt, "r"), testLock())
	if err := wantHint(err, "--runs"); err != nil {
		return err
	}
	left, err := os.ReadDir(mnt)
	if err != nil || len(left) > 0 {
		return fmt.Errorf("left: %v, %w", left, err)
	}
	return nil
}

// fault is a line for fuseMount.fails.
func fault(op int, part string, errno syscall.Errno) string {
	return fmt.Sprintf("%d %s %d", op, part, int(errno))
}

// Local file systems are good for everything, and the check leaves nothing.
func TestStorageCheck(t *testing.T) {
	for _, dir := range []string{t.TempDir(), memoryDir(t)} {
		facts, err := results.StorageCheck(dir)
		if err != nil || !facts.WAL || !facts.Locks || facts.Network || facts.Problem != "" || facts.Hint() != "" {
			t.Errorf("%s: %+v, %v", dir, facts, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", dir, left, err)
		}
	}
	if _, err := results.StorageCheck(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
