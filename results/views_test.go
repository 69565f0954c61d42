package results

import (
	"context"
	"os"
	"testing"
)

// Views that are opened while somebody writes see the same, or there is but one.
func TestSameViews(t *testing.T) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("/dev/shm", "cabra-test-")
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	w, err := Create(dir+"/r", Lock{Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := Open(dir+"/r", ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := w.RecordDrift(ctx, []Difference{{Field: "x"}}); err != nil {
				done <- err
				return
			}
		}
	}()
	alone := 0
	for range 400 {
		views, err := r.tryViews(ctx, 2)
		if err != nil {
			t.Fatal(err)
		}
		var rows [2]int
		for i, v := range views {
			if err := v.QueryRowContext(ctx, `SELECT count(*) FROM drift`).Scan(&rows[i]); err != nil {
				t.Fatal(err)
			}
		}
		closeViews(views)
		switch {
		case len(views) == 1:
			alone++
		case rows[0] != rows[1]:
			t.Fatalf("two views see %d and %d rows", rows[0], rows[1])
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	t.Logf("there was but one view %d times", alone)
}
