package hostile

import (
	"os"
	"testing"

	"cabra-run/results/trace"
)

func TestMain(m *testing.M) {
	// Stores in SQLite are read by a child of this program.
	if trace.ChildMain(os.Args[1:]) {
		return
	}
	os.Exit(m.Run())
}
