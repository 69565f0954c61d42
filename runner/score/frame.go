package score

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds of what the executor may send. The executor keeps to them; a box
// taken over by a candidate might not.
const (
	maxHeader = 1 << 16
	maxBody   = 64 << 20
)

// errFrame marks bytes that are no frame of the executor.
var errFrame = errors.New("broken frame")

// jobHeader stands before a job's body. The executor reads the header only.
type jobHeader struct {
	Job    string     `json:"job"`
	Body   int        `json:"body"`
	Limits wireLimits `json:"limits"`
}

// wireLimits are one job's limits in seconds and bytes.
type wireLimits struct {
	CPU    float64 `json:"cpu"`
	Wall   float64 `json:"wall"`
	Total  float64 `json:"total"`
	Memory int64   `json:"memory"`
	Answer int64   `json:"answer"`
}

// replyHeader stands before the answer to a job, or alone when a box is ready.
type replyHeader struct {
	Job string `json:"job"`
	// End is "ended" or the name of the limit that was reached.
	End string `json:"end"`
	// Status is the child's exit code, negative for a signal.
	Status *int `json:"status"`
	// At is the last call that the child said it was in.
	At uint64 `json:"at"`
	// Tainted: the executor found itself changed and is of no further use.
	Tainted bool `json:"tainted"`
	// CPU is what the child used, in seconds. Evaluated is how many nanoseconds
	// of it were spent in the program's functions; so says the child.
	CPU       float64 `json:"cpu"`
	Evaluated uint64  `json:"evaluated"`
	Body      int     `json:"body"`

	Python string `json:"python"`
	Numpy  string `json:"numpy"`
	Filter bool   `json:"filter"`
}

// jobReply is a whole reply.
type jobReply struct {
	replyHeader
	body []byte
}

// writeFrame sends a header and the body whose length it names.
func writeFrame(w io.Writer, header any, body []byte) error {
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	frame := make([]byte, 4, 4+len(text)+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(text)))
	frame = append(append(frame, text...), body...)
	_, err = w.Write(frame)
	return err
}

// readFrame reads one reply of at most limit body bytes.
func readFrame(r io.Reader, limit int64) (jobReply, error) {
	var reply jobReply
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return reply, err
	}
	n := binary.BigEndian.Uint32(prefix[:])
	if n > maxHeader {
		return reply, fmt.Errorf("%w: header of %d bytes", errFrame, n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return reply, err
	}
	if err := json.Unmarshal(text, &reply.replyHeader); err != nil {
		return reply, fmt.Errorf("%w: %v", errFrame, err)
	}
	if reply.Body < 0 || int64(reply.Body) > min(limit, maxBody) {
		return reply, fmt.Errorf("%w: body of %d bytes", errFrame, reply.Body)
	}
	reply.body = make([]byte, reply.Body)
	_, err := io.ReadFull(r, reply.body)
	return reply, err
}
