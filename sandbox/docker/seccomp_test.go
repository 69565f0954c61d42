package docker

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/docker/docker/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

func profile(t *testing.T) *seccomp.Seccomp {
	t.Helper()
	text, err := seccompProfile()
	if err != nil {
		t.Fatal(err)
	}
	var p seccomp.Seccomp
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

func TestSeccompBans(t *testing.T) {
	p := profile(t)
	if p.DefaultAction != specs.ActErrno {
		t.Errorf("what is not listed is answered with %s", p.DefaultAction)
	}
	for _, rule := range p.Syscalls {
		for _, name := range append(bannedCalls(), rule.Name, "io_setup", "io_uring_setup") {
			if name != "" && slices.Contains(rule.Names, name) {
				t.Errorf("%s is allowed", name)
			}
		}
	}
	for _, a := range p.ArchMap {
		if len(a.SubArches) > 0 {
			t.Errorf("%s brings %v", a.Arch, a.SubArches)
		}
	}
}

func TestSeccompSockets(t *testing.T) {
	families := map[uint64]bool{}
	for _, rule := range profile(t).Syscalls {
		if !slices.Contains(rule.Names, "socket") {
			continue
		}
		if len(rule.Args) == 0 || rule.Args[0].Index != 0 || rule.Args[0].Op != specs.OpEqualTo {
			t.Errorf("socket is allowed by %+v", rule.Args)
			continue
		}
		families[rule.Args[0].Value] = true
	}
	// The numbers of Linux's socket.h: UNIX, INET, INET6, NETLINK.
	for _, f := range []uint64{1, 2, 10, 16} {
		if !families[f] {
			t.Errorf("family %d is not allowed", f)
		}
		delete(families, f)
	}
	if len(families) > 0 {
		t.Errorf("families %v are allowed", families)
	}
}

// TestSeccompNotWeaker compares with the default profile: whatever ours
// allows, the default allows under the same or wider conditions.
func TestSeccompNotWeaker(t *testing.T) {
	type rule struct{ name, conditions string }
	allowed := map[rule]bool{}
	conditions := func(r *seccomp.Syscall) string {
		text, err := json.Marshal([]any{r.Action, r.ErrnoRet, r.Args, r.Includes, r.Excludes})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, r := range seccomp.DefaultProfile().Syscalls {
		for _, name := range r.Names {
			allowed[rule{name, conditions(r)}] = true
		}
	}
	count := 0
	for _, r := range profile(t).Syscalls {
		for _, name := range r.Names {
			count++
			if name != "socket" && name != "socketpair" && !allowed[rule{name, conditions(r)}] {
				t.Errorf("%s is allowed under conditions that the default does not know", name)
			}
		}
	}
	if count < 300 {
		t.Errorf("only %d rules; the comparison has not seen the profile", count)
	}
}
