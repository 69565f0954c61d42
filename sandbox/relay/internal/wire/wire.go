// Package wire holds what both ends of the relay's stream must agree on: the
// port, the opening line, the sizes, and the settings of the multiplexer. It
// is compiled into the program that runs in the box, where the agent can read
// it, and must know nothing but this.
package wire

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/yamux"
)

// Sizes and limits of the stream. The box opens all streams, numbered 1, 3, 5
// and so on in this order; the first carries the opening line.
const (
	Port        = 8017      // on 127.0.0.1 in the box
	Connections = 64        // of the agent, open at once
	FrameBytes  = 32 << 10  // longest payload that the box sends in one frame
	Window      = 256 << 10 // unread bytes of one stream; the least that yamux takes
	HelloBytes  = 64        // longest opening line
)

// How an archive marks an entry that was left out and that tar has no type for.
const (
	RefusedType   = 'Z'
	RefusedRecord = "CABRA.refused"
)

// Version is the version of the stream that both ends must have. It counts up
// when an old relay in an image can no longer serve a new host.
const Version = 1

// Hello is the opening line of a relay that listens on port.
func Hello(port int) string { return fmt.Sprintf("cabra-relay %d %d\n", Version, port) }

// ParseHello returns the port of an opening line.
func ParseHello(line string) (port int, err error) {
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[0] != "cabra-relay" {
		return 0, fmt.Errorf("opening line %q", line)
	}
	if fields[1] != strconv.Itoa(Version) {
		return 0, fmt.Errorf("the relay in the image speaks version %q, not %d", fields[1], Version)
	}
	port, err = strconv.Atoi(fields[2])
	if err != nil || line != Hello(port) {
		return 0, fmt.Errorf("opening line %q", line)
	}
	return port, nil
}

// Config returns the settings of the multiplexer on both ends. Nothing in it
// ever expires: a slow answer is not an error, and the watching over a silent
// peer is the host's (see Bounds in package relay). A close time-out would
// also keep every half-closed stream of an ended session in memory until then.
func Config() *yamux.Config {
	const never = 30 * 24 * time.Hour
	return &yamux.Config{
		AcceptBacklog:          Connections + 1,
		KeepAliveInterval:      never, // must be set although keep-alive is off
		ConnectionWriteTimeout: never,
		MaxStreamWindowSize:    Window,
		LogOutput:              io.Discard,
	}
}
