package results_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Some tests need a process of their own, to be killed or to live in a small
// file system. The test binary is that process when helperVar is set.
const helperVar = "CABRA_TEST_HELPER"

func TestMain(m *testing.M) {
	helpers := map[string]func(dir string) error{"writer": runWriter, "full": runFull, "readonly": runReadOnly,
		"merge": runMerge, "nowal": runNoWAL, "nolocks": runNoLocks,
		"fuse": runFuse, "faults": runFaults, "dblock": runDBLock}
	name := os.Getenv(helperVar)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := helpers[name](os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func helper(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, dir)
	cmd.Env = append(os.Environ(), helperVar+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}
