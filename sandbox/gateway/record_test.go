package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// read returns the whole records of a recording, and its error.
func read(t testing.TB, file []byte) ([]Record, error) {
	t.Helper()
	var out []Record
	for rec, err := range ReadRecording(bytes.NewReader(file)) {
		if err != nil {
			return out, err
		}
		out = append(out, rec)
	}
	return out, nil
}

// talk makes records as a conversation makes them: every request holds the one
// before and some more in its middle.
func talk(n int) []Record {
	var out []Record
	middle := ""
	for i := range n {
		middle += fmt.Sprintf(`{"role":"user","content":"line %d, ünï"},`, i)
		out = append(out, Record{
			Seq: i + 1, Started: time.Unix(int64(i), 0).UTC(), Ended: time.Unix(int64(i), 5).UTC(),
			Method: "POST", Path: "/chat/completions", Model: "m", Status: 200, Complete: true, Tries: 1,
			Request:  `{"messages":[` + strings.Repeat("system ", 500) + middle + `],"tools":[` + strings.Repeat("tool ", 500) + "]}",
			Response: "data: [DONE]\n\n", Headers: map[string]string{"Content-Type": "text/event-stream"},
			Usage: &Usage{Input: n64(int64(i))},
		})
	}
	return out
}

func write(t testing.TB, w io.Writer, recs []Record) {
	t.Helper()
	r, err := NewRecorder(w)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, rec := range recs {
		if err := r.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRecordingRoundTrip(t *testing.T) {
	recs := talk(150)
	recs[70].Request = "" // a refused request between
	recs[71].Request = "něco jiného"
	var file bytes.Buffer
	write(t, &file, recs)
	got, err := read(t, file.Bytes())
	if err != nil || !reflect.DeepEqual(got, recs) {
		t.Fatalf("got %d records, %v", len(got), err)
	}
	plain, err := io.ReadAll(mustDecode(t, file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(plain), "\n"), "\n")
	if len(lines) != len(recs) {
		t.Errorf("%d lines", len(lines))
	}
	whole := 0
	for _, l := range lines {
		if strings.Contains(l, `"request":`) {
			whole++
		}
	}
	// Lines 1, 72 and 73, and one of 64 on each side.
	if whole != 5 {
		t.Errorf("%d bodies are stored whole", whole)
	}
}

func mustDecode(t *testing.T, file []byte) io.Reader {
	dec, err := zstd.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dec.Close)
	return dec
}

// However a recording is cut off, all frames before the cut are read.
func TestTornRecording(t *testing.T) {
	recs := talk(6)
	var file bytes.Buffer
	r, err := NewRecorder(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ends := []int{0}
	for _, rec := range recs {
		if err := r.Write(rec); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, file.Len())
	}
	for cut := range file.Len() {
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= cut {
			whole++
		}
		got, err := read(t, file.Bytes()[:cut])
		if torn := cut != ends[whole]; torn != errors.Is(err, ErrTornRecording) || !torn && err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if len(got) != whole || !reflect.DeepEqual(got, append([]Record(nil), recs[:whole]...)) {
			t.Fatalf("cut at %d: %d records of %d", cut, len(got), whole)
		}
	}
	damaged := bytes.Clone(file.Bytes())
	damaged = append(damaged[:ends[5]], make([]byte, 100)...) // as a file system may leave it
	if got, err := read(t, damaged); len(got) != 5 || !errors.Is(err, ErrTornRecording) {
		t.Errorf("zeros at the end: %d records, %v", len(got), err)
	}
}

func TestRecordingBounds(t *testing.T) {
	var file bytes.Buffer
	write(t, &file, []Record{
		{Request: strings.Repeat("a", maxRecordedBody+1), Response: "b"},
		{Request: "a\xffb", Response: strings.Repeat("c", maxRecordedBody)},
	})
	got, err := read(t, file.Bytes())
	if err != nil || len(got) != 2 {
		t.Fatal(len(got), err)
	}
	if !got[0].RequestCut || len(got[0].Request) != maxRecordedBody || got[0].ResponseCut {
		t.Errorf("first: %v %d", got[0].RequestCut, len(got[0].Request))
	}
	if got[1].RequestCut || got[1].Request != "a\uFFFDb" || got[1].ResponseCut ||
		len(got[1].Response) != maxRecordedBody {
		t.Errorf("second: %q %d", got[1].Request, len(got[1].Response))
	}
}

// Past the bound of a recording, lines go on without bodies.
func TestRecordingIsBoundedInAll(t *testing.T) {
	var file bytes.Buffer
	r, err := NewRecorder(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.out.n = maxRecordedBytes + 1
	if err := r.Write(Record{Seq: 7, Request: "x", Response: "y"}); err != nil {
		t.Fatal(err)
	}
	got, err := read(t, file.Bytes())
	if err != nil || len(got) != 1 || got[0].Seq != 7 || !got[0].RequestCut || got[0].Response != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

type failingWriter struct{ calls int }

func (f *failingWriter) Write([]byte) (int, error) {
	f.calls++
	return 0, errors.New("disk full")
}

func TestRecorderStopsAfterAnError(t *testing.T) {
	w := &failingWriter{}
	r, err := NewRecorder(w)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 {
		if err := r.Write(Record{}); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("got %v", err)
		}
	}
	if w.calls != 1 {
		t.Errorf("%d writes", w.calls)
	}
}

func FuzzReadRecording(f *testing.F) {
	var file bytes.Buffer
	write(f, &file, talk(3))
	f.Add(file.Bytes())
	f.Add(file.Bytes()[:file.Len()-3])
	f.Add([]byte{})
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0})
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { enc.Close() })
	for _, line := range []string{`{"delta":{"head":5,"tail":-1}}` + "\n", "{}\n[]\n", "{}", `{"delta":{"middle":"x"}}` + "\n"} {
		f.Add(enc.EncodeAll([]byte(line), nil))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		recs, err := read(t, in)
		if err != nil && !errors.Is(err, ErrTornRecording) {
			t.Fatalf("strange error: %v", err)
		}
		for _, r := range recs {
			if r.Delta != nil {
				t.Fatal("a delta was left")
			}
		}
	})
}

// Bodies are written in pieces, which must not split characters.
func TestLongTextsSurvive(t *testing.T) {
	long := "x" + strings.Repeat("€ü\"\\\n<", 100_000)
	recs := []Record{{Request: long, Response: long}, {Request: long + "€", Response: "ü" + long}}
	var file bytes.Buffer
	write(t, &file, recs)
	got, err := read(t, file.Bytes())
	if err != nil || !reflect.DeepEqual(got, recs) {
		t.Errorf("%d records, %v", len(got), err)
	}
}

func TestClosedRecorder(t *testing.T) {
	r, err := NewRecorder(&bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(Record{}); err == nil {
		t.Error("a closed recorder takes records")
	}
}
