package images_test

import (
	"context"
	"testing"
	"time"

	"cabra-run/images"
	"cabra-run/images/imagestest"
)

func TestRealTry(t *testing.T) {
	for _, n := range []string{"base", "copilot", "scorer"} {
		s := time.Now()
		i := imagestest.Ensure(t, n)
		t.Logf("%s %s %s %d MB %v\n%s", n, i.ID, i.Tag, i.Bytes/1e6, time.Since(s), i.How)
	}
	b, _ := images.New(images.Options{})
	s := time.Now()
	_, err := b.Ensure(context.Background(), "copilot")
	t.Log(time.Since(s), err)
	s = time.Now()
	_, err = b.Ensure(context.Background(), "copilot")
	t.Log(time.Since(s), err)
	l, err := b.List(context.Background())
	t.Log(len(l), err)
	for _, i := range l {
		t.Log(i.Name, i.Tag, i.Current, i.Bytes, i.Created)
	}
}
