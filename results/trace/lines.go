package trace

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// eachLine calls f with every line of a JSON-lines file and its number. Lines
// over MaxLineBytes and everything behind MaxFileBytes are left out and noted,
// as is a last line without its newline, which is passed on all the same: a
// killed agent leaves one.
func (t *Trace) eachLine(r io.Reader, f func(n int, line []byte)) {
	t.eachLineUpTo(r, MaxFileBytes, f)
}

// eachLineUpTo is eachLine with another bound on the file.
func (t *Trace) eachLineUpTo(r io.Reader, most int64, f func(n int, line []byte)) {
	limited := &io.LimitedReader{R: r, N: most + 1}
	br := bufio.NewReaderSize(limited, 64<<10)
	before := t.Lines
	for n := 1; ; n++ {
		line, tooLong, err := readLine(br)
		if limited.N <= 0 {
			t.problem(n, "file too large, the rest is not read")
			return
		}
		switch {
		case tooLong:
			t.problem(n, "line too long, not read")
		case len(bytes.TrimSpace(line)) > 0:
			f(n, line)
		}
		if err == nil {
			t.Lines = before + n
			continue
		}
		if !errors.Is(err, io.EOF) {
			t.problem(n, "reading stopped: "+err.Error())
		} else if len(line) > 0 {
			t.Lines = before + n
			t.problem(n, "last line is cut off")
		}
		return
	}
}

// eachOutLine calls f with every line of a standard output that may be an event.
// What cannot be read of it is no problem: it may hold anything.
func eachOutLine(r io.Reader, f func(line []byte)) {
	new(Trace).eachLine(r, func(_ int, line []byte) {
		if bytes.HasPrefix(line, []byte("{")) {
			f(line)
		}
	})
}

// readLine returns one line without its newline; of a line that is too long
// only the fact is kept.
func readLine(br *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := br.ReadSlice('\n')
		if len(line)+len(part) > MaxLineBytes {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), tooLong, err
	}
}
