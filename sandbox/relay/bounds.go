package relay

import (
	"errors"
	"time"

	"cabra-run/sandbox/relay/internal/wire"
)

// Bounds limit what one box can make the host do. A zero field means the
// default of DefaultBounds.
type Bounds struct {
	Connections int   // of the agent, open at once; more than 64 a relay never opens
	Opened      int64 // connections over the whole attempt
	Frames      int64 // frames from the box, of any kind
	Bytes       int64 // bytes from the box, headers included
	// Unread is how many bytes may wait in memory to be read, all connections
	// together. An honest agent has a few requests under way, and they are read
	// as they come. Holding the stream up instead could make it stand still for
	// ever, when what our side waits for is behind what it does not read yet.
	Unread int64
	Hello  time.Duration // until the relay must have said that it listens
	Ping   time.Duration // between two pings
	// Stuck is when a write that the box does not take, or a ping that it does
	// not answer, becomes its fault.
	Stuck time.Duration
}

// DefaultBounds returns the bounds of an attempt. The longest honest attempts
// that were seen send some hundred MB in some thousand connections.
func DefaultBounds() Bounds {
	return Bounds{
		Connections: wire.Connections, Opened: 100_000, Frames: 4_000_000, Bytes: 2 << 30, Unread: 8 << 20,
		Hello: 30 * time.Second, Stuck: 2 * time.Minute, Ping: 2 * time.Minute,
	}
}

// OrDefaults returns b with every zero field taken from DefaultBounds.
func (b Bounds) OrDefaults() Bounds {
	d := DefaultBounds()
	if b.Connections == 0 {
		b.Connections = d.Connections
	}
	for _, f := range []struct{ v, def *int64 }{
		{&b.Opened, &d.Opened}, {&b.Frames, &d.Frames}, {&b.Bytes, &d.Bytes}, {&b.Unread, &d.Unread},
	} {
		if *f.v == 0 {
			*f.v = *f.def
		}
	}
	for _, f := range []struct{ v, def *time.Duration }{
		{&b.Hello, &d.Hello}, {&b.Stuck, &d.Stuck}, {&b.Ping, &d.Ping},
	} {
		if *f.v == 0 {
			*f.v = *f.def
		}
	}
	return b
}

// Why a connection to a box ended.
var (
	// ErrProtocol is wrapped by everything that an honest relay never does.
	ErrProtocol = errors.New("the box broke the relay's protocol")
	// ErrEnded means that the box's end of the stream is gone: PID 1 has died
	// or the engine has. The box itself can tell which.
	ErrEnded = errors.New("the stream from the box has ended")
	// ErrClosed means that Close was called.
	ErrClosed = errors.New("the connection to the box was closed")
)
