//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// firstUID is the lowest uid that a box uses. Below it, kill(-1) would hit a
// person's session or the whole machine.
const firstUID = 10000

const everyone = -1

// signalCommand signals every process of the own uid but this one.
func signalCommand(args []string) (int, error) {
	name, err := one(args, "signal")
	if err != nil {
		return exitUsage, err
	}
	sig := unix.SignalNum("SIG" + strings.TrimPrefix(name, "SIG"))
	if sig == 0 {
		return exitUsage, fmt.Errorf("%w: unknown signal %q", errUsage, name)
	}
	if err := signalAll(sig); err != nil {
		return exitFailed, err
	}
	return exitDone, nil
}

func signalAll(sig unix.Signal) error {
	if os.Getuid() < firstUID {
		return fmt.Errorf("uid %d is no guest of a box", os.Getuid())
	}
	err := unix.Kill(everyone, sig)
	if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("signalling: %w", err)
	}
	return nil // ESRCH, EPERM: there is nobody that we may signal
}

// killCommand kills every process of the own uid but this one until none is
// left. One round is enough for any fork bomb, as the kernel lets no child
// escape a signal to all; more rounds are for what dies slowly.
func killCommand(args []string) (int, error) {
	seconds := int64(10)
	options := arguments{numbers: map[string]*int64{"--seconds": &seconds}}
	words, err := options.parse(args)
	if err == nil {
		err = none(words)
	}
	if err != nil {
		return exitUsage, err
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if err := signalAll(unix.SIGKILL); err != nil {
			return exitFailed, err
		}
		left, err := others()
		if err != nil {
			return exitFailed, err
		}
		if left == 0 {
			return exitDone, nil
		}
		if time.Now().After(end) {
			return exitFailed, fmt.Errorf("%d processes are still there after %d s", left, seconds)
		}
		time.Sleep(pause)
	}
}

// others counts the processes of the own uid that are neither this one nor
// dead already.
func others() (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, fmt.Errorf("listing processes: %w", err)
	}
	n := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// The file's owner says nothing: it is root for an undumpable process.
		status, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err == nil && livesAs(status, os.Getuid()) {
			n++
		}
	}
	return n, nil
}

// livesAs reads a status file of /proc: whether the process has that real uid
// and is not a zombie.
func livesAs(status []byte, uid int) bool {
	mine := false
	for line := range bytes.Lines(status) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch string(fields[0]) {
		case "State:":
			if fields[1][0] == 'Z' || fields[1][0] == 'X' {
				return false
			}
		case "Uid:":
			mine = string(fields[1]) == strconv.Itoa(uid)
		}
	}
	return mine
}
