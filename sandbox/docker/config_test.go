package docker

import (
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"cabra-run/sandbox"
)

func testPlan(change func(*sandbox.Spec)) *plan {
	spec := sandbox.Spec{
		Image: "sha256:" + strings.Repeat("a", 64), Command: []string{"/opt/cabra/relay", "serve"},
		Env: []string{"A=1"}, Guest: true, Home: true, Workspace: map[string][]byte{"solution.py": nil},
	}
	if change != nil {
		change(&spec)
	}
	return &plan{spec: spec, limits: spec.Limits.OrDefaults(), seccomp: "{}",
		image: imageFacts{env: envNames([]string{"NODE_VERSION=22", "A=0"})}}
}

func TestLockdown(t *testing.T) {
	p := testPlan(nil)
	h := p.hostConfig(20007, nil)
	if h.NetworkMode != "none" || !h.ReadonlyRootfs || h.Privileged || h.LogConfig.Type != "none" {
		t.Errorf("host config %+v", h)
	}
	if !slices.Equal(h.CapDrop, []string{"ALL"}) || len(h.CapAdd) > 0 || len(h.Devices) > 0 || len(h.Binds) > 0 {
		t.Errorf("capabilities %v %v, devices %v, binds %v", h.CapDrop, h.CapAdd, h.Devices, h.Binds)
	}
	if !slices.Equal(h.SecurityOpt, []string{"no-new-privileges", "seccomp={}"}) {
		t.Errorf("security options %q", h.SecurityOpt)
	}
	if h.IpcMode != container.IPCModePrivate || h.CgroupnsMode != container.CgroupnsModePrivate ||
		h.PidMode != "" || h.UTSMode != "" || *h.Init {
		t.Errorf("namespaces %+v", h)
	}
	if h.Memory != 2<<30 || h.MemorySwap != h.Memory || *h.PidsLimit != 256 || h.NanoCPUs != 2e9 {
		t.Errorf("resources %+v", h.Resources)
	}
	want := map[string]int64{"nofile": 4096, "fsize": 256 << 20, "core": 0, "msgqueue": 0}
	for _, u := range h.Ulimits {
		if n, ok := want[u.Name]; !ok || u.Hard != n || u.Soft != n {
			t.Errorf("limit %s is %d/%d, want %d", u.Name, u.Soft, u.Hard, n)
		}
		delete(want, u.Name)
	}
	if len(want) > 0 {
		t.Errorf("limits missing: %v", want)
	}
	tmpfs := map[string]string{
		"/tmp":        "rw,exec,nosuid,nodev,size=268435456,nr_inodes=100000,mode=1777,uid=20007,gid=20007",
		"/home/agent": "rw,exec,nosuid,nodev,size=536870912,nr_inodes=100000,mode=0700,uid=20007,gid=20007",
	}
	for path, options := range tmpfs {
		if h.Tmpfs[path] != options {
			t.Errorf("%s: %s, want %s", path, h.Tmpfs[path], options)
		}
	}
	if len(h.Tmpfs) != len(tmpfs) || h.ShmSize != 16<<20 {
		t.Errorf("writable places %v, shm %d", h.Tmpfs, h.ShmSize)
	}
}

func TestLockdownNoScratch(t *testing.T) {
	h := testPlan(func(s *sandbox.Spec) { s.NoScratch, s.Home, s.Workspace, s.Guest = true, false, nil, false }).
		hostConfig(sandbox.InitUID, nil)
	if len(h.Tmpfs) > 0 || h.IpcMode != container.IPCModeNone || len(h.Mounts) > 0 {
		t.Errorf("writable places %v, ipc %s, mounts %v", h.Tmpfs, h.IpcMode, h.Mounts)
	}
}

func TestContainerConfig(t *testing.T) {
	c := testPlan(nil).config()
	if c.User != "10000:10000" || c.Hostname != "box" || !c.OpenStdin || !c.StdinOnce || c.Tty || !c.AttachStdin {
		t.Errorf("config %+v", c)
	}
	// What the image sets and the spec does not is named bare, which removes it.
	if want := []string{"A=1", "TZ=UTC", "HOSTNAME", "NODE_VERSION", "PATH"}; !slices.Equal(c.Env, want) {
		t.Errorf("environment %q, want %q", c.Env, want)
	}
	if !slices.Equal(c.Entrypoint, []string{"/opt/cabra/relay", "serve"}) || len(c.Cmd) > 0 {
		t.Errorf("entry point %q, arguments %q", c.Entrypoint, c.Cmd)
	}
	c = testPlan(func(s *sandbox.Spec) { s.Env = []string{"TZ=Asia/Tokyo", "PATH=/bin"} }).config()
	if slices.Contains(c.Env, "TZ=UTC") || slices.Contains(c.Env, "PATH") {
		t.Errorf("environment %q", c.Env)
	}
}
