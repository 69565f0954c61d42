package trace

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// makeStore makes a home with a store out of statements.
func makeStore(t *testing.T, statements ...string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, opencodeDB)
	writeFile(t, file, nil)
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return openRoot(t, dir)
}

const (
	sessionTable = `CREATE TABLE session (id text PRIMARY KEY, parent_id text, version text, time_created integer, time_updated integer,
		tokens_input integer, tokens_output integer, tokens_reasoning integer, tokens_cache_read integer, tokens_cache_write integer)`
	messageTable = `CREATE TABLE message (id text PRIMARY KEY, session_id text, data text)`
	partTable    = `CREATE TABLE part (id text PRIMARY KEY, message_id text, data text)`
	oneSession   = `INSERT INTO session (id, version, time_created, time_updated) VALUES ('ses_1', '1.18.33', 1796022167631, 1796022167632)`
	oneMessage   = `INSERT INTO message VALUES ('msg_1', 'ses_1', '{"role":"assistant","finish":"stop","modelID":"m1","tokens":{"input":8,"output":3,"reasoning":2,"cache":{"read":1,"write":4}}}')`
	endless      = `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT 'm'||x AS id, 'ses_1' AS session_id, '{}' AS data FROM c`
)

func TestStoreHostile(t *testing.T) {
	tests := []struct {
		name       string
		statements []string
		turns      int
		problem    string // part of one
		format     bool
	}{
		{"as it should be", []string{sessionTable, messageTable, partTable, oneSession, oneMessage}, 1, "", false},
		{"an endless view for a table", []string{sessionTable, `CREATE VIEW message AS ` + endless, partTable, oneSession}, 0,
			"no plain table message, but a create view", true},
		{"a virtual table", []string{sessionTable, `CREATE VIRTUAL TABLE message USING fts5(id, session_id, data)`, partTable, oneSession}, 0,
			"no plain table message, but a create virtual", true},
		{"a computed column", []string{sessionTable, `CREATE TABLE message (id text PRIMARY KEY, session_id text,
			data text GENERATED ALWAYS AS (hex(zeroblob(100000000))) VIRTUAL)`, partTable, oneSession,
			`INSERT INTO message (id, session_id) VALUES ('m', 'ses_1')`}, 0, "a computed column data in its table message", true},
		{"triggers and endless views beside the tables", []string{sessionTable, messageTable, partTable, oneSession, oneMessage,
			`CREATE VIEW v AS ` + endless,
			`CREATE TRIGGER t AFTER INSERT ON message BEGIN INSERT INTO message SELECT id||'x', session_id, data FROM v; END`}, 1, "", false},
		{"an index on an expression", []string{sessionTable, messageTable, partTable, oneSession, oneMessage,
			`CREATE INDEX i ON message(id, length(hex(zeroblob(1000))))`}, 1, "", false},
		{"a column that is gone", []string{sessionTable, `CREATE TABLE message (id text PRIMARY KEY, session_id text)`, partTable, oneSession}, 0,
			"no column data in its table message", true},
		{"a table that is gone", []string{sessionTable, partTable, oneSession}, 0, "no table message", true},
		{"blobs for texts", []string{sessionTable, messageTable, partTable, oneSession, oneMessage,
			`INSERT INTO message VALUES ('msg_2', 'ses_1', x'00ff')`}, 1, "column data holds blob", false},
		{"numbers for texts", []string{sessionTable, `CREATE TABLE message (id, session_id, data)`, partTable, oneSession,
			`INSERT INTO message VALUES (1, 'ses_1', '{}')`}, 0, "column id holds integer", false},
		{"a text that is too long", []string{sessionTable, messageTable, partTable, oneSession, oneMessage,
			`INSERT INTO message VALUES ('msg_2', 'ses_1', replace(hex(zeroblob(2000000)), '00', '{}'))`}, 1, "or is too long", false},
		{"another version", []string{sessionTable, messageTable, partTable, strings.Replace(oneSession, "1.18.33", "2.0.0", 1), oneMessage}, 1,
			`the session was written by version "2.0.0"; the format that is known is that of opencode 1.18.33`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := mustRead(t, "opencode", makeStore(t, tt.statements...), Hint{})
			if tr.Turns != tt.turns || len(tr.Problems) > 0 != (tt.problem != "") {
				t.Errorf("%d turns, problems %v", tr.Turns, tr.Problems)
			}
			if !strings.Contains(fmt.Sprint(tr.Problems), tt.problem) {
				t.Errorf("problems %v, want %q", tr.Problems, tt.problem)
			}
			if (tr.FormatChanged() != "") != tt.format {
				t.Errorf("format changed: %q", tr.FormatChanged())
			}
		})
	}
}

// The row's figures: 8+1+4 in, 3+2 out.
func TestStoreUsage(t *testing.T) {
	tr := mustRead(t, "opencode", makeStore(t, sessionTable, messageTable, partTable, oneSession, oneMessage), Hint{})
	u := tr.Usage[0]
	if *u.Input != 13 || *u.Cached != 1 || *u.CacheWrite != 4 || *u.Output != 5 || *u.Reasoning != 2 || u.Model != "m1" {
		t.Errorf("usage %+v", u)
	}
}

func TestStoreDamaged(t *testing.T) {
	good := testFile(t, "opencode/tools.db.gz")
	ok, wal := testFile(t, "opencode/ok.db.gz"), testFile(t, "opencode/ok.db-wal.gz")
	cut := append([]byte{}, good[:len(good)/2]...)
	holes := append([]byte{}, good...)
	for i := 8192; i < len(holes); i += 997 {
		holes[i] ^= 0xff
	}
	tests := []struct {
		name    string
		db, wal []byte
		problem bool
	}{
		{"no database", []byte("hello"), nil, true},
		{"empty", nil, nil, true},
		{"cut", cut, nil, true},
		{"holes", holes, nil, true},
		{"a log that is none", good, []byte(strings.Repeat("x", 5000)), false}, // SQLite drops it
		{"a cut log", ok, wal[:len(wal)/3], false},                             // what was committed before holds
		{"a log of another store", good, wal, false},                           // it holds every page
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, opencodeDB), tt.db)
			if tt.wal != nil {
				writeFile(t, filepath.Join(dir, opencodeDB+"-wal"), tt.wal)
			}
			tr := mustRead(t, "opencode", openRoot(t, dir), Hint{})
			if tt.problem && len(tr.Problems) == 0 {
				t.Errorf("no problem; %d turns", tr.Turns)
			}
		})
	}
}

// A store with more than is taken: the child is stopped, what came is used.
func TestStoreFlood(t *testing.T) {
	root := makeStore(t, sessionTable, messageTable, partTable, oneSession, oneMessage,
		`WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x < 40)
		INSERT INTO part SELECT 'prt_'||x, 'msg_1', '{"type":"text","text":"'||replace(hex(zeroblob(50000)), '00', 'ab')||'"}' FROM c`)
	b := newBuilder(&opencodeFormat)
	b.rows = 1 << 20
	readOpencode(b, source{home: root, path: opencodeDB})
	if b.Turns != 1 || !strings.Contains(fmt.Sprint(b.Problems), "file too large") {
		t.Errorf("%d turns, problems %v", b.Turns, b.Problems)
	}
	if len(b.Texts) != 1 || len(b.Texts[0].Text) != MaxResult {
		t.Errorf("%d texts", len(b.Texts))
	}
}

// A program whose main does not ask ChildMain must not be started again.
func TestStoreWithoutChild(t *testing.T) {
	childReady.Store(false)
	defer childReady.Store(true)
	tr := mustRead(t, "opencode", home(t, store("ok")), Hint{})
	if len(tr.Problems) != 1 || !strings.Contains(tr.Problems[0].Text, "ChildMain") || tr.Finished != FinishUnknown {
		t.Errorf("problems %v, finished %q", tr.Problems, tr.Finished)
	}
}

func TestChildMain(t *testing.T) {
	for _, args := range [][]string{nil, {"run"}, {"internal"}, {"internal", "read-store"}, {"internal", "read-store", "a", "b"}} {
		if ChildMain(args) {
			t.Errorf("%q was taken for a child's", args)
		}
	}
}

// The copies are gone when the store is read.
func TestStoreLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	root := home(t, store("ok"))
	mustRead(t, "opencode", root, Hint{})
	left, err := filepath.Glob(filepath.Join(dir, "cabra-store-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// The sub-agent's session belongs to the trace, another one does not.
func TestOpencodeSessions(t *testing.T) {
	tr := mustRead(t, "opencode", makeStore(t, sessionTable, messageTable, partTable, oneSession, oneMessage,
		`INSERT INTO session (id, version, time_created, time_updated) VALUES ('ses_0', '1.18.33', 1796022160000, 1796022160000)`,
		`INSERT INTO session (id, parent_id, version, time_created, time_updated) VALUES ('ses_2', 'ses_1', '1.18.33', 1796022168000, 1796022168000)`,
		`INSERT INTO message VALUES ('msg_0', 'ses_0', '{"role":"assistant","finish":"stop","tokens":{"input":100,"output":1}}')`,
		`INSERT INTO message VALUES ('msg_2', 'ses_2', '{"role":"assistant","finish":"tool-calls","tokens":{"input":20,"output":1}}')`,
		`INSERT INTO part VALUES ('prt_2', 'msg_2', '{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"ls"},"metadata":{"exit":0},"time":{"start":1796022168000,"end":1796022168500}}}')`,
	), Hint{})
	if tr.SessionID != "ses_1" || tr.Turns != 2 || len(tr.Calls) != 1 || tr.Calls[0].AgentID != "ses_2" || !tr.Completed {
		t.Errorf("trace %+v", tr)
	}
	if tr.Calls[0].Duration != 500*time.Millisecond {
		t.Errorf("duration %v", tr.Calls[0].Duration)
	}
	if len(tr.Problems) != 1 || !strings.Contains(tr.Problems[0].Text, "ses_0") {
		t.Errorf("problems %v", tr.Problems)
	}
}

func TestReaderIsBounded(t *testing.T) {
	b := newBuilder(&opencodeFormat)
	lines := strings.Repeat(`{"kind":"part","row":{"id":"p"}}`+"\n", 3) + "not json\n" + `{"kind":"!format","text":"f"}` + "\n"
	n := 0
	ended := b.storeLines(strings.NewReader(lines), func(string, []byte) error { n++; return nil })
	if ended || n != 3 || len(b.Problems) != 2 || b.FormatChanged() == "" {
		t.Errorf("ended %v, %d rows, problems %v", ended, n, b.Problems)
	}
}
