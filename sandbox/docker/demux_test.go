package docker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// frame is one of the engine's frames, as its API describes them: stream,
// three zeros, length in network order, content.
func frame(kind byte, text string) []byte {
	b := []byte{kind, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[4:], uint32(len(text)))
	return append(b, text...)
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestDemux(t *testing.T) {
	big := strings.Repeat("b", 100_000)
	stream := bytes.Join([][]byte{
		frame(1, "out1"), frame(2, "err1"), frame(1, ""), frame(1, big), frame(2, "err2"), frame(1, "out2"),
	}, nil)
	var out, errs bytes.Buffer
	if err := demux(iotest.HalfReader(bytes.NewReader(stream)), &out, &errs); err != nil {
		t.Fatal(err)
	}
	if out.String() != "out1"+big+"out2" || errs.String() != "err1err2" {
		t.Errorf("%d bytes of output, errors %q", out.Len(), errs.String())
	}

	errs.Reset()
	if err := demux(bytes.NewReader(stream), failingWriter{}, &errs); err != nil || errs.String() != "err1err2" {
		t.Errorf("with a failing writer: %v, errors %q", err, errs.String())
	}
}

func TestDemuxBroken(t *testing.T) {
	whole := frame(1, "some text")
	for name, tc := range map[string]struct {
		stream []byte
		want   error
	}{
		"within a header": {whole[:5], io.ErrUnexpectedEOF},
		"after a header":  {whole[:8], io.ErrUnexpectedEOF},
		"within a frame":  {whole[:12], io.ErrUnexpectedEOF},
	} {
		if err := demux(bytes.NewReader(tc.stream), io.Discard, io.Discard); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := demux(bytes.NewReader(frame(9, "x")), io.Discard, io.Discard); err == nil {
		t.Error("an unknown stream was taken")
	}
	err := demux(bytes.NewReader(frame(3, "daemon says no")), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "daemon says no") {
		t.Errorf("the engine's own error: %v", err)
	}
}

// TestDemuxBoundless announces four gigabytes and sends a little; nothing may
// be set aside for the rest.
func TestDemuxBoundless(t *testing.T) {
	stream := append([]byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, "short"...)
	var out bytes.Buffer
	got := testing.AllocsPerRun(1, func() {
		out.Reset()
		if err := demux(bytes.NewReader(stream), &out, io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
	})
	if out.String() != "short" || got > 20 {
		t.Errorf("output %q with %v allocations", out.String(), got)
	}
}
