package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// MergeOptions say how shards are united.
type MergeOptions struct {
	// AllowDrift unites shards whose locks differ; the differences are recorded
	// as drift of the merged run.
	AllowDrift bool
	// Partial also takes shards that are not finished; resuming the merged run
	// does the rest.
	Partial bool
	// Copy copies artefacts even where they could be linked.
	Copy bool
}

// MergeReport says what a merge has united.
type MergeReport struct {
	Run       string       `json:"run"`
	Shards    []string     `json:"shards"` // names of their runs, by index
	Trials    int          `json:"trials"`
	Attempts  int          `json:"attempts"`
	Exchanges int          `json:"exchanges"`
	Verdicts  int          `json:"verdicts"`
	Folders   int          `json:"folders"` // of artefacts
	Linked    bool         `json:"linked"`  // they share their files with the shards
	Counts    Counts       `json:"counts"`
	Spent     UsageTotal   `json:"spent"`
	Drift     []Difference `json:"drift"`
}

// Merge unites the shards of one plan into a new run at dst. The shards are left
// as they are, but for their being locked against writers meanwhile. Nothing is
// at dst before everything is there and synced: a merge that was killed starts
// anew when it is called again.
//
// It fails with *MergeError when the shards do not make one run, with
// *UnfinishedError when there is something left to do in them, with
// *LockedError when one is being written, and with *ExistsError when there is
// something at dst.
func Merge(ctx context.Context, dst string, srcs []string, opts MergeOptions) (*MergeReport, error) {
	m := &merge{dst: filepath.Clean(dst), opts: opts}
	report, err := m.run(ctx, srcs)
	return report, errors.Join(err, m.close())
}

// merge is one Merge.
type merge struct {
	dst    string
	opts   MergeOptions
	shards []*shard // by index
	drift  []Difference
	report MergeReport
}

func (m *merge) run(ctx context.Context, srcs []string) (*MergeReport, error) {
	if err := m.free(); err != nil {
		return nil, storageError("merging", m.dst, err)
	}
	for _, dir := range srcs {
		s, err := openShard(ctx, dir)
		if err != nil {
			return nil, err
		}
		m.shards = append(m.shards, s)
	}
	if err := m.check(ctx); err != nil {
		return nil, err
	}
	err := m.build(ctx)
	return &m.report, storageError("merging", m.dst, err)
}

func (m *merge) close() error {
	var errs []error
	for _, s := range m.shards {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// free makes sure that nothing is at dst but an empty folder.
func (m *merge) free() error {
	entries, err := os.ReadDir(m.dst)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		_, err := os.Stat(filepath.Join(m.dst, lockFile))
		return &ExistsError{Dir: m.dst, IsRun: err == nil}
	}
	return nil
}

// staging is the folder in which the run is made. Its name begins with a dot,
// and it is beside dst, so that a rename puts it there.
func (m *merge) staging() string {
	return filepath.Join(filepath.Dir(m.dst), "."+filepath.Base(m.dst)+".merging")
}

// build makes the run in the staging folder and puts it into its place.
func (m *merge) build(ctx context.Context) error {
	held, err := claimStaging(m.staging())
	if err != nil {
		return err
	}
	defer held.Close()
	s, err := Create(m.staging(), m.lock())
	if err != nil {
		return err
	}
	if err := errors.Join(m.fill(ctx, s), s.Close()); err != nil {
		return errors.Join(err, os.RemoveAll(m.staging()))
	}
	if err := syncFileSystem(m.staging()); err != nil {
		return err
	}
	if err := os.Rename(m.staging(), m.dst); err != nil {
		return err
	}
	return syncPath(filepath.Dir(m.dst))
}

// claimStaging makes the staging folder, without what a merge that was killed
// has left in it. It is this merge's as long as the file is open: beyond the
// closing of the run in it, until it is in its place.
func claimStaging(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	// Some file systems have no locks on folders; then only the run's own counts.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.Join(&LockedError{Dir: dir}, f.Close())
	}
	if err := emptyStaging(dir, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func emptyStaging(dir string, held *os.File) error {
	locked, err := held.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !os.SameFile(locked, there) {
		return &LockedError{Dir: dir} // another merge has put it into its place meanwhile
	}
	fl, err := acquireLock(filepath.Join(dir, flockOn), dir) // or it is not dead
	if err != nil {
		return err
	}
	entries, err := held.ReadDir(-1)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return errors.Join(err, fl.release())
}

// syncFileSystem makes everything durable on the file system of a folder: for
// hundreds of thousands of new folders one by one would take an hour.
func syncFileSystem(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

// lock is the lock of the merged run.
func (m *merge) lock() Lock {
	l := m.shards[0].Lock()
	l.Run, l.Created, l.Shard, l.Merged = filepath.Base(m.dst), time.Now().UTC(), Shard{}, nil
	for _, s := range m.shards {
		l.Merged = append(l.Merged, s.Lock().Run)
	}
	return l
}

// fill copies everything into the new run, checks it, and writes the report.
func (m *merge) fill(ctx context.Context, s *Store) error {
	lock := s.Lock()
	m.report.Run, m.report.Shards, m.report.Drift = lock.Run, lock.Merged, m.drift
	if err := m.copyRows(ctx, s); err != nil {
		return err
	}
	if err := s.RecordDrift(ctx, m.drift); err != nil {
		return err
	}
	if err := m.copyFolders(ctx, s); err != nil {
		return err
	}
	if err := s.CheckBooks(ctx); err != nil {
		return err
	}
	return m.tally(ctx, s)
}

// tally reads from the new run what there is, and holds the money against that
// of the shards.
func (m *merge) tally(ctx context.Context, s *Store) (err error) {
	if m.report.Counts, err = s.Counts(ctx); err != nil {
		return err
	}
	if m.report.Spent, err = s.Spent(ctx); err != nil {
		return err
	}
	var want UsageTotal
	for _, src := range m.shards {
		spent, err := src.Spent(ctx)
		if err != nil {
			return err
		}
		want.Add(spent)
	}
	if got := m.report.Spent; got.Exchanges != want.Exchanges || got.Unknown != want.Unknown {
		return fmt.Errorf("the merged run has %d requests, its shards have %d", got.Exchanges, want.Exchanges)
	}
	return nil
}
