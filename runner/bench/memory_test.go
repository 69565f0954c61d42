package bench

import (
	"context"
	"os"
	"testing"
)

// Thirty boxes at once, in a process of their own, through everything but a real
// engine: all trials end, and no goroutine is left.
func TestOrchestrate(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Orchestrate(context.Background(), 30, t.TempDir(), []string{exe, "boxes"})
	if err != nil {
		t.Fatal(err)
	}
	if m.Done != 30 {
		t.Errorf("%d of 30 trials were done", m.Done)
	}
	if m.After > m.Before {
		t.Errorf("%d goroutines before, %d after", m.Before, m.After)
	}
	if m.Goroutines < 30 || m.PeakRSS <= 0 || m.Heap <= 0 {
		t.Errorf("implausible: %+v", m)
	}
}
