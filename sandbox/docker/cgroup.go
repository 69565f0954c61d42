package docker

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"cabra-run/sandbox"
)

// cgroupRoot is where the control groups of this host are mounted.
const cgroupRoot = "/sys/fs/cgroup"

// cgroup is the place of a box's figures on this host. The kernel tells more
// than the engine does (how often a limit was hit) and costs no engine call.
type cgroup struct {
	memory, pids, cpu string // folders; the same one with version 2
	v2                bool
}

// usualCgroup finds the control groups of container id in the places where
// engines put them, nil elsewhere. The ID is random, so that what is found
// there is the box's own, and the engine need not be asked.
func usualCgroup(id string) *cgroup {
	if id == "" || strings.ContainsAny(id, "/.") {
		return nil
	}
	for _, place := range []string{"docker/" + id, "system.slice/docker-" + id + ".scope"} {
		for _, c := range []*cgroup{cgroupV1(place, place, place), cgroupV2(place)} {
			if _, err := c.read(); err == nil {
				return c
			}
		}
	}
	return nil
}

func cgroupV1(memory, pids, cpu string) *cgroup {
	return &cgroup{
		memory: filepath.Join(cgroupRoot, "memory", memory),
		pids:   filepath.Join(cgroupRoot, "pids", pids),
		cpu:    filepath.Join(cgroupRoot, "cpu", cpu),
	}
}

func cgroupV2(place string) *cgroup {
	dir := filepath.Join(cgroupRoot, place)
	return &cgroup{memory: dir, pids: dir, cpu: dir, v2: true}
}

// findCgroup finds the control groups of the process pid, which the engine
// says is PID 1 of container id. It fails where the engine is on another host
// or sees other process numbers: the container's ID has to be in the path.
func findCgroup(pid int, id string) (*cgroup, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || !strings.Contains(parts[2], id) || !filepath.IsLocal(strings.Trim(parts[2], "/")) {
			continue
		}
		for name := range strings.SplitSeq(parts[1], ",") {
			paths[name] = parts[2]
		}
	}
	c := cgroupV1(paths["memory"], paths["pids"], paths["cpu"])
	if paths["memory"] == "" || paths["pids"] == "" {
		if paths[""] == "" {
			return nil, errors.New("the box is in no control group of this host")
		}
		c = cgroupV2(paths[""])
	}
	_, err = c.read()
	return c, err
}

// read takes the figures.
func (c *cgroup) read() (sandbox.Usage, error) {
	usage, peak, events := "memory.usage_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"
	if c.v2 {
		usage, peak, events = "memory.current", "memory.peak", "memory.events"
	}
	var u sandbox.Usage
	var errs [4]error
	u.MemoryBytes, errs[0] = readNumber(filepath.Join(c.memory, usage))
	u.OOMKills, errs[1] = readField(filepath.Join(c.memory, events), "oom_kill")
	u.Pids, errs[2] = readNumber(filepath.Join(c.pids, "pids.current"))
	u.PidsLimitHits, errs[3] = readField(filepath.Join(c.pids, "pids.events"), "max")
	u.MemoryPeakBytes, _ = readNumber(filepath.Join(c.memory, peak)) // missing before Linux 5.19
	var err error
	if u.ScratchBytes, err = readField(filepath.Join(c.memory, "memory.stat"), "shmem"); err != nil {
		u.ScratchBytes = -1
	}
	return u, errors.Join(errs[:]...)
}

func readNumber(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// readField reads one line "name number" of a file of such lines, which may
// have a colon behind the name and a unit behind the number.
func readField(path, name string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && strings.TrimSuffix(fields[0], ":") == name {
			return strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no field %q", path, name)
}
