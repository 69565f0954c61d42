package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Hint is what is known of a session before its files are read.
type Hint struct {
	// SessionID is the id that the CLI was told, "" when it chose its own.
	SessionID string
	// Stdout is the path of the file that holds the CLI's standard output, ""
	// when there is none. Only some formats look at it.
	Stdout string
}

// format is one CLI's way of keeping sessions.
type format struct {
	name     string
	versions string   // that the parser was tried with, for people
	series   []string // beginnings of version numbers that may be read without a word
	named    bool     // the CLI takes a session id
	// matches tells whether a path below the home can be a session file.
	matches func(path string) bool
	// head reads what one line says about the file that it stands in; nil for
	// files without lines.
	head func(line []byte) fileHead
	// joins is set when files of sub-agents belong to their session.
	joins bool
	read  func(*builder, source)
	// stdout reads the standard output, nil when it tells nothing.
	stdout func(*builder, io.Reader)
	settle func(*builder)
}

func (f *format) knows(version string) bool {
	for _, s := range f.series {
		if strings.HasPrefix(version, s) {
			return true
		}
	}
	return len(f.series) == 0
}

// source is the session files that were chosen.
type source struct {
	home *os.Root
	path string   // of the main session
	subs []string // of its sub-agents
	id   string   // of the session, "" when unknown
}

// allFormats lists the formats; a function, for the parsers are values in it.
func allFormats() []*format {
	return []*format{&copilotFormat, &claudeFormat, &codexFormat, &opencodeFormat, &piFormat, &geminiFormat, &miniFormat, &llmFormat}
}

// Formats lists the names that Read takes.
func Formats() []string {
	var names []string
	for _, f := range allFormats() {
		names = append(names, f.name)
	}
	return names
}

// Read reads the session of one attempt out of what was taken from the agent's
// home. It returns nil when there is no session at all. With a session id that
// the CLI was told, the file of that session is read, else exactly one is
// expected; of several the newest main session is read, and the others are
// Problems. An error means that the folder itself cannot be read or the format
// is unknown; whatever is wrong with the session is in its Problems.
func Read(formatName string, home *os.Root, hint Hint) (*Trace, error) {
	var f *format
	for _, g := range allFormats() {
		if g.name == formatName {
			f = g
		}
	}
	if f == nil {
		return nil, fmt.Errorf("unknown trace format %q; there is: %s", formatName, strings.Join(Formats(), ", "))
	}
	b := newBuilder(f)
	src, found, err := b.choose(home, hint)
	if err != nil {
		return nil, fmt.Errorf("looking for a session of %s: %w", f.name, err)
	}
	if found {
		f.read(b, src)
	}
	told, err := b.readStdout(hint.Stdout)
	switch {
	case err != nil:
		b.problem(0, "standard output not read: "+clip(err.Error(), 200))
	case !found && !told:
		return nil, nil
	case !found:
		b.problem(0, "there is no session file; this was read off the standard output")
	}
	b.finish()
	return b.Trace, nil
}

// finish draws the conclusions once everything is read.
func (b *builder) finish() {
	b.checkFormat()
	b.sumTokens()
	b.format.settle(b)
}

// readStdout reads the standard output where the format tells more there, and
// reports whether it told anything.
func (b *builder) readStdout(path string) (told bool, err error) {
	if path == "" || b.format.stdout == nil {
		return false, nil
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%q is no regular file", path)
	}
	r, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer r.Close()
	b.format.stdout(b, r)
	return b.outLines > 0, nil
}

// openRegular opens a file below the home that is a regular file itself, not a
// link to one.
func openRegular(home *os.Root, path string) (*os.File, error) {
	info, err := home.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is no regular file", path)
	}
	return home.Open(path)
}

// eachLineOf calls read with every line of a file below the home.
func (b *builder) eachLineOf(home *os.Root, path string, read func(n int, line []byte)) {
	r, err := openRegular(home, path)
	if err != nil {
		b.problem(0, fmt.Sprintf("session file %q not read: %s", clip(path, 200), clip(err.Error(), 200)))
		return
	}
	defer r.Close()
	b.eachLine(r, read)
}
