package gateway

import (
	"io"
	"net"
	"net/http"
	"time"
)

// passthrough joins a box's connection with the host's. What passes is counted
// and not seen.
func (s *Session) passthrough(guest net.Conn, host string) {
	rec := Record{Started: time.Now(), Method: http.MethodConnect, Path: host, Status: http.StatusOK, Complete: true}
	outside, err := s.o.Login.dial(s.ctx, "tcp", net.JoinHostPort(host, "443"))
	if err != nil {
		rec.Status, rec.Complete, rec.Error = http.StatusBadGateway, false, oneLine(err.Error())
		_, _ = io.WriteString(guest, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		s.recordTunnel(rec)
		return
	}
	defer outside.Close()
	if accepted(guest) == nil {
		rec.BytesOut, rec.BytesIn = s.join(guest, outside)
	}
	s.recordTunnel(rec)
}

// join copies both ways until both have ended, and returns how much went out
// and came in.
func (s *Session) join(guest, outside net.Conn) (out, in int64) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		out, _ = io.Copy(outside, touching{guest, s, func(st *Stats, n int64) { st.TunnelOut += n }})
		closeWrite(outside)
	}()
	in, _ = io.Copy(guest, touching{outside, s, func(st *Stats, n int64) { st.TunnelIn += n }})
	// A host that has ended its answers is not asked any more.
	_ = guest.Close()
	<-done
	return out, in
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// touching counts what is read.
type touching struct {
	io.Reader
	s     *Session
	count func(*Stats, int64)
}

func (t touching) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.s.note(func(st *Stats) {
		st.LastActivity = time.Now()
		t.count(st, int64(n))
	})
	return n, err
}

func (s *Session) recordTunnel(rec Record) {
	rec.Ended = time.Now()
	s.note(func(st *Stats) { st.Tunnels++ })
	if s.o.Record != nil {
		s.recorded(0, s.o.Record.Write(rec))
	}
}
