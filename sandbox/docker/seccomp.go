package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/docker/docker/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"cabra-run/sandbox"
)

// bannedCalls are never allowed, whatever the default profile says: reading
// other processes, interfaces of the kernel with a history of holes that no
// agent needs, and the 32-bit call that hides a socket's family.
func bannedCalls() []string {
	return []string{
		"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
		"io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd",
		"io_setup", // takes from an allowance of the whole host
		"keyctl", "add_key", "request_key", "bpf", "perf_event_open", "socketcall",
	}
}

// seccompProfile returns the profile of a box as JSON: the default profile of
// the engine's own Go module with the banned calls taken out, sockets of four
// families only, and the native system-call interface alone.
func seccompProfile() (string, error) {
	p := seccomp.DefaultProfile()
	for i := range p.ArchMap {
		p.ArchMap[i].SubArches = nil
	}
	banned := append(bannedCalls(), "socket", "socketpair")
	p.Syscalls = slices.DeleteFunc(p.Syscalls, func(rule *seccomp.Syscall) bool {
		rule.Names = slices.DeleteFunc(rule.Names, func(name string) bool {
			return slices.Contains(banned, name)
		})
		return len(rule.Names) == 0
	})
	p.Syscalls = append(p.Syscalls, socketRules()...)
	text, err := json.Marshal(p)
	return string(text), err
}

// seccompOption is the value of the engine's seccomp option: the profile
// itself, or for Podman, which only reads files, the path of one.
func seccompOption(podman bool, stateDir string) (string, error) {
	text, err := seccompProfile()
	if err != nil || !podman {
		return text, err
	}
	sum := sha256.Sum256([]byte(text))
	path := filepath.Join(stateDir, "seccomp-"+hex.EncodeToString(sum[:8])+".json")
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return path, nil
	}
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return "", err
	}
	// Renamed into place: another process may be reading it.
	temp := path + "." + sandbox.RandomName()
	if err := os.WriteFile(temp, []byte(text), 0o600); err != nil {
		return "", err
	}
	return path, os.Rename(temp, path)
}

// socketRules allow families by equality, one rule each: the runtime joins
// several conditions on one argument by "or", so a list of forbidden families
// would forbid nothing. Netlink is needed to list interfaces, and only its
// route protocol; the others reach far into the kernel.
func socketRules() []*seccomp.Syscall {
	var rules []*seccomp.Syscall
	for _, family := range []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6} {
		rules = append(rules, allow("socket", equal(0, family)))
	}
	return append(rules,
		allow("socket", equal(0, unix.AF_NETLINK), equal(2, unix.NETLINK_ROUTE)),
		allow("socketpair", equal(0, unix.AF_UNIX)))
}

func allow(name string, args ...specs.LinuxSeccompArg) *seccomp.Syscall {
	return &seccomp.Syscall{LinuxSyscall: specs.LinuxSyscall{
		Names: []string{name}, Action: specs.ActAllow, Args: args,
	}}
}

func equal(arg uint, value uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: arg, Value: value, Op: specs.OpEqualTo}
}
