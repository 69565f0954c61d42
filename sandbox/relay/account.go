package relay

import (
	"encoding/binary"
	"fmt"

	"cabra-run/sandbox/relay/internal/wire"
)

// The multiplexer's frame header: version, kind, flags, stream, length.
const headerBytes = 12

// Kinds of frames and their flags, from yamux's specification.
const (
	kindData   = 0
	kindWindow = 1
	kindPing   = 2
	kindGoAway = 3

	flagOpen   = 1 // SYN
	flagAck    = 2
	flagFinish = 4 // FIN
	flagReset  = 8
)

type frameHeader struct {
	version, kind uint8
	flags         uint16
	id, length    uint32
}

func parseHeader(raw []byte) frameHeader {
	return frameHeader{
		version: raw[0], kind: raw[1], flags: binary.BigEndian.Uint16(raw[2:]),
		id: binary.BigEndian.Uint32(raw[4:]), length: binary.BigEndian.Uint32(raw[8:]),
	}
}

// payload is the number of bytes that follow the header. It is within a frame
// once the account has admitted the header.
func (h frameHeader) payload() int {
	if h.kind != kindData {
		return 0
	}
	return int(h.length)
}

// account is what a box has sent and holds open. Its rules are those of the
// relay, narrower than the multiplexer's protocol: the box opens all streams,
// in order, with an empty window update; it never pings, never acknowledges,
// never goes away; a frame has one flag at most.
type account struct {
	bounds  Bounds
	frames  int64
	bytes   int64
	opened  int64
	unread  int64 // of all streams that our side has not left
	pings   int64 // sent and not yet answered
	last    uint32
	streams map[uint32]*stream
}

// stream is one connection of the agent. It keeps its place until both sides
// are done with it, because until then the multiplexer keeps its buffer.
type stream struct {
	received int64
	credited int64 // window given to the box beyond the first
	unread   int64 // of received
	sent     int64 // by our side
	granted  int64 // of sent, given back by the box as window
	finished bool  // by the box
	left     bool  // by our side
}

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// enter books one frame. pass says whether the multiplexer shall see it; an
// error wraps ErrProtocol and names what is wrong.
func (a *account) enter(h frameHeader) (pass bool, err error) {
	if h.version != 0 {
		return false, broken("version %d in a frame", h.version)
	}
	if h.kind == kindData && (h.length == 0 || h.length > wire.FrameBytes) {
		return false, broken("data frame of %d bytes", h.length)
	}
	a.frames++
	a.bytes += int64(headerBytes + h.payload())
	if a.frames > a.bounds.Frames {
		return false, broken("more than %d frames", a.bounds.Frames)
	}
	if a.bytes > a.bounds.Bytes {
		return false, broken("more than %d bytes", a.bounds.Bytes)
	}
	switch h.kind {
	case kindData:
		return a.data(h)
	case kindWindow:
		return a.window(h)
	case kindPing:
		return a.ping(h)
	}
	return false, broken("frame of kind %d", h.kind)
}

func (a *account) data(h frameHeader) (bool, error) {
	s := a.streams[h.id]
	switch {
	case h.flags != 0:
		return false, broken("data frame with flags %#x", h.flags)
	case s == nil || s.finished:
		return false, broken("data on stream %d, which is not open", h.id)
	}
	s.received += int64(h.length)
	if s.received > wire.Window+s.credited {
		return false, broken("data beyond the window of stream %d", h.id)
	}
	if s.left {
		return false, nil
	}
	s.unread += int64(h.length)
	a.unread += int64(h.length)
	if a.unread > a.bounds.Unread {
		return false, broken("more than %d bytes on connections that nobody reads", a.bounds.Unread)
	}
	return true, nil
}

func (a *account) window(h frameHeader) (bool, error) {
	switch h.flags {
	case flagOpen:
		return true, a.open(h)
	case 0, flagFinish, flagReset:
	default:
		return false, broken("window update with flags %#x", h.flags)
	}
	s := a.streams[h.id]
	if s == nil && (h.id == 0 || h.id%2 == 0 || h.id > a.last) {
		return false, broken("window update for stream %d, which never was", h.id)
	}
	if s == nil || s.finished && h.flags != 0 {
		if h.flags == flagFinish {
			return false, broken("stream %d finished twice", h.id)
		}
		return false, nil // late news of a stream that both sides are done with
	}
	s.granted += int64(h.length)
	if s.granted > s.sent {
		return false, broken("window of stream %d raised by more than was sent", h.id)
	}
	if h.flags != 0 {
		s.finished = true
		a.release(h.id, s)
	}
	return true, nil
}

func (a *account) open(h frameHeader) error {
	if h.id%2 == 0 || h.id <= a.last {
		return broken("stream %d opened out of order", h.id)
	}
	if h.length != 0 {
		return broken("stream %d opened with a window of its own", h.id)
	}
	if len(a.streams) > a.bounds.Connections { // one more for the opening line
		return broken("more than %d connections at once", a.bounds.Connections)
	}
	a.opened++
	if a.opened > a.bounds.Opened {
		return broken("more than %d connections", a.bounds.Opened)
	}
	a.last = h.id
	a.streams[h.id] = &stream{}
	return nil
}

func (a *account) ping(h frameHeader) (bool, error) {
	if h.flags != flagAck {
		return false, broken("ping with flags %#x", h.flags)
	}
	if a.pings == 0 {
		return false, broken("answer to no ping")
	}
	a.pings--
	return true, nil
}

// sent books a frame of our side. It must be called before the frame leaves,
// so that no honest reaction to it can be earlier than the entry.
func (a *account) sent(h frameHeader) {
	if h.kind == kindPing && h.flags == flagOpen {
		a.pings++
	}
	s := a.streams[h.id]
	if s == nil {
		return
	}
	switch h.kind {
	case kindData:
		s.sent += int64(h.length)
	case kindWindow:
		s.credited += int64(h.length)
	}
}

// consume books that our side has read n bytes of a stream.
func (a *account) consume(id uint32, n int64) {
	if s := a.streams[id]; s != nil && !s.left {
		s.unread -= n
		a.unread -= n
	}
}

// leave books that our side will read no more of a stream.
func (a *account) leave(id uint32) {
	s := a.streams[id]
	if s == nil || s.left {
		return
	}
	s.left = true
	a.unread -= s.unread
	a.release(id, s)
}

func (a *account) release(id uint32, s *stream) {
	if s.finished && s.left {
		delete(a.streams, id)
	}
}
