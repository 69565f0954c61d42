package docker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/system"
	"golang.org/x/sys/unix"

	"cabra-run/sandbox"
)

// Bounds of what an engine may warn of.
const (
	maxNotes = 16
	maxNote  = 300
)

// Effective reads which limits are in force: from the kernel where the engine
// is on this host, without a call of the engine, else as the engine has
// promised when the box was made.
func (b *Box) Effective(ctx context.Context) (sandbox.Effective, error) {
	const op = "reading limits"
	if err := b.check(op); err != nil {
		return sandbox.Effective{}, err
	}
	b.mu.Lock()
	started := b.started
	b.mu.Unlock()
	if !started {
		return sandbox.Effective{}, &sandbox.Fault{Op: op, Kind: sandbox.FaultNotRunning, Err: errNotRunning}
	}
	e := b.promised()
	if !b.e.here {
		return e, nil
	}
	group, _, err := b.locate(ctx, op)
	if err != nil || group == nil {
		return e, err
	}
	if err := group.limits(&e, float64(b.e.cpus)); err != nil {
		// The group ends with the box.
		return e, &sandbox.Fault{Op: op, Kind: sandbox.FaultNotRunning, Err: err}
	}
	if pid, err := group.first(); err == nil {
		readRlimits(pid, &e)
		readTmpfs(pid, &e)
	}
	if w, bound := b.workspace.(*bindWorkspace); bound && w.mount {
		var st unix.Statfs_t
		if unix.Statfs(w.dir(), &st) == nil {
			e.WorkspaceDiskBytes = int64(st.Blocks) * st.Bsize
		}
	}
	return e, nil
}

// promised is what the engine accepted, less what it says it cannot enforce.
func (b *Box) promised() sandbox.Effective {
	e := sandbox.Effective{
		Limits: b.limits, Source: sandbox.EffectiveEngine, WorkspaceDiskBytes: sandbox.NotTold, Notes: b.notes,
	}
	s := b.e.enforced
	if !s.MemoryLimit {
		e.Limits.MemoryBytes = sandbox.Unlimited
	}
	if !s.SwapLimit {
		e.SwapBytes = sandbox.NotTold
	}
	if !s.PidsLimit {
		e.Limits.Pids = sandbox.Unlimited
	}
	if !s.CPUCfsQuota {
		e.Limits.CPUs = float64(b.e.cpus)
	}
	if b.noScratch {
		e.Limits.TmpBytes, e.Limits.ShmBytes = sandbox.NotTold, sandbox.NotTold
	}
	if !b.home {
		e.Limits.HomeBytes = sandbox.NotTold
	}
	return e
}

// enforced is what an engine says it can enforce.
type enforced struct{ MemoryLimit, SwapLimit, PidsLimit, CPUCfsQuota bool }

func enforcedBy(facts system.Info) enforced {
	return enforced{facts.MemoryLimit, facts.SwapLimit, facts.PidsLimit, facts.CPUCfsQuota}
}

// warnings are an engine's words about a creation, bounded.
func warnings(texts []string) []string {
	var notes []string
	for _, text := range texts[:min(len(texts), maxNotes)] {
		notes = append(notes, text[:min(len(text), maxNote)])
	}
	return notes
}

// limits puts in what the control groups enforce.
func (c *cgroup) limits(e *sandbox.Effective, cpus float64) error {
	memory, swap := "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
	if c.v2 {
		memory, swap = "memory.max", "memory.swap.max"
	}
	var errs [3]error
	e.Limits.MemoryBytes, errs[0] = tightest(c.memory, memory)
	e.Limits.Pids, errs[1] = tightest(c.pids, "pids.max")
	e.Limits.CPUs, errs[2] = c.quota()
	if cpus > 0 {
		e.Limits.CPUs = min(e.Limits.CPUs, cpus)
	}
	e.SwapBytes = c.swap(swap, e.Limits.MemoryBytes)
	e.Source = sandbox.EffectiveKernel
	return errors.Join(errs[:]...)
}

// swap is what the box may swap: at most what the host has. Version 1 counts
// memory and swap together, and neither file is there without accounting.
func (c *cgroup) swap(name string, memory int64) int64 {
	host, err := readField("/proc/meminfo", "SwapTotal")
	if err != nil {
		return sandbox.NotTold
	}
	limit, err := readLimit(filepath.Join(c.memory, name))
	switch {
	case err != nil || limit == sandbox.Unlimited:
		return host << 10
	case !c.v2:
		limit -= memory
	}
	return max(0, min(limit, host<<10))
}

// tightest is the lowest limit of a group and those around it.
func tightest(dir, name string) (int64, error) {
	least, err := readLimit(filepath.Join(dir, name))
	for dir = filepath.Dir(dir); err == nil && strings.HasPrefix(dir, cgroupRoot+"/"); dir = filepath.Dir(dir) {
		if n, err := readLimit(filepath.Join(dir, name)); err == nil {
			least = min(least, n)
		}
	}
	return least, err
}

// noLimit is where the kernel's own words for "no limit" begin.
const noLimit = 1 << 62

func readLimit(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	word := strings.TrimSpace(string(text))
	if word == "max" {
		return sandbox.Unlimited, nil
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if n >= noLimit {
		n = sandbox.Unlimited
	}
	return n, err
}

// quota is the share of processor time, in processors.
func (c *cgroup) quota() (float64, error) {
	var quota, period int64
	if c.v2 {
		text, err := os.ReadFile(filepath.Join(c.cpu, "cpu.max"))
		if err != nil {
			return 0, err
		}
		if strings.HasPrefix(string(text), "max") {
			return sandbox.Unlimited, nil
		}
		_, err = fmt.Sscan(string(text), &quota, &period)
		return share(quota, period), err
	}
	quota, err := readNumber(filepath.Join(c.cpu, "cpu.cfs_quota_us"))
	if err != nil || quota < 0 {
		return sandbox.Unlimited, err
	}
	period, err = readNumber(filepath.Join(c.cpu, "cpu.cfs_period_us"))
	return share(quota, period), err
}

func share(quota, period int64) float64 {
	if period <= 0 {
		return sandbox.NotTold
	}
	return float64(quota) / float64(period)
}

// first is the number on this host of the process that is PID 1 of the box.
func (c *cgroup) first() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.pids, "cgroup.procs"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || pid <= 0 {
			continue
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // has just ended
		}
		for line := range strings.Lines(string(status)) {
			if names, ok := strings.CutPrefix(line, "NSpid:"); ok && strings.HasSuffix(strings.TrimSpace(names), "\t1") {
				return pid, nil
			}
		}
	}
	return 0, errors.New("no PID 1 in the control group")
}

// readRlimits puts in the bounds of single processes. Where they cannot be
// read, what the engine promised stays.
func readRlimits(pid int, e *sandbox.Effective) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return
	}
	for name, field := range map[string]*int64{
		"Max open files": &e.Limits.OpenFiles, "Max file size": &e.Limits.WorkspaceBytes,
	} {
		for line := range strings.Lines(string(text)) {
			rest, ok := strings.CutPrefix(line, name)
			if columns := strings.Fields(rest); ok && len(columns) >= 2 {
				*field = rlimit(columns[1])
			}
		}
	}
}

func rlimit(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return sandbox.Unlimited
	}
	return n
}

// readTmpfs puts in the sizes of the places in memory.
func readTmpfs(pid int, e *sandbox.Effective) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return
	}
	fields := map[string]*int64{
		"/tmp": &e.Limits.TmpBytes, sandbox.HomeDir: &e.Limits.HomeBytes, "/dev/shm": &e.Limits.ShmBytes,
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		mount, super, ok := strings.Cut(lines.Text(), " - tmpfs ")
		columns := strings.Fields(mount)
		if !ok || len(columns) < 5 || fields[columns[4]] == nil {
			continue
		}
		*fields[columns[4]] = tmpfsSize(super)
	}
}

// tmpfsSize finds the size among a tmpfs's options; without one the kernel
// allows half of the memory, which is no limit of ours.
func tmpfsSize(options string) int64 {
	for option := range strings.FieldsFuncSeq(options, func(r rune) bool { return r == ',' || r == ' ' }) {
		text, ok := strings.CutPrefix(option, "size=")
		if !ok {
			continue
		}
		unit := int64(1)
		if number, kilo := strings.CutSuffix(text, "k"); kilo {
			text, unit = number, 1<<10
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n * unit
		}
	}
	return sandbox.Unlimited
}
