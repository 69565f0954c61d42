package main

import (
	"os"
	"runtime/debug"
)

// memoryMark is where the garbage collector begins to work harder. A sweep of
// some boxes stays far below it; one of thousands is kept from doubling what it
// needs, for a while, before garbage is looked for.
const memoryMark = 850 << 20

// boundMemory sets the mark, unless GOMEMLIMIT says another.
func boundMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryMark)
	}
}
