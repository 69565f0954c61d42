package official

// The names of what is odd in files.
const (
	UnusableTask    = "unusable-task"
	RepeatedTask    = "repeated-task"
	ForeignFile     = "foreign-file"
	UnknownRun      = "unknown-run"
	PartialLine     = "partial-last-line"
	BadLine         = "bad-line"
	BadRecord       = "bad-record"
	LongLine        = "long-line"
	RepeatedName    = "repeated-name"
	OtherName       = "other-name"
	RunningRecord   = "running-record"
	UnknownTask     = "unknown-task"
	UnknownFile     = "unknown-task-file"
	ErrorRecord     = "error-record"
	EmptyOutput     = "empty-output"
	NoSolution      = "no-solution"
	BannerLine      = "banner-line"
	MissingAnswer   = "missing-answer"
	UnchangedAnswer = "unchanged-answer"
)

// noticeTexts say what each name means and what was done.
func noticeTexts() map[string]string {
	return map[string]string{
		UnusableTask:    "task records that cannot be used were left out",
		RepeatedTask:    "task records with an id that the file has already were left out",
		ForeignFile:     "files that do not belong into the tree were left alone",
		UnknownRun:      "runs whose names tell no axis and size of ours; their tasks got names of their own",
		PartialLine:     "the last line was not finished; it was set aside",
		BadLine:         "lines that are not a JSON object were set aside",
		BadRecord:       "records without name or dag_id were set aside",
		LongLine:        "lines that are too long were set aside",
		RepeatedName:    "a record came again; the last one counts",
		OtherName:       "records whose name does not fit their dag_id; the dag_id counts",
		RunningRecord:   "records of answers that were never finished were left out; their trials are pending",
		UnknownTask:     "records of tasks that are not in the task set were left out",
		UnknownFile:     "response files of runs that are not in the task set were left out",
		ErrorRecord:     "records of errors became trials with the outcome agent_error",
		EmptyOutput:     "records without output became trials with the outcome no_output",
		NoSolution:      "outputs without the task's file became trials with the outcome no_output",
		BannerLine:      "comment lines that look like file headers were taken for what they are",
		MissingAnswer:   "tasks without any record; their trials are pending",
		UnchangedAnswer: "answers that equal the starter",
	}
}

// Notice is something odd that was met in files.
type Notice struct {
	Name  string   `json:"name"`
	Count int      `json:"count"`
	Text  string   `json:"text"`  // what it is, and what was done about it
	Where []string `json:"where"` // the first few places
}

// maxPlaces is how many places of a notice are kept.
const maxPlaces = 20

// Notices counts what is odd. The zero value is ready for use.
type Notices struct{ list []Notice }

// Add counts one case of the named oddity at a place.
func (n *Notices) Add(name, where string) { n.add(name, 1, where) }

func (n *Notices) add(name string, count int, where ...string) {
	i := 0
	for i < len(n.list) && n.list[i].Name != name {
		i++
	}
	if i == len(n.list) {
		n.list = append(n.list, Notice{Name: name, Text: noticeTexts()[name], Where: []string{}})
	}
	e := &n.list[i]
	e.Count += count
	e.Where = append(e.Where, where[:min(len(where), maxPlaces-len(e.Where))]...)
}

// AddAll counts what another list counted.
func (n *Notices) AddAll(others []Notice) {
	for _, o := range others {
		n.add(o.Name, o.Count, o.Where...)
	}
}

// List returns the notices in the order of their first cases.
func (n *Notices) List() []Notice { return n.list }
