package images

import (
	"fmt"
	"strings"

	"cabra-run/sandbox"
)

// accounts returns the lines that an image's passwd and group get: PID 1's user
// and, with guests, one for every uid that an engine may allot, so that programs
// that ask who they are get an answer.
func accounts(guests bool) (passwd, group string) {
	var p, g strings.Builder
	add := func(name string, id int, home string) {
		fmt.Fprintf(&p, "%s:x:%d:%d::%s:/bin/bash\n", name, id, id, home)
		fmt.Fprintf(&g, "%s:x:%d:\n", name, id)
	}
	add("cabra", sandbox.InitUID, "/nonexistent")
	if guests {
		for i := range sandbox.GuestSlots {
			add(fmt.Sprintf("agent%d", i), sandbox.FirstGuest+i, sandbox.HomeDir)
		}
	}
	return p.String(), g.String()
}
