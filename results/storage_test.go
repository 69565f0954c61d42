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

	"golang.org/x/sys/unix"
)

// inSmallFileSystem runs a helper in a mount namespace of its own, where it
// can mount a small file system on dir. Without the right to make one there is
// nothing to test.
func inSmallFileSystem(t *testing.T, name string) {
	t.Helper()
	cmd := helper(t, name, t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	cmd.Stderr = nil
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) ||
		strings.Contains(string(out), noMount) {
		t.Skipf("this machine allows no user namespace with mounts: %v %s", err, out)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

const noMount = "cannot mount a small file system"

func mountSmall(dir, size string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=0755"); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	return nil
}

func TestFullDisk(t *testing.T) { inSmallFileSystem(t, "full") }

// runFull fills the disk under a running sweep, sees what it is told, makes
// room and goes on.
func runFull(dir string) error {
	if err := mountSmall(dir, "1m"); err != nil {
		return err
	}
	ctx := context.Background()
	run := filepath.Join(dir, "r")
	s, err := results.Create(run, testLock())
	if err != nil {
		return err
	}
	trials := testTrials(1)
	if err := s.Plan(ctx, trials); err != nil {
		return err
	}
	key := trials[0].Key
	if _, err := s.StartAttempt(ctx, key); err != nil {
		return err
	}
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		return err
	}
	if _, err := ballast.Write(make([]byte, 400<<10)); err != nil {
		return err
	}
	kept, err := exchangesUntilFull(ctx, s, key)
	if err != nil {
		return err
	}
	if err := artefactsWhenFull(s, key); err != nil {
		return err
	}
	end := ended(results.Attempt{TrialKey: key, Number: 1}, results.NoOutput)
	end.Reason = strings.Repeat("r", 5000) // more than what is free in a page
	if err := wantHint(s.Collected(ctx, end), "free space"); err != nil {
		return err
	}
	if err := ballast.Truncate(0); err != nil {
		return err
	}
	if err := s.AddExchange(ctx, key, 1, results.Exchange{Seq: kept + 1}); err != nil {
		return fmt.Errorf("after making room: %w", err)
	}
	if err := errors.Join(s.Collected(ctx, end), s.CheckBooks(ctx)); err != nil {
		return fmt.Errorf("after making room: %w", err)
	}
	if err := s.Close(); err != nil {
		return err
	}
	return countExchanges(run, key, kept+1)
}

func exchangesUntilFull(ctx context.Context, s *results.Store, key string) (int, error) {
	long := strings.Repeat("e", 3000)
	for seq := 1; seq < 2000; seq++ {
		err := s.AddExchange(ctx, key, 1, results.Exchange{Seq: seq, Error: long})
		if err == nil {
			continue
		}
		return seq - 1, wantHint(err, "free space")
	}
	return 0, errors.New("the disk never filled")
}

func artefactsWhenFull(s *results.Store, key string) error {
	art, err := s.BeginArtefacts(key, 1)
	if err != nil {
		return wantHint(err, "free space")
	}
	defer art.Discard()
	writeErr := art.Root().WriteFile("stdout", make([]byte, 1<<20), 0o644)
	if !errors.Is(writeErr, syscall.ENOSPC) {
		return fmt.Errorf("writing on a full disk: %v", writeErr)
	}
	return nil
}

func wantHint(err error, part string) error {
	var storage *results.StorageError
	if !errors.As(err, &storage) || !strings.Contains(storage.Hint(), part) {
		return fmt.Errorf("want a storage error with a hint on %q, got %v", part, err)
	}
	return nil
}

func countExchanges(run, key string, want int) error {
	s, err := results.Open(run, results.ReadOnly)
	if err != nil {
		return err
	}
	defer s.Close()
	list, err := s.Exchanges(context.Background(), key, 1)
	if err != nil {
		return err
	}
	if len(list) != want {
		return fmt.Errorf("%d exchanges are kept, want %d", len(list), want)
	}
	return nil
}

func TestReadOnlyFileSystem(t *testing.T) { inSmallFileSystem(t, "readonly") }

// runReadOnly reads runs on a file system that cannot be written, one closed
// and one whose writer died.
func runReadOnly(dir string) error {
	if err := mountSmall(dir, "4m"); err != nil {
		return err
	}
	ctx := context.Background()
	closed, open := filepath.Join(dir, "closed"), filepath.Join(dir, "open")
	var abandoned *results.Store
	for _, run := range []string{closed, open} {
		s, err := results.Create(run, testLock())
		if err != nil {
			return err
		}
		if err := s.Plan(ctx, testTrials(2)); err != nil {
			return err
		}
		if run == open {
			abandoned = s
			continue
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	dead := filepath.Join(dir, "dead")
	if err := os.CopyFS(dead, os.DirFS(open)); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dead, "run.db-shm")); err != nil {
		return err
	}
	if err := abandoned.Close(); err != nil {
		return err
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	return errors.Join(readClosed(closed), refuseWriting(closed, dir), refuseDead(dead))
}

func readClosed(run string) error {
	s, err := results.Open(run, results.ReadOnly)
	if err != nil {
		return fmt.Errorf("reading a closed run: %w", err)
	}
	defer s.Close()
	trials, err := s.Trials(context.Background())
	if err != nil || len(trials) != 2 {
		return fmt.Errorf("read %d trials, %v", len(trials), err)
	}
	return nil
}

func refuseWriting(run, dir string) error {
	_, openErr := results.Open(run, results.ReadWrite)
	_, createErr := results.Create(filepath.Join(dir, "new"), testLock())
	return errors.Join(wantHint(openErr, "writable"), wantHint(createErr, "writable"))
}

func refuseDead(run string) error {
	_, err := results.Open(run, results.ReadOnly)
	return wantHint(err, "copy the run folder")
}
