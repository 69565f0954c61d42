package report

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"cabra-run/results"
	"cabra-run/tasks"
)

// Format is a format of Export.
type Format string

// The formats of Export.
const (
	FormatCSV   Format = "csv"
	FormatJSONL Format = "jsonl"
)

// Row is one line of an export: a trial. The json names are the columns of
// both formats; they and their order are stable, new ones are added at the end.
// A nil value is unknown: null in JSON lines, empty in CSV.
type Row struct {
	TaskID      tasks.ID `json:"task_id"`
	Axis        string   `json:"axis"`
	Size        int      `json:"size"`
	Refactoring string   `json:"refactoring"`
	Code        string   `json:"code"`
	Instance    int      `json:"instance"`
	SampleID    string   `json:"sample_id"`
	Seed        int64    `json:"seed"`
	Agent       string   `json:"agent"`
	Version     string   `json:"version"`
	Model       string   `json:"model"`
	Scripted    bool     `json:"scripted"` // a fixed policy played the model
	Repetition  int      `json:"repetition"`
	Outcome     string   `json:"outcome"` // solved, failed, or the class of outcome; pending when there is none
	Attempts    int      `json:"attempts"`
	// WallSeconds and the figures below are sums over all attempts.
	WallSeconds *float64 `json:"wall_seconds"`
	Input       *int64   `json:"input_tokens"` // includes cached
	Cached      *int64   `json:"cached_tokens"`
	Output      *int64   `json:"output_tokens"` // includes reasoning
	Reasoning   *int64   `json:"reasoning_tokens"`
	Cost        *float64 `json:"cost_usd"`
	Exchanges   int      `json:"exchanges"` // requests to the model
	// UnknownUsage counts exchanges without token figures; where it is not 0
	// the sums are lower bounds.
	UnknownUsage    int     `json:"exchanges_unknown"`
	Reason          string  `json:"reason"` // one line: why this outcome
	State           string  `json:"state"`  // pending, running, unscored, done
	Scorer          string  `json:"scorer"`
	VerdictSolved   *bool   `json:"verdict_solved"`  // also of a timed-out attempt's last code
	VerdictAttempt  *int    `json:"verdict_attempt"` // the attempt that was scored
	Unchanged       bool    `json:"unchanged"`       // the code equals the starter
	LimitHit        string  `json:"limit_hit"`
	Trace           string  `json:"trace"`   // complete, partial, lost, none
	Started         string  `json:"started"` // of the first attempt, RFC 3339
	Ended           string  `json:"ended"`   // of the attempt that decided
	TrialKey        string  `json:"trial_key"`
	TaskDigest      string  `json:"task_digest"`
	Run             string  `json:"run"`
	ProviderSeconds float64 `json:"provider_wait_seconds"` // within wall_seconds
	// Both verdicts, whichever the outcome goes by; nil where one is not
	// computed. Reasons are lines of at most 500 characters.
	StrictSolved   *bool  `json:"strict_solved"`
	StrictReason   string `json:"strict_reason"`
	OfficialSolved *bool  `json:"official_solved"`
	OfficialReason string `json:"official_reason"`
	CacheWrite     *int64 `json:"cache_write_tokens"` // part of input_tokens
	// UsageNote says where the agent's own count of tokens differs from these
	// figures, by attempt; a line of at most 500 characters.
	UsageNote string `json:"usage_note"`
	Wire      string `json:"wire"` // format in which the agent asks its model
	// UnknownCost counts exchanges whose cost is unknown; where it is not 0,
	// cost_usd is a lower bound.
	UnknownCost int `json:"exchanges_cost_unknown"`
	// ToolCalls are those in the trace of the attempt that decided.
	ToolCalls *int64 `json:"tool_calls"`
}

// ExportOptions of Export.
type ExportOptions struct {
	Format Format
	// Scorer names the verdict that the results go by; "" is the run's first.
	Scorer string
}

// Export writes one line per trial.
func Export(w io.Writer, all Results, lock results.Lock, o ExportOptions) error {
	out := bufio.NewWriter(w)
	write, finish, err := rowWriter(out, o.Format)
	if err != nil {
		return err
	}
	pairs := newPairings(lock)
	for t, err := range all {
		if err != nil {
			return fmt.Errorf("exporting: %w", err)
		}
		if err := write(newRow(&t, pairs, cmp.Or(o.Scorer, lock.Verdict()))); err != nil {
			return fmt.Errorf("exporting: %w", err)
		}
	}
	if err := finish(); err != nil {
		return fmt.Errorf("exporting: %w", err)
	}
	return out.Flush()
}

func rowWriter(out *bufio.Writer, format Format) (write func(Row) error, finish func() error, err error) {
	switch format {
	case FormatJSONL:
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		return func(r Row) error { return enc.Encode(r) }, func() error { return nil }, nil
	case FormatCSV:
		c := csv.NewWriter(out)
		if err := c.Write(Columns()); err != nil {
			return nil, nil, err
		}
		return func(r Row) error { return c.Write(cells(r)) },
			func() error { c.Flush(); return c.Error() }, nil
	}
	return nil, nil, fmt.Errorf("unknown export format %q: there are csv and jsonl", format)
}

// newRow is the export's line of a trial.
func newRow(t *results.TrialResult, pairs *pairings, scorer string) Row {
	lock, pair := pairs.lock, pairs.trial(&t.Trial)
	r := Row{
		TaskID: t.TaskID, Axis: string(t.Cell.Axis), Size: t.Cell.Size, Refactoring: string(t.Cell.Refactoring),
		Code: string(t.Cell.Code), Instance: t.Instance, SampleID: t.SampleID, Seed: lock.Tasks.Seed,
		Agent: t.Agent, Version: t.Version, Model: t.Model, Scripted: pair.Provider.Scripted,
		Repetition: t.Repetition, Outcome: t.Word, Attempts: len(t.Attempts), Reason: oneLine(t.Reason()),
		Input: t.Usage.Input, Cached: t.Usage.Cached, Output: t.Usage.Output, Reasoning: t.Usage.Reasoning,
		Cost: t.Usage.CostUSD, Exchanges: t.Usage.Exchanges,
		UnknownUsage: max(t.Usage.Unknown.Input, t.Usage.Unknown.Output),
		State:        string(t.State), Scorer: scorer, TrialKey: t.Key, TaskDigest: t.TaskDigest, Run: lock.Run,
	}
	if len(t.Attempts) > 0 {
		r.WallSeconds = &t.WallSeconds
		r.Started = stamp(t.Attempts[0].Started)
	}
	for _, a := range t.Attempts {
		r.ProviderSeconds += a.WaitSeconds
	}
	if t.Verdict != nil {
		r.VerdictSolved, r.VerdictAttempt = &t.Verdict.Solved, &t.Verdict.Attempt
	}
	r.StrictSolved, r.StrictReason = verdictCells(t, results.Strict)
	r.OfficialSolved, r.OfficialReason = verdictCells(t, results.Official)
	r.CacheWrite, r.UnknownCost, r.UsageNote = t.Usage.CacheWrite, t.Usage.Unknown.Cost, usageNotes(t)
	if t.Agent == pair.Agent.Name {
		r.Wire = pair.Agent.Wire
	}
	if final := t.Final(); final != nil {
		r.ToolCalls = final.ToolCalls
		r.Unchanged, r.LimitHit, r.Trace, r.Ended = final.Unchanged, final.LimitHit, final.TraceState, stamp(final.Ended)
	}
	return r
}

func verdictCells(t *results.TrialResult, scorer string) (solved *bool, reason string) {
	v := t.VerdictOf(scorer)
	if v == nil {
		return nil, ""
	}
	return &v.Solved, shorten(oneLine(v.Reason), maxReason)
}

// usageNotes are the notes of all attempts in one line.
func usageNotes(t *results.TrialResult) string {
	var notes []string
	for _, a := range t.Attempts {
		if a.UsageNote != "" {
			notes = append(notes, fmt.Sprintf("attempt %d: %s", a.Number, oneLine(a.UsageNote)))
		}
	}
	return shorten(strings.Join(notes, "; "), maxReason)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Columns are the names of an export's columns, in their order.
func Columns() []string {
	var names []string
	for f := range reflect.TypeFor[Row]().Fields() {
		names = append(names, f.Tag.Get("json"))
	}
	return names
}

// cells are a row's values as CSV shows them.
func cells(r Row) []string {
	v := reflect.ValueOf(r)
	list := make([]string, v.NumField())
	for i := range list {
		list[i] = cell(v.Field(i))
	}
	return list
}

func cell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	return safeCell(strings.ToValidUTF8(v.String(), "�"))
}
