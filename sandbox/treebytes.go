package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxCounted bounds the entries that TreeBytes looks at.
const maxCounted = 200_000

// TreeBytes adds up the files of a tree without opening or following any: for
// each the larger of its length and the space it takes, so that neither sparse
// files nor many small ones hide. A tree with more than 200,000 entries counts
// as 4 KiB for each of those beyond that were listed.
func TreeBytes(src *os.Root) (int64, error) {
	top, err := src.Open(".")
	if err != nil {
		return 0, fmt.Errorf("opening tree: %w", err)
	}
	defer top.Close()
	w := &treeWalk{top: top}
	var sum int64
	left := maxCounted
	for queue := []string{"."}; len(queue) > 0 && left > 0; queue = queue[1:] {
		below, err := w.measure(queue[0], &sum, &left)
		if err != nil {
			continue // gone, or not ours to read: the next reading tells
		}
		queue = append(queue, below...)
	}
	return sum, nil
}

// measure adds the entries of one folder to sum and returns the folders below.
func (w *treeWalk) measure(name string, sum *int64, left *int) ([]string, error) {
	dir, err := w.open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var below []string
	for *left > 0 {
		names, err := dir.Readdirnames(min(*left, 1024))
		for _, base := range names {
			*left--
			var st unix.Stat_t
			if unix.Fstatat(int(dir.Fd()), base, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			*sum += max(st.Size, st.Blocks*512)
			if full := name + "/" + base; st.Mode&unix.S_IFMT == unix.S_IFDIR && len(full) < unix.PathMax {
				below = append(below, full)
			}
		}
		if errors.Is(err, io.EOF) {
			return below, nil
		}
		if err != nil {
			return below, err
		}
	}
	return below, nil
}
