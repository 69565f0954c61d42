package trace

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Bounds on the search for session files.
const (
	maxEntries    = 50000
	maxCandidates = 1000
	maxHeadLines  = 50
)

// fileHead is what the first lines of a session file say about it.
type fileHead struct {
	known bool
	id    string
	start time.Time
	sub   bool // of a sub-agent
}

type candidate struct {
	path string
	fileHead
}

// choose finds the files of the session that is meant.
func (b *builder) choose(home *os.Root, hint Hint) (source, bool, error) {
	all, err := b.candidates(home)
	if err != nil || len(all) == 0 {
		return source{}, false, err
	}
	mains := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return c.sub })
	if len(mains) == 0 {
		mains = all
	}
	if hint.SessionID != "" {
		named := slices.DeleteFunc(slices.Clone(mains), func(c candidate) bool { return !c.is(hint.SessionID) })
		switch {
		case len(named) > 0:
			mains = named
		case b.format.named:
			b.problem(0, "no session file has the session id that the agent was told; another one is read")
		}
	}
	main := slices.MaxFunc(mains, func(x, y candidate) int {
		return cmp.Or(x.start.Compare(y.start), cmp.Compare(x.path, y.path))
	})
	src := source{home: home, path: main.path, id: main.id}
	for _, c := range all {
		switch {
		case c.path == main.path:
		case b.format.joins && c.sub && c.id == main.id:
			src.subs = append(src.subs, c.path)
		default:
			b.problem(0, fmt.Sprintf("another session file, not read: %q", clip(c.path, 200)))
		}
	}
	return src, true, nil
}

// is reports whether the file is that of a session: by its name or its own word.
func (c candidate) is(id string) bool { return c.id == id || strings.Contains(c.path, id) }

// candidates lists what can be a session file, in the order of the paths.
func (b *builder) candidates(home *os.Root) ([]candidate, error) {
	var found []candidate
	entries := 0
	err := fs.WalkDir(home.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if p == "." {
				return err
			}
			b.problem(0, fmt.Sprintf("%q not looked at: %s", clip(p, 200), clip(err.Error(), 200)))
			return nil
		}
		if entries++; entries > maxEntries || len(found) >= maxCandidates {
			b.problem(0, "too many files, not all were looked at")
			return fs.SkipAll
		}
		if d.Type().IsRegular() && b.format.matches(p) {
			found = append(found, b.candidate(home, p))
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return found, err
}

// candidate looks into the first lines of a file.
func (b *builder) candidate(home *os.Root, p string) candidate {
	c := candidate{path: p}
	if b.format.head != nil {
		c.fileHead = readHead(home, p, b.format.head)
	}
	if info, err := home.Lstat(p); err == nil && c.start.IsZero() {
		c.start = info.ModTime()
	}
	c.sub = c.sub || b.format.joins && strings.HasPrefix(path.Base(p), "agent-")
	return c
}

func readHead(home *os.Root, p string, head func([]byte) fileHead) fileHead {
	r, err := openRegular(home, p)
	if err != nil {
		return fileHead{} // told when the file is read
	}
	defer r.Close()
	br := bufio.NewReaderSize(r, 64<<10)
	for range maxHeadLines {
		line, _, err := readLine(br)
		if h := head(line); h.known {
			return h
		}
		if err != nil {
			break
		}
	}
	return fileHead{}
}
