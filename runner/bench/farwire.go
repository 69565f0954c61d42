package bench

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/yamux"

	"cabra-run/sandbox"
)

// The orchestrator and its simulated boxes are two processes with one stream
// between them. On it every call is a connection of its own: an order, an
// answer, and then, for the streams of programs, what they carry.

// order is one call.
type order struct {
	Op    string        `json:"op"`
	Box   string        `json:"box,omitempty"`
	Spec  *sandbox.Spec `json:"spec,omitempty"`
	Args  []string      `json:"args,omitempty"`
	Stdin []byte        `json:"stdin,omitempty"`
}

// The calls.
const (
	opCreate  = "create"
	opStart   = "start"
	opStdio   = "stdio" // the connection becomes PID 1's streams
	opExec    = "exec"  // the connection carries the command's output in frames
	opKill    = "kill"
	opWait    = "wait"
	opRemove  = "remove"
	opRelease = "release" // lets all guests that wait go on
)

// answer is what comes back first.
type answer struct {
	Error string       `json:"error,omitempty"`
	Box   string       `json:"box,omitempty"`
	UID   int          `json:"uid,omitempty"`
	Dir   string       `json:"dir,omitempty"` // that stands for the workspace
	Exit  sandbox.Exit `json:"exit"`
}

// A command's output comes in frames: their kind, their length, their bytes.
const (
	frameOut  = 1
	frameErr  = 2
	frameExit = 3 // its one byte is the exit code
)

const (
	frameHead  = 5
	frameBytes = 32 << 10
	// farPatience is beyond any moment in which one of two busy processes does
	// not read.
	farPatience = 10 * time.Minute
)

func farConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.AcceptBacklog, c.EnableKeepAlive, c.LogOutput = 1024, false, io.Discard
	c.ConnectionWriteTimeout, c.StreamOpenTimeout, c.StreamCloseTimeout = farPatience, 0, farPatience
	return c
}

// send writes a value with its length before it.
func send(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
	return err
}

// maxOrder bounds an order: a spec with the files of a workspace.
const maxOrder = 64 << 20

func receive(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxOrder {
		return fmt.Errorf("an order of %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// call makes one call. The connection stays open when keep is set.
func call(mux *yamux.Session, o order, keep bool) (net.Conn, answer, error) {
	var a answer
	conn, err := mux.Open()
	if err != nil {
		return nil, a, err
	}
	if err = send(conn, o); err == nil {
		err = receive(conn, &a)
	}
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err != nil || !keep {
		return nil, a, errors.Join(err, conn.Close())
	}
	return conn, a, nil
}

// frames writes one stream of a command as frames.
type frames struct {
	w    io.Writer // whole frames at once
	kind byte
}

func (f frames) Write(p []byte) (int, error) {
	sent := 0
	for sent < len(p) {
		n := min(len(p)-sent, frameBytes)
		b := make([]byte, frameHead, frameHead+n)
		b[0] = f.kind
		binary.BigEndian.PutUint32(b[1:], uint32(n))
		if _, err := f.w.Write(append(b, p[sent:sent+n]...)); err != nil {
			return sent, err
		}
		sent += n
	}
	return sent, nil
}

// unframe copies a command's output to its writers and returns its exit code.
func unframe(r io.Reader, out, errOut io.Writer) (int, error) {
	var head [frameHead]byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return -1, fmt.Errorf("reading output: %w", err)
		}
		n := int64(binary.BigEndian.Uint32(head[1:]))
		switch head[0] {
		case frameOut, frameErr:
			to := out
			if head[0] == frameErr {
				to = errOut
			}
			if _, err := io.CopyN(to, r, n); err != nil {
				return -1, fmt.Errorf("copying output: %w", err)
			}
		case frameExit:
			var code [1]byte
			_, err := io.ReadFull(r, code[:])
			return int(code[0]), err
		default:
			return -1, fmt.Errorf("frame of kind %d", head[0])
		}
	}
}
