package bench

import (
	"context"
	"os"
	"strconv"
	"testing"

	"cabra-run/images/imagestest"
)

func TestOverheadTmp(t *testing.T) {
	if os.Getenv("OVER") == "" {
		t.Skip("tmp")
	}
	n, _ := strconv.Atoi(os.Getenv("OVER"))
	img := imagestest.Ensure(t, "base")
	r := NewReport("x")
	err := Overhead{StateDir: t.TempDir(), Image: img.ID, Dir: t.TempDir(), Trials: n, Jobs: []int{1, 2}}.Measure(context.Background(), r)
	r.Text(os.Stdout)
	if err != nil {
		t.Fatal(err)
	}
}
