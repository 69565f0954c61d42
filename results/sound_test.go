package results_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cabra-run/results"
)

// A database from elsewhere that holds what no run's does is found out.
func TestCheckSound(t *testing.T) {
	cases := []struct{ name, says, damage string }{
		{"nothing", "", `SELECT 1`},
		{"a trigger", "trigger forge", `CREATE TRIGGER forge AFTER INSERT ON attempts BEGIN
			UPDATE verdicts SET solved = 1; END`},
		{"a view", "view other", `CREATE VIEW other AS SELECT * FROM trials`},
		{"a virtual table", "table search", `CREATE VIRTUAL TABLE search USING fts5 (x)`},
		{"a path out", `the path "trials/../../etc"`, `UPDATE attempts SET path = 'trials/../../etc' WHERE trial_id = 2`},
		{"an absolute folder", `the path "/etc"`, `UPDATE trials SET folder = '/etc' WHERE id = 2`},
		{"rows of nothing", "refer to nothing", `DELETE FROM trials WHERE id = 3`},
		{"wrong books", "the books", `UPDATE attempts SET used_output = 0 WHERE trial_id = 1`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir, _ := damaged(t)
			execSQL(t, dir, c.damage)
			s := reopen(t, dir)
			err := s.CheckSound(context.Background())
			var hinted interface{ Hint() string }
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.says) || !errors.As(err, &hinted) || hinted.Hint() == "" {
				t.Errorf("%v, want it to say %q", err, c.says)
			}
		})
	}
}

// A snapshot is the database of one moment, and says what the run says.
func TestSnapshot(t *testing.T) {
	ctx := context.Background()
	trials := testTrials(2)
	s := newStore(t, trials)
	if err := work(ctx, s, t.Output(), trials[0].Key); err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	if err := s.Snapshot(ctx, copied+"/run.db"); err != nil {
		t.Fatal(err)
	}
	if err := work(ctx, s, t.Output(), trials[1].Key); err != nil {
		t.Fatal(err)
	}
	there := reopen(t, copied)
	if got, err := there.Counts(ctx); err != nil || got != (results.Counts{Planned: 2, Pending: 1, Done: 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	var folders []string
	err := results.ArtefactFolders(ctx, copied+"/run.db", func(f string) error {
		folders = append(folders, f)
		return nil
	})
	if err != nil || len(folders) != 1 || folders[0] != attempt1 {
		t.Errorf("%v, %v", folders, err)
	}
	if err := s.Snapshot(ctx, copied+"/run.db"); err == nil {
		t.Error("a snapshot was written over another file")
	}
}
