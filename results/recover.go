package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// AttemptRef names an attempt.
type AttemptRef struct {
	TrialKey string `json:"trial_key"`
	TaskID   string `json:"task_id"`
	Number   int    `json:"number"`
	Path     string `json:"path"`
}

// Recovery says what Recover found.
type Recovery struct {
	Adopted []AttemptRef `json:"adopted"`  // artefacts were in place, the row was not: recorded now
	Closed  []AttemptRef `json:"closed"`   // started and never finished: cancelled now, usage kept
	ToScore []AttemptRef `json:"to_score"` // collected, without a verdict that they need
	// Missing are recorded attempts whose artefacts are gone. Where they had
	// no verdict they count as unscored, and answered ones are due again.
	Missing []AttemptRef `json:"missing"`
	// Orphans are attempt folders of trials that are not in the plan; they
	// are left alone. They are not looked for in a run that was closed properly.
	Orphans     []string `json:"orphans"`
	RemovedTemp int      `json:"removed_temp"` // unfinished artefact folders
}

// Recover brings the run into order after a crash. The writer calls it once,
// before it starts anything: open attempts are taken for dead ones. The order
// is that of writing, backwards: a folder that was renamed into place is
// adopted, and only what has none is closed as cancelled.
func (s *Store) Recover(ctx context.Context) (Recovery, error) {
	var rec Recovery
	for _, step := range []func(context.Context, *Recovery) error{
		s.removeTemp, s.adoptStarted, s.compareFolders, s.listToScore,
	} {
		if err := step(ctx, &rec); err != nil {
			return rec, storageError("recovering", s.dir, err)
		}
	}
	return rec, nil
}

func (s *Store) removeTemp(_ context.Context, rec *Recovery) error {
	entries, err := fs.ReadDir(s.root.FS(), tmpDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.root.RemoveAll(path.Join(tmpDir, e.Name())); err != nil {
			return err
		}
		rec.RemovedTemp++
	}
	return nil
}

func (s *Store) adoptStarted(ctx context.Context, rec *Recovery) error {
	open, err := s.attemptRefs(ctx, `a.outcome = ''`)
	if err != nil {
		return err
	}
	for _, ref := range open {
		a, adopted := s.attemptOnDisk(ref)
		err := s.inTx(ctx, func(tx *sql.Tx) error {
			id, _, err := trialID(ctx, tx, "recovering", ref.TrialKey)
			if err != nil {
				return err
			}
			if !adopted {
				if err := fillFromExchanges(ctx, tx, id, &a); err != nil {
					return err
				}
			}
			return s.closeAttempt(ctx, tx, id, a)
		})
		if err != nil {
			return err
		}
		if adopted {
			rec.Adopted = append(rec.Adopted, ref)
		} else {
			rec.Closed = append(rec.Closed, ref)
		}
	}
	return nil
}

// attemptOnDisk is the attempt as its committed folder tells it, or a cancelled one.
func (s *Store) attemptOnDisk(ref AttemptRef) (a Attempt, adopted bool) {
	cancelled := Attempt{TrialKey: ref.TrialKey, Number: ref.Number, Path: ref.Path, Outcome: Cancelled,
		Unscored: true, TraceState: "none", Reason: "the orchestrator ended before the attempt did"}
	if !s.isFolder(ref.Path) {
		return cancelled, false
	}
	a, err := s.readAttempt(ref.Path)
	if err == nil && (a.TrialKey != ref.TrialKey || a.Number != ref.Number || a.Ended.IsZero() ||
		!slices.Contains(Outcomes(), a.Outcome)) {
		err = errors.New("it is of another attempt, or not of an ended one")
	}
	if err != nil {
		cancelled.Reason = fmt.Sprintf("artefacts without a readable attempt.json: %v", err)
		return cancelled, false
	}
	a.Adopted = true
	return a, true
}

// fillFromExchanges reads from the recorded usage what can be said about an
// attempt that nobody saw end.
func fillFromExchanges(ctx context.Context, tx *sql.Tx, id int64, a *Attempt) error {
	var started string
	var last sql.NullString
	err := tx.QueryRowContext(ctx, `SELECT a.started, max(e.ended), count(e.seq), coalesce(sum(e.complete), 0)
		FROM attempts a LEFT JOIN exchanges e ON e.trial_id = a.trial_id AND e.number = a.number
		WHERE a.trial_id = ? AND a.number = ?`, id, a.Number).Scan(&started, &last, &a.Requests, &a.Answers)
	if err != nil {
		return err
	}
	a.Started, a.Ended = parseTime(started), parseTime(started)
	if end := parseTime(last.String); end.After(a.Ended) {
		a.Ended = end
	}
	a.WallSeconds = a.Ended.Sub(a.Started).Seconds()
	return nil
}

// compareFolders holds the attempt folders against the rows: it takes over
// folders that the database does not know at all, because it lost its newest
// rows, and marks attempts whose folder has vanished.
func (s *Store) compareFolders(ctx context.Context, rec *Recovery) error {
	if s.whole { // no row is lost; what is gone of the folders is all there is to see
		missing, err := s.goneFolders(ctx)
		if err != nil {
			return err
		}
		return s.noteMissing(ctx, missing, rec)
	}
	list, err := attemptFolders(s.dir)
	if err != nil {
		return err
	}
	found := make(map[string]bool, len(list))
	for _, folder := range list {
		found[folder] = true
	}
	missing, err := s.knownFolders(ctx, func(path string) bool {
		there := found[path]
		delete(found, path)
		return there
	})
	if err != nil {
		return err
	}
	for _, folder := range list {
		if !found[folder] {
			continue
		}
		if err := s.adoptFolder(ctx, folder, rec); err != nil {
			return err
		}
	}
	return s.noteMissing(ctx, missing, rec)
}

// attemptFolder is where an attempt that is recorded should have its artefacts.
type attemptFolder struct {
	trial  int64
	number int64
	path   string
}

// knownFolders asks for each folder that the database knows whether it is there,
// and returns those that should be and are not.
func (s *Store) knownFolders(ctx context.Context, there func(path string) bool) (missing []attemptFolder, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT trial_id, number, path, artefacts FROM attempts`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var f attemptFolder
		var wanted int64
		if err := rows.Scan(&f.trial, &f.number, &f.path, &wanted); err != nil {
			return nil, err
		}
		if !there(f.path) && wanted != 0 {
			missing = append(missing, f)
		}
	}
	return missing, rows.Err()
}

func (s *Store) adoptFolder(ctx context.Context, folder string, rec *Recovery) error {
	var key, task string
	err := s.read.QueryRowContext(ctx, `SELECT key, task_id FROM trials WHERE folder = ?`, path.Dir(folder)).
		Scan(&key, &task)
	if errors.Is(err, sql.ErrNoRows) {
		rec.Orphans = append(rec.Orphans, folder)
		return nil
	}
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(strings.TrimPrefix(path.Base(folder), "attempt-"))
	if err != nil {
		return err
	}
	ref := AttemptRef{TrialKey: key, TaskID: task, Number: n, Path: folder}
	a, adopted := s.attemptOnDisk(ref)
	if !adopted {
		a.Started = time.Now()
		a.Ended = a.Started
	}
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		id, _, err := trialID(ctx, tx, "recovering", key)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO attempts (trial_id, number, path, started) VALUES (?, ?, ?, ?)`,
			id, n, folder, formatTime(a.Started))
		if err != nil {
			return err
		}
		return s.closeAttempt(ctx, tx, id, a)
	})
	if adopted {
		rec.Adopted = append(rec.Adopted, ref)
	} else {
		rec.Closed = append(rec.Closed, ref)
	}
	return err
}

// goneFolders returns the attempts that should have a folder and have not. Of a
// large run these are hundreds of thousands of questions to the file system, so
// that every processor asks its part, without isFolder's care for links on the
// way; noteMissing asks again.
func (s *Store) goneFolders(ctx context.Context) ([]attemptFolder, error) {
	dir, err := os.Open(s.dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := s.knownFolders(ctx, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	parts := slices.Collect(slices.Chunk(all, len(all)/runtime.NumCPU()+1))
	var askers sync.WaitGroup
	for i, part := range parts {
		askers.Go(func() {
			parts[i] = slices.DeleteFunc(part, func(f attemptFolder) bool { return isFolderIn(dir, f.path) })
		})
	}
	askers.Wait()
	return slices.Concat(parts...), nil
}

func isFolderIn(dir *os.File, path string) bool {
	if !filepath.IsLocal(path) {
		return false
	}
	var info unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), path, &info, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && info.Mode&unix.S_IFMT == unix.S_IFDIR
}

// noteMissing marks attempts whose artefact folder has vanished.
func (s *Store) noteMissing(ctx context.Context, missing []attemptFolder, rec *Recovery) error {
	for _, f := range missing {
		if s.isFolder(f.path) {
			continue // it has come back meanwhile
		}
		refs, err := s.attemptRefs(ctx, `a.trial_id = ? AND a.number = ?`, f.trial, f.number)
		if err != nil {
			return err
		}
		rec.Missing = append(rec.Missing, refs...)
		err = s.inTx(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE attempts SET artefacts = 0, unscored = 1
				WHERE trial_id = ? AND number = ?`, f.trial, f.number)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) listToScore(ctx context.Context, rec *Recovery) error {
	for t, err := range s.Unfinished(ctx) {
		if err != nil {
			return err
		}
		if t.State != StateUnscored {
			continue
		}
		a := t.Scorable()
		rec.ToScore = append(rec.ToScore,
			AttemptRef{TrialKey: t.Key, TaskID: string(t.TaskID), Number: a.Number, Path: a.Path})
	}
	return nil
}

// attemptRefs lists the attempts that meet a condition, which is a constant of
// this file, in plan order.
func (s *Store) attemptRefs(ctx context.Context, where string, args ...any) ([]AttemptRef, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT t.key, t.task_id, a.number, a.path
		FROM attempts a JOIN trials t ON t.id = a.trial_id WHERE `+where+` ORDER BY t.seq, t.id, a.number`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var refs []AttemptRef
	for rows.Next() {
		var r AttemptRef
		if err := rows.Scan(&r.TrialKey, &r.TaskID, &r.Number, &r.Path); err != nil {
			return nil, err
		}
		refs = append(refs, r)
	}
	return refs, rows.Err()
}
