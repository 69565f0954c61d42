package merge

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cabra-run/tasks"
)

// hashed is the form of a method whose digests are known.
func hashed(m method) string {
	text := "def compute(" + strings.Join(append([]string{"self"}, m.params...), ", ") + ")\n" +
		strings.Join(m.body, "\n") + "\n"
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]
}

func TestPublishedPrograms(t *testing.T) {
	for _, c := range []struct {
		size         int
		variant      string
		linesA       int
		linesB       int
		a, b, common string
	}{
		{5, "", 7, 7, "f8e14f26a0bc9532", "b065ee2db42f686d", "d89667fdf1c76dcb"},
		{10, "", 16, 14, "8eae458158678436", "78af08ab3560f47d", "7e8549b586b25409"},
		{25, "", 25, 27, "c98704c79276e5d0", "367641194ae8a14a", "7b426f77ab3543b3"},
		{50, "", 50, 50, "874edfcd3df1af5c", "739b782cc0495762", "e76c28766eee7ea9"},
		{100, "", 91, 88, "eec834444bd44f2c", "2b42f18ffcaec565", "5900ec6965eecc35"},
		{200, "", 174, 175, "d74e05815c97363b", "afed0675be853398", "bf5cc538a56842b1"},
		{50, "differences-3", 57, 57, "92eb55571c9407ed", "85f63fc26eb4de93", "90a222cf8e72a2a3"},
		{50, "differences-5", 61, 65, "d871cd4427113ae1", "8b76002e5f24b0a9", "b14a46c3502fe33a"},
		{50, "no-transforms", 51, 51, "a89d2447cbe555b2", "53a66d1d1c2fe88b", "e76c28766eee7ea9"},
		{50, "only-rename-variables", 51, 51, "d4e692e9713b6281", "a47603cf276e612b", ""},
		{50, "only-shuffle-lines", 51, 51, "0fbb96378931096a", "e5f7b45eea8feca1", ""},
		{50, "only-multi-lines", 49, 52, "e21e3e7a5df492e5", "ff7015272a113adf", ""},
		{50, "only-reorder", 51, 51, "29732edb48622f50", "08efda276f2f47e5", ""},
		{50, "only-logical-equiv", 51, 51, "2c8c843901925a75", "516ee7cbdd74cf2f", ""},
		{50, "without-rename-variables", 50, 50, "08f0f9a6a9d2e942", "99866091603deb21", ""},
		{50, "without-shuffle-lines", 48, 51, "eb66e03b3662e19b", "c50f3383cb7607e8", ""},
		{50, "without-multi-lines", 51, 51, "22eccf0e9ba111a7", "425783aed347252f", ""},
		{50, "without-reorder", 49, 51, "2667d8186cb7e8e9", "e416c476e76f77a5", ""},
		{50, "without-logical-equiv", 48, 50, "863c506b401547c4", "5bd8035ca34e23bf", ""},
	} {
		t.Run(fmt.Sprintf("%d %s", c.size, c.variant), func(t *testing.T) {
			cfg, err := configOf(tasks.Cell{Axis: tasks.Merge, Size: c.size, Variant: c.variant})
			if err != nil {
				t.Fatal(err)
			}
			drawn, err := drawCanonical(cfg, 42)
			if err != nil {
				t.Fatal(err)
			}
			a, b := rewrite(drawn, cfg, 42, 0), rewrite(drawn, cfg, 42, 1)
			if n, k := len(a.lines()), len(b.lines()); n != c.linesA || k != c.linesB {
				t.Errorf("%d and %d lines, want %d and %d", n, k, c.linesA, c.linesB)
			}
			want := []string{c.a, c.b, c.common}
			got := []string{hashed(a.method(drawn)), hashed(b.method(drawn)), hashed(drawn.commonMethod())}
			if c.common == "" {
				want, got = want[:2], got[:2]
			}
			if !slices.Equal(got, want) {
				t.Errorf("hashes %v, want %v", got, want)
			}
		})
	}
}
