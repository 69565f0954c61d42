package results

// schemaVersion is the user_version of the database; applicationID tells a
// run's database from anybody else's ("cabr").
const (
	schemaVersion = 3
	applicationID = 0x63616272
)

// schema is the whole database, but for the books of attempts (books.go). Times
// are text in UTC with microseconds, NULL where there is none yet; what is
// unknown is NULL and never 0.
const schema = `
CREATE TABLE lock (
	one  INTEGER PRIMARY KEY CHECK (one = 1),
	json BLOB NOT NULL  -- the bytes of run.json
);
CREATE TABLE closed (
	one   INTEGER PRIMARY KEY CHECK (one = 1),
	token TEXT NOT NULL -- of the last orderly Close; the file lock has the same
);
CREATE TABLE drift (
	at TEXT NOT NULL, field TEXT NOT NULL, was TEXT NOT NULL, now TEXT NOT NULL
);
CREATE TABLE trials (
	id INTEGER PRIMARY KEY,
	key TEXT NOT NULL UNIQUE,
	seq INTEGER NOT NULL,
	folder TEXT NOT NULL UNIQUE,
	task_id TEXT NOT NULL, task_digest TEXT NOT NULL,
	axis TEXT NOT NULL, size INTEGER NOT NULL, refactoring TEXT NOT NULL, code TEXT NOT NULL,
	instance INTEGER NOT NULL, sample_id TEXT NOT NULL,
	agent TEXT NOT NULL, version TEXT NOT NULL, model TEXT NOT NULL,
	repetition INTEGER NOT NULL, settings TEXT NOT NULL,
	reopened INTEGER NOT NULL DEFAULT 0, -- number of its last attempt before it was opened again
	UNIQUE (task_id, agent, version, model, repetition)
);
CREATE INDEX trials_seq ON trials (seq, id);
CREATE TABLE attempts (
	trial_id INTEGER NOT NULL REFERENCES trials (id),
	number INTEGER NOT NULL CHECK (number > 0),
	path TEXT NOT NULL,
	artefacts INTEGER NOT NULL DEFAULT 0,
	started TEXT NOT NULL, ended TEXT,
	outcome TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '', limit_hit TEXT NOT NULL DEFAULT '',
	unchanged INTEGER NOT NULL DEFAULT 0, unscored INTEGER NOT NULL DEFAULT 0,
	exit_code INTEGER, requests INTEGER NOT NULL DEFAULT 0, answers INTEGER NOT NULL DEFAULT 0,
	wall_seconds REAL NOT NULL DEFAULT 0, wait_seconds REAL NOT NULL DEFAULT 0,
	memory_peak INTEGER NOT NULL DEFAULT 0, trace_state TEXT NOT NULL DEFAULT '',
	adopted INTEGER NOT NULL DEFAULT 0,
	usage_note TEXT NOT NULL DEFAULT '',
	effective TEXT NOT NULL DEFAULT '', -- limits in effect where they differ from those wanted
	tool_calls INTEGER,
	PRIMARY KEY (trial_id, number)
) WITHOUT ROWID;
CREATE TABLE exchanges (
	trial_id INTEGER NOT NULL, number INTEGER NOT NULL, seq INTEGER NOT NULL,
	started TEXT NOT NULL, ended TEXT NOT NULL, model TEXT NOT NULL,
	status INTEGER NOT NULL, complete INTEGER NOT NULL, error TEXT NOT NULL,
	input INTEGER, cached INTEGER, output INTEGER, reasoning INTEGER, cost_usd REAL,
	cache_write INTEGER, wire TEXT NOT NULL DEFAULT '', worst_usd REAL, worst_tokens INTEGER NOT NULL DEFAULT 0,
	open INTEGER NOT NULL DEFAULT 0, -- sent, and its end not recorded yet
	PRIMARY KEY (trial_id, number, seq),
	FOREIGN KEY (trial_id, number) REFERENCES attempts (trial_id, number)
) WITHOUT ROWID;
CREATE TABLE verdicts (
	id INTEGER PRIMARY KEY,
	trial_id INTEGER NOT NULL, number INTEGER NOT NULL,
	scorer TEXT NOT NULL, version TEXT NOT NULL,
	solved INTEGER NOT NULL, reason TEXT NOT NULL, checks TEXT NOT NULL,
	at TEXT NOT NULL,
	superseded INTEGER NOT NULL DEFAULT 0,
	FOREIGN KEY (trial_id, number) REFERENCES attempts (trial_id, number)
);
CREATE UNIQUE INDEX verdicts_current ON verdicts (trial_id, scorer) WHERE superseded = 0;
`
