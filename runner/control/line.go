package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// converse asks on a connection and reads the answer.
func converse(ctx context.Context, conn net.Conn, r Request) (State, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := writeLine(conn, r); err != nil {
		return State{}, err
	}
	var a answer
	if err := readLine(conn, maxAnswer, &a); err != nil {
		return State{}, err
	}
	switch {
	case a.Error != "":
		return State{}, &RefusedError{Reason: a.Error}
	case a.State == nil:
		return State{}, errors.New("the answer says nothing")
	}
	return *a.State, nil
}

func writeLine(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// readLine reads one line of at most so many bytes, its end included.
func readLine(r io.Reader, most int64, v any) error {
	line, err := bufio.NewReader(io.LimitReader(r, most)).ReadBytes('\n')
	switch {
	case errors.Is(err, io.EOF) && int64(len(line)) == most:
		return fmt.Errorf("a line of more than %d bytes", most)
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	return json.Unmarshal(line, v)
}
