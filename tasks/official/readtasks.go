package official

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
	"syscall"

	"cabra-run/tasks"
)

// taskSuffix is what the name of a run of tasks has beyond that of its graphs.
var taskSuffix = regexp.MustCompile(`_(?:ifhops=\d+|nc=\(\d+,\d+\)_cp=\([\d.]+,[\d.]+\)|nw=\d+)$`)

// readRecord is a task as it is read, of call graphs or of merge.
type readRecord struct {
	Name     string  `json:"name"`
	DagID    string  `json:"dag_id"`
	Prompt   string  `json:"prompt"`
	Starter  program `json:"starter_code"`
	Solution program `json:"solution_code"`
	Metadata raw     `json:"metadata"`

	Input      string   `json:"input"`
	Spaced     string   `json:"input_with_space"`
	Merged     string   `json:"solution"`
	Transforms []string `json:"allowed_transformations"`
}

// program is the text of the one file of a program, or a map of files.
type program tasks.Files

// UnmarshalJSON reads either form.
func (p *program) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*p = program{tasks.SolutionFile: text}
		return nil
	}
	files := map[string]string{}
	if err := json.Unmarshal(data, &files); err != nil {
		return errors.New("a program is neither a text nor a map of texts")
	}
	*p = files
	return nil
}

// safeID is what is used in paths.
var safeID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

const maxProgramFiles = 100

// problem says why a record cannot be a task.
func (r *readRecord) problem() error {
	switch {
	case !safeID.MatchString(r.DagID):
		return fmt.Errorf("bad dag_id %.60q", r.DagID)
	case strings.TrimSpace(r.Prompt) == "":
		return errors.New("it has no prompt")
	case len(r.Prompt) > maxText || len(r.Spaced) > maxText:
		return errors.New("a text is too long")
	}
	for _, p := range []program{r.Starter, r.Solution} {
		if p[tasks.SolutionFile] == "" {
			return fmt.Errorf("a program has no file %s", tasks.SolutionFile)
		}
		if len(p) > maxProgramFiles {
			return errors.New("a program has too many files")
		}
		for name, text := range p {
			if name != path.Clean(name) || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") ||
				strings.ContainsRune(name, 0) || len(name) > maxName || len(text) > maxText {
				return fmt.Errorf("bad file %.60q in a program", name)
			}
		}
	}
	return nil
}

// read reads the records of a file.
func (t *Tree) read(f file) ([]readRecord, error) {
	in, err := t.open(f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	dec := json.NewDecoder(io.LimitReader(in, maxFileBytes))
	if token, err := dec.Token(); err != nil || token != json.Delim('[') {
		return nil, errors.New("it is not a JSON array")
	}
	var records []readRecord
	for dec.More() {
		if len(records) == maxRecords {
			return nil, fmt.Errorf("it has more than %d records", maxRecords)
		}
		var r readRecord
		if err := dec.Decode(&r); err != nil {
			return nil, fmt.Errorf("record %d: %w", len(records)+1, err)
		}
		if f.key.Set == "" {
			r.DagID = mergeDagID(len(records))
			r.Starter, r.Solution = program{tasks.SolutionFile: r.Input}, program{tasks.SolutionFile: r.Merged}
		}
		records = append(records, r)
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("its array does not end")
	}
	return records, nil
}

// open opens a file of a bounded size that is nothing but a file.
func (t *Tree) open(name string) (*os.File, error) { return openFile(t.root, name, maxFileBytes) }

func openFile(root *os.Root, name string, most int64) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not be waited for
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	case info.Size() > most:
		err = fmt.Errorf("it is larger than %d bytes", most)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (t *Tree) content(name string) ([]byte, error) {
	f, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileBytes))
}
