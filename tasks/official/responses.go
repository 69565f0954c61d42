package official

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"

	"cabra-run/tasks"
)

// Bounds on response files.
const (
	maxLine          = 64 << 20
	maxResponses     = 10_000
	maxResponseBytes = 4 << 30
	maxReason        = 500
)

// ResponseFile is a file of answers of one agent and model to the tasks of one
// file.
type ResponseFile struct {
	Path  string // below the folder that was listed
	Key   Key    // without DagID; the run has today's name
	Agent string // path kind: "copilot" or "code"
	Model string // path stem, which may have slashes
}

// ListResponses finds the response files below root, which is a folder of
// responses or one that has a folder of that name.
func ListResponses(root *os.Root) ([]ResponseFile, []Notice, error) {
	top := "."
	if info, err := root.Stat("responses"); err == nil && info.IsDir() {
		top = "responses"
	}
	var files []ResponseFile
	var odd Notices
	err := fs.WalkDir(root.FS(), top, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		f, ok := responseFile(name, strings.TrimPrefix(name, top+"/"))
		if !ok || !e.Type().IsRegular() {
			odd.Add(ForeignFile, name)
			return nil
		}
		if files = append(files, f); len(files) > maxFiles {
			return fmt.Errorf("there are more than %d response files", maxFiles)
		}
		return nil
	})
	return files, odd.List(), err
}

// responseFile reads the path of a response file: run, task set and type where
// there are any, kind of agent, model.
func responseFile(name, rel string) (ResponseFile, bool) {
	rel, ok := strings.CutSuffix(rel, ".jsonl")
	parts := strings.Split(rel, "/")
	if !ok || len(parts) < 3 {
		return ResponseFile{}, false
	}
	f := ResponseFile{Path: name, Key: Key{Run: CurrentRun(parts[0])}}
	rest := parts[1:]
	if _, known := codeOf(rest[0]); known {
		if len(rest) < 4 {
			return ResponseFile{}, false
		}
		f.Key.Set, f.Key.Type = rest[0], rest[1]
		rest = rest[2:]
	}
	f.Agent, f.Model = rest[0], strings.Join(rest[1:], "/")
	return f, f.Agent == "copilot" || f.Agent == "code"
}

// Response is the last record of a task in a response file.
type Response struct {
	Name, DagID  string
	Line         int    // from 1
	Output       string // serialised files; "" when there is none
	Error        string // in place of an output
	Running      bool   // the answer was never finished
	Seconds      float64
	InputTokens  *int64
	OutputTokens *int64
}

// Read reads a response file below root.
func (f ResponseFile) Read(root *os.Root) ([]Response, []Notice, error) {
	in, err := openFile(root, f.Path, maxResponseBytes)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	list, odd, err := ReadResponses(in, f.Path)
	for _, r := range list {
		if !f.fits(r) {
			var other Notices
			other.Add(OtherName, fmt.Sprintf("%s: line %d", f.Path, r.Line))
			odd = append(odd, other.List()...)
		}
	}
	return list, odd, err
}

// fits reports whether a record has the name that belongs to its dag_id.
func (f ResponseFile) fits(r Response) bool {
	if f.Key.Set == "" {
		return "task_"+path.Base(r.Name) == r.DagID
	}
	k := f.Key
	k.DagID = r.DagID
	return r.Name == k.name()
}

// ReadResponses reads records, one a line. Of several records with one dag_id
// the last counts, at the place of the first. Lines that cannot be used are
// noted with their number; an error is one of reading.
func ReadResponses(in io.Reader, where string) ([]Response, []Notice, error) {
	l := &responseList{where: where, places: map[string]int{}}
	lines := bufio.NewReaderSize(in, 64<<10)
	for number := 1; ; number++ {
		line, long, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, l.odd.List(), err
		}
		if long {
			l.note(LongLine, number)
		} else if len(bytes.TrimSpace(line)) > 0 {
			l.add(line, number, err == nil)
		}
		if len(l.list) > maxResponses {
			return nil, l.odd.List(), fmt.Errorf("there are more than %d records", maxResponses)
		}
		if err != nil {
			return l.list, l.odd.List(), nil
		}
	}
}

// readLine returns the next line, or nothing of one that is too long. At the end
// of the file the error is io.EOF, also behind a last line without line end.
func readLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// responseList collects the records of a file.
type responseList struct {
	where  string
	list   []Response
	places map[string]int
	odd    Notices
}

func (l *responseList) note(name string, line int) {
	l.odd.Add(name, fmt.Sprintf("%s: line %d", l.where, line))
}

// responseRecord is a line. What does not matter here may have any form.
type responseRecord struct {
	Name     *string         `json:"name"`
	DagID    *string         `json:"dag_id"`
	Output   any             `json:"output"`
	Error    any             `json:"error"`
	Status   any             `json:"status"`
	Metadata json.RawMessage `json:"metadata"`
}

func (l *responseList) add(line []byte, number int, ended bool) {
	var r responseRecord
	if err := json.Unmarshal(line, &r); err != nil {
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &kind) && kind.Field != "":
			l.note(BadRecord, number)
		case !ended:
			l.note(PartialLine, number)
		default:
			l.note(BadLine, number)
		}
		return
	}
	if r.Name == nil || r.DagID == nil {
		l.note(BadRecord, number)
		return
	}
	l.put(r.response(number))
}

func (l *responseList) put(r Response) {
	i, repeated := l.places[r.DagID]
	if !repeated {
		l.places[r.DagID] = len(l.list)
		l.list = append(l.list, r)
		return
	}
	if !l.list[i].Running { // every finished answer comes after such a record
		l.note(RepeatedName, r.Line)
	}
	l.list[i] = r
}

func (r responseRecord) response(line int) Response {
	resp := Response{Name: *r.Name, DagID: *r.DagID, Line: line}
	resp.Output, _ = r.Output.(string)
	if r.Error != nil {
		resp.Error = oneLine(fmt.Sprint(r.Error))
	}
	if status, _ := r.Status.(string); status == "running" {
		resp.Running = true
	} else if status == "error" && resp.Error == "" && resp.Output == "" {
		resp.Error = "an error without a text"
	}
	var m map[string]any
	if json.Unmarshal(r.Metadata, &m) == nil {
		resp.Seconds, _ = m["time_seconds"].(float64)
		resp.Seconds = max(0, min(resp.Seconds, 1e9))
		resp.InputTokens, resp.OutputTokens = count(m["n_input_tokens"]), count(m["n_output_tokens"])
	}
	return resp
}

// count is a whole number of a metadata, nil if it is none.
func count(v any) *int64 {
	f, ok := v.(float64)
	if !ok || f < 0 || f > 1e15 || f != math.Trunc(f) {
		return nil
	}
	n := int64(f)
	return &n
}

// oneLine makes a bounded line of a text that others wrote.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "…"
	}
	return s
}

// SplitOutput splits a serialised folder at the headers of the given files; a
// name heads a file once. banners counts the other lines that have the form of a
// header: they are comments, though the official scorer cuts files there.
func SplitOutput(output string, names []string) (files tasks.Files, banners int) {
	files = tasks.Files{}
	left := map[string]bool{}
	for _, name := range names {
		left[name] = true
	}
	current, text := "", new(strings.Builder)
	finish := func() {
		if current != "" {
			files[current] = strings.Trim(text.String(), "\n")
		}
		text.Reset()
	}
	for line := range strings.SplitAfterSeq(output, "\n") {
		name, isHeader := headerOf(line)
		switch {
		case isHeader && left[name]:
			finish()
			current, left[name] = name, false
			continue
		case isHeader && current != "":
			banners++
		}
		text.WriteString(line)
	}
	finish()
	return files, banners
}

// headerOf returns the name in a line of the form "# === NAME ===".
func headerOf(line string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
	if !ok {
		return "", false
	}
	if rest, ok = strings.CutPrefix(strings.TrimSpace(rest), "==="); !ok {
		return "", false
	}
	if rest, ok = strings.CutSuffix(rest, "==="); !ok || rest == "" {
		return "", false
	}
	return strings.TrimSpace(rest), true
}
