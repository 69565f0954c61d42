package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestMain plays an owner when it is asked to: it prints its label and lives
// until its standard input ends.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CABRA_TEST_OWNER"); dir != "" {
		o, err := AcquireOwner(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(o.Label)
		bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestLivenessOfProcess kills a real owner.
func TestLivenessOfProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CABRA_TEST_OWNER="+dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	label, err := ParseOwnerLabel(line)
	if err != nil {
		t.Fatal(err)
	}
	if label.Pid != cmd.Process.Pid || time.Since(label.Started) > time.Hour {
		t.Errorf("label %+v of process %d", label, cmd.Process.Pid)
	}
	if got := label.Liveness(); got != Alive {
		t.Errorf("living owner: %v", got)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if got := label.Liveness(); got != Dead {
		t.Errorf("killed owner: %v", got)
	}
	if err := RemoveStaleLocks(dir, map[string]bool{label.Lock: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(label.Lock); err != nil {
		t.Errorf("a lock in use was removed: %v", err)
	}
	if err := RemoveStaleLocks(dir, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(label.Lock); !os.IsNotExist(err) {
		t.Errorf("stale lock still there: %v", err)
	}
}

func TestLivenessFromAfar(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "owners", "1-x.lock")
	label := OwnerLabel{Machine: machineID(), Boot: bootID(), Lock: missing}
	tests := []struct {
		name   string
		change func(*OwnerLabel)
		want   Liveness
	}{
		{"same boot, no lock file", func(*OwnerLabel) {}, Unknown},
		{"before the last boot", func(l *OwnerLabel) { l.Boot = "another" }, Dead},
		{"another machine", func(l *OwnerLabel) { l.Machine, l.Boot = "another", "another" }, Unknown},
		{"no machine id", func(l *OwnerLabel) { l.Machine, l.Boot = "", "another" }, Unknown},
	}
	if machineID() == "" {
		t.Skip("this machine has no /etc/machine-id")
	}
	for _, tc := range tests {
		l := label
		tc.change(&l)
		if got := l.Liveness(); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestOwnerInProcess(t *testing.T) {
	dir := t.TempDir()
	a, err := AcquireOwner(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := AcquireOwner(dir)
	if err != nil {
		t.Fatal(err)
	}
	if a.Label.Lock == b.Label.Lock {
		t.Error("two owners with one lock")
	}
	err = RemoveStaleLocks(dir, nil)
	if err != nil || a.Label.Liveness() != Alive || b.Label.Liveness() != Alive {
		t.Errorf("living owners lost their locks: %v", err)
	}
	if err := a.Close(true); err != nil || a.Label.Liveness() != Dead {
		t.Errorf("closed owner with its file kept: %v, %v", err, a.Label.Liveness())
	}
	if err := b.Close(false); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(b.Label.Lock); !os.IsNotExist(err) {
		t.Errorf("lock file still there: %v", err)
	}
}

func TestParseOwnerLabel(t *testing.T) {
	want := OwnerLabel{Machine: "m", Boot: "b", Pid: 7, Started: time.Unix(1000, 0).UTC(), Lock: "/x/y.lock"}
	got, err := ParseOwnerLabel(want.String())
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "{", "{}", `{"lock":"relative"}`} {
		if _, err := ParseOwnerLabel(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// A process that looks for stale locks must not take one in the making for
// stale: its owner would live without a proof of it.
func TestOwnerBesideReapers(t *testing.T) {
	dir := t.TempDir()
	stop := make(chan struct{})
	var reapers sync.WaitGroup
	for range 4 {
		reapers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := RemoveStaleLocks(dir, nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2000 {
		o, err := AcquireOwner(dir)
		if err != nil {
			t.Error(err)
			break
		}
		if l := o.Label.Liveness(); l != Alive {
			t.Errorf("a living owner is taken for %d", l)
		}
		if err := o.Close(true); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			break
		}
	}
	close(stop)
	reapers.Wait()
}
