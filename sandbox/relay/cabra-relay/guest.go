//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// guestCommand limits this process and becomes another program. A hard limit
// cannot be raised again without capabilities, and children inherit it.
func guestCommand(args []string) (int, error) {
	var processes int64
	options := arguments{numbers: map[string]*int64{"--processes": &processes}}
	argv, err := options.parse(args)
	if err != nil {
		return exitUsage, err
	}
	if len(argv) == 0 {
		return exitUsage, fmt.Errorf("%w: no command to run", errUsage)
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return 127, err // as a shell does
	}
	// Best effort: it only makes the kernel's choice better when memory runs out.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	if processes > 0 {
		limit := unix.Rlimit{Cur: uint64(processes), Max: uint64(processes)}
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
			return exitFailed, fmt.Errorf("limiting processes: %w", err)
		}
	}
	return 126, fmt.Errorf("running %q: %w", argv[0], syscall.Exec(path, argv, os.Environ()))
}
