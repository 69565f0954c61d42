package sandbox

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// Beyond these a tree is not counted to its end.
const (
	maxCounted = 200_000 // entries
	maxLevels  = 256     // nested folders, and so the files that are open at once
)

// TreeBytes adds up the files and folders of a tree without opening any file or
// following any link: for each the larger of its length and the space it takes,
// so that neither sparse files nor many small ones hide. A tree with more than
// 200,000 entries or 256 levels is larger than any limit: math.MaxInt64.
func TreeBytes(src *os.Root) (int64, error) {
	top, err := src.Open(".")
	if err != nil {
		return 0, fmt.Errorf("opening tree: %w", err)
	}
	m := measure{left: maxCounted}
	if !m.folder(top, 0) {
		return math.MaxInt64, nil
	}
	return m.sum, nil
}

// measure is one counting.
type measure struct {
	sum  int64
	left int // entries that may still be looked at
}

// folder adds what is in dir and closes it. It reports false when the tree is
// beyond counting. What disappears meanwhile does not count.
func (m *measure) folder(dir *os.File, level int) bool {
	defer dir.Close()
	if level > maxLevels {
		return false
	}
	var below []string
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			if m.left--; m.left < 0 {
				return false
			}
			var st unix.Stat_t
			if unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			m.sum += max(st.Size, st.Blocks*512)
			if m.sum < 0 {
				return false
			}
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				below = append(below, name)
			}
		}
		if err != nil { // the end, or the folder cannot be read further
			break
		}
	}
	for _, name := range below {
		fd, err := openFolder(int(dir.Fd()), name)
		if err != nil {
			continue
		}
		if !m.folder(os.NewFile(uintptr(fd), name), level+1) {
			return false
		}
	}
	return true
}
