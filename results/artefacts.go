package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
)

// Names inside of an attempt's folder.
const (
	FilesDir      = "files"           // the edited code
	PatchFile     = "changes.patch"   // its difference to the starter
	TraceDir      = "trace"           // the agent's own session files
	RecordingFile = "model.jsonl.zst" // the gateway's recording
	StdoutFile    = "stdout"
	StderrFile    = "stderr"
	AttemptFile   = "attempt.json" // the Attempt, so that a crash before its row loses nothing
)

// Artefacts is the folder of an attempt while it is written. One goroutine
// commits or discards it; files may be written from several.
type Artefacts struct {
	store *Store
	root  *os.Root
	tmp   string // relative to the run
	done  bool
}

// BeginArtefacts makes a temporary folder for the files of an attempt.
func (s *Store) BeginArtefacts(key string, n int) (*Artefacts, error) {
	if s.write == nil {
		return nil, &StateError{Op: "writing artefacts", Reason: "the run is open for reading only"}
	}
	tmp := path.Join(tmpDir, uuid.NewString())
	err := s.root.Mkdir(tmp, 0o777)
	if err != nil {
		return nil, storageError(fmt.Sprintf("making a folder for attempt %d of trial %s", n, key), s.dir, err)
	}
	root, err := s.root.OpenRoot(tmp)
	if err != nil {
		s.root.RemoveAll(tmp)
		return nil, storageError("opening the artefacts", s.dir, err)
	}
	return &Artefacts{store: s, root: root, tmp: tmp}, nil
}

// Root is the temporary folder; it is closed by Commit and Discard.
func (a *Artefacts) Root() *os.Root { return a.root }

// Path is the temporary folder's path on the host.
func (a *Artefacts) Path() string { return filepath.Join(a.store.dir, filepath.FromSlash(a.tmp)) }

// Commit adds attempt.json, makes everything durable, and moves the folder to
// its place. Files must be closed before. Afterwards call Collected with the
// same attempt; if the process dies in between, Recover does.
func (a *Artefacts) Commit(ctx context.Context, attempt Attempt) error {
	if a.done {
		return &StateError{Op: "committing artefacts", Reason: "they are committed or discarded already"}
	}
	if attempt.Path == "" || attempt.Outcome == "" {
		return &StateError{Op: "committing artefacts", Reason: "the attempt has no path or no outcome yet"}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := a.commit(attempt)
	return storageError(fmt.Sprintf("committing artefacts of %q", attempt.Path), a.store.dir, err)
}

func (a *Artefacts) commit(attempt Attempt) error {
	record, err := json.MarshalIndent(attempt, "", "  ")
	if err != nil {
		return err
	}
	if err := a.root.WriteFile(AttemptFile, append(record, '\n'), 0o666); err != nil {
		return err
	}
	if err := syncTree(a.root); err != nil {
		return err
	}
	return a.move(attempt.Path)
}

func (a *Artefacts) move(to string) error {
	s := a.store
	s.folders.Lock()
	err := makeFolders(s.root, path.Dir(to))
	s.folders.Unlock()
	if err != nil {
		return err
	}
	if _, err := s.root.Lstat(to); err == nil {
		return &StateError{Op: "committing artefacts", Reason: fmt.Sprintf("%q exists already", to)}
	}
	if err := s.root.Rename(a.tmp, to); err != nil {
		return err
	}
	a.done = true
	a.root.Close()
	return syncIn(s.root, path.Dir(to))
}

// Discard removes the temporary folder. After Commit it does nothing, so it
// can be deferred.
func (a *Artefacts) Discard() error {
	if a.done {
		return nil
	}
	a.done = true
	a.root.Close()
	return storageError("discarding artefacts", a.store.dir, a.store.root.RemoveAll(a.tmp))
}

// OpenAttempt opens the committed artefact folder of an attempt.
func (s *Store) OpenAttempt(a Attempt) (*os.Root, error) {
	if !strings.HasPrefix(a.Path, "trials/") {
		return nil, &StateError{Op: "opening artefacts", Reason: fmt.Sprintf("attempt %d has none", a.Number)}
	}
	root, err := s.root.OpenRoot(a.Path)
	return root, storageError(fmt.Sprintf("opening artefacts %q", a.Path), s.dir, err)
}

// AttemptDir is the path of a recorded attempt's folder on the host.
func (s *Store) AttemptDir(a Attempt) string { return filepath.Join(s.dir, filepath.FromSlash(a.Path)) }

// maxAttemptFile bounds attempt.json when it is read back.
const maxAttemptFile = 1 << 20

// readAttempt reads the attempt.json of a committed folder.
func (s *Store) readAttempt(folder string) (Attempt, error) {
	name := path.Join(folder, AttemptFile)
	info, err := s.root.Lstat(name)
	if err != nil {
		return Attempt{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxAttemptFile {
		return Attempt{}, errors.New("attempt.json is not a small regular file")
	}
	data, err := s.root.ReadFile(name)
	if err != nil {
		return Attempt{}, err
	}
	var a Attempt
	if err := json.Unmarshal(data, &a); err != nil {
		return Attempt{}, fmt.Errorf("reading %q: %w", name, err)
	}
	return a, nil
}
