package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"cabra-run/results"
	"cabra-run/results/report"
)

// hostile is a reason that wants to drive the terminal, to turn the direction
// of the line, and to look like a line of ours.
const hostile = "f_3 raised \x1b[2J\u202eevil\u2066\u200b\u061c\r\nall  6 of 6\u2028solved \xff"

// official gives the sample's trials their second verdict. By hand, of the
// eight that have code:
//
//	trial 0  strict solved, official failed at constraint_structure
//	trial 3  strict failed at "=cmd(1)", official solved, with a failed edit_path
//	trial 5  the time-out: strict solved, official failed, with a hostile reason
//	trial 8  strict solved, official missing
//	others   the same
func official(list []results.TrialResult) []results.TrialResult {
	for i := range withoutCode(list) {
		t := &list[i]
		if t.Verdict == nil || i == 8 {
			continue
		}
		v := results.AttemptVerdict{Attempt: 1, Verdict: results.Verdict{Scorer: "official", Version: "o1", Solved: true,
			Checks: []results.Check{{Name: "compilation", Pass: true}}}}
		switch i {
		case 0:
			v.Solved, v.Reason = false, "constraint_structure: fail: value_2: no line of kind assert"
		case 3:
			v.Checks = append(v.Checks, results.Check{Name: "edit_path", Detail: "fail: missing edit of f_1"})
		case 5:
			v.Solved, v.Reason = false, "behavioral: "+hostile+strings.Repeat(" x", 2000)
		}
		t.Verdicts = append(t.Verdicts, v)
		t.Verdict = &t.Verdicts[0]
	}
	return list
}

// withoutCode says of the trial that ran into a limit that it left no code.
func withoutCode(list []results.TrialResult) []results.TrialResult {
	list[10].Attempts[0].Unscored = true
	return list
}

// bothLock is the sample's lock; nothing is tried again, so that what has an
// attempt is done.
func bothLock() results.Lock {
	l := testLock()
	l.Retry = results.Retry{Attempts: 1}
	l.Scorer = results.Scorer{Verdicts: []string{"strict", "official"},
		Versions: map[string]string{"strict": "s1", "official": "o1"}}
	return l
}

func buildBoth(t *testing.T, list []results.TrialResult, lock results.Lock, o report.Options) *report.Both {
	t.Helper()
	b, err := report.BuildBoth(yield(list), lock, o, "strict", "official")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBothByHand(t *testing.T) {
	b := buildBoth(t, official(trials(sample)), bothLock(), report.Options{Partial: true})
	strict, off := b.Reports[0], b.Reports[1]
	if !strict.Complete || strict.Header.Scorer != "strict" || strict.Header.ScorerVersion != "s1" ||
		rate(strict.Overall.All) != "6/12 = 0.500 ± 0.144" {
		t.Errorf("strict: %+v %s", strict.Header, rate(strict.Overall.All))
	}
	// Trial 3 more, trial 0 less, trial 8 not known: 5 of 11, s.e. sqrt(5/11*6/11/11).
	if off.Complete || off.NotComputed != 1 || off.Header.ScorerVersion != "o1" ||
		rate(off.Overall.All) != "5/11 = 0.455 ± 0.150" {
		t.Errorf("official: %+v, %d not computed, %s", off.Header, off.NotComputed, rate(off.Overall.All))
	}
	want := report.Agreement{BothSolved: 4, NotBoth: 1, Only: []report.OnlySolved{
		{Scorer: "strict", Trials: 2, FailedAt: map[string]int{"constraint_structure": 1, "behavioral": 1}},
		{Scorer: "official", Trials: 1, FailedAt: map[string]int{"=cmd(1)": 1}}}}
	if !reflect.DeepEqual(b.Agreement, want) {
		t.Errorf("agreement %+v", b.Agreement)
	}
	if strict.Differ != 3 || len(b.Differing) != 3 {
		t.Fatalf("%d and %d differ", strict.Differ, len(b.Differing))
	}
	d := b.Differing[1]
	if d.TaskID != "traversal/add-return/array/n005/01" || d.Outcome != "answered" || d.Sides[0].Solved || !d.Sides[1].Solved ||
		d.Sides[1].Reason != "edit_path fails and does not count: fail: missing edit of f_1" {
		t.Errorf("%+v", d)
	}
	if withheld := buildBoth(t, official(trials(sample)), bothLock(), report.Options{}); withheld.Reports[0].Overall.All.Accuracy == nil ||
		withheld.Reports[1].Overall.All.Accuracy != nil {
		t.Error("an accuracy is withheld by the wrong verdict")
	}
}

// Whatever a reason holds, it stays one bounded line without controls.
func TestHostileReasons(t *testing.T) {
	list := official(trials(sample))
	b := buildBoth(t, list, bothLock(), report.Options{Partial: true})
	side := b.Differing[2].Sides[1]
	if !strings.HasPrefix(side.Reason, "behavioral: f_3 raised [2J?evil???") || utf8.RuneCountInString(side.Reason) > 500 ||
		side.FailedAt != "behavioral" {
		t.Errorf("%s: %q", side.FailedAt, side.Reason)
	}
	list[6].Attempts[0].Reason = hostile // shown among those without a verdict
	var text, asJSON, asCSV bytes.Buffer
	b = buildBoth(t, list, bothLock(), report.Options{Partial: true})
	if err := errors.Join(report.TextBoth(&text, b), report.JSONBoth(&asJSON, b),
		report.Export(&asCSV, yield(list), bothLock(), csvOptions)); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"text": text.String(), "json": asJSON.String(), "csv": asCSV.String()} {
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%s holds %q", name, out[max(0, i-20):i+4])
		}
		if strings.Contains(out, "\nall  6") {
			t.Errorf("%s: the reason begins a line", name)
		}
	}
}

func TestBothGolden(t *testing.T) {
	b := buildBoth(t, official(trials(sample)), bothLock(), report.Options{Partial: true})
	var text, asCSV bytes.Buffer
	if err := errors.Join(report.TextBoth(&text, b), report.CSV(&asCSV, b.Reports...)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(line); n > 101 {
			t.Errorf("%d columns: %s", n-1, line)
		}
	}
	golden(t, "both.txt", text.Bytes())
	lines, err := csv.NewReader(&asCSV).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, l := range lines[1:] {
		seen[l[slices.Index(lines[0], "scorer")]]++
	}
	if seen["strict"] == 0 || seen["strict"] != seen["official"] || len(seen) != 2 {
		t.Errorf("lines by scorer: %v", seen)
	}
}

func TestJSONBoth(t *testing.T) {
	var out bytes.Buffer
	if err := report.JSONBoth(&out, buildBoth(t, official(trials(sample)), bothLock(), report.Options{})); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Reports []struct {
			Run     struct{ Scorer string }
			Overall struct{ All struct{ Solved int } }
		}
		Agreement struct {
			Both int `json:"both_solved"`
			Only []struct {
				Scorer string
				Trials int
			} `json:"solved_by_one"`
		}
		Differing []struct {
			TaskID   string `json:"task_id"`
			Verdicts []struct{ Scorer, Reason string }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Reports) != 2 || got.Reports[1].Run.Scorer != "official" || got.Reports[1].Overall.All.Solved != 5 ||
		got.Agreement.Both != 4 || got.Agreement.Only[0].Trials != 2 || len(got.Differing) != 3 ||
		got.Differing[0].Verdicts[1].Reason != "constraint_structure: fail: value_2: no line of kind assert" {
		t.Errorf("%+v", got)
	}
}

// A run that was begun before there were two verdicts says what is missing and
// what to do, and withholds no figure that it has.
func TestOldRun(t *testing.T) {
	old := testLock()
	old.Retry = results.Retry{Attempts: 1}
	b := buildBoth(t, withoutCode(trials(sample)), old, report.Options{})
	var text, one bytes.Buffer
	if err := errors.Join(report.TextBoth(&text, b), report.Text(&one, b.Reports[1])); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{text.String(), one.String()} {
		if !strings.Contains(out, "\nofficial: not computed; run cabra-run score nightly\n") ||
			!strings.Contains(out, "\nUNFINISHED: accuracies by the official verdict are withheld until it is computed\n") {
			t.Errorf("says nothing of the missing verdict:\n%s", out)
		}
	}
	if rate(b.Reports[0].Overall.All) != "6/12 = 0.500 ± 0.144" || b.Reports[1].NotComputed != 8 || b.Agreement.NotBoth != 8 {
		t.Errorf("%s, %d not computed, agreement %+v", rate(b.Reports[0].Overall.All), b.Reports[1].NotComputed, b.Agreement)
	}
}

// Verdicts of several versions do not pass for one.
func TestMixedVersions(t *testing.T) {
	list := trials(sample)
	list[1].Verdicts[0].Version = "s2"
	r := build(t, list, report.Options{})
	var out bytes.Buffer
	if err := report.Text(&out, r); err != nil || r.Header.ScorerVersion != "s1, s2" ||
		!strings.Contains(out.String(), "VERDICTS OF SEVERAL VERSIONS (s1, s2)") {
		t.Errorf("%q, %v\n%s", r.Header.ScorerVersion, err, out.String())
	}
}

// The report by one verdict points to where the other one differs.
func TestReportPointsToTheOther(t *testing.T) {
	var out bytes.Buffer
	if err := report.Text(&out, build(t, official(trials(sample)), report.Options{})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "the verdicts differ on 3 trials; see where and why with --scorer both") {
		t.Error(out.String())
	}
}

// An export's line goes by the verdict that was asked for and has both.
func TestExportOfBoth(t *testing.T) {
	var list []results.TrialResult
	for _, r := range official(trials(sample)) {
		list = append(list, r.By("official", bothLock().Retry))
	}
	var out bytes.Buffer
	o := report.ExportOptions{Format: report.FormatJSONL, Scorer: "official"}
	if err := report.Export(&out, yield(list), bothLock(), o); err != nil {
		t.Fatal(err)
	}
	var rows []report.Row
	for dec := json.NewDecoder(&out); ; {
		var r report.Row
		if err := dec.Decode(&r); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	first, missing := rows[0], rows[8]
	if first.Outcome != "failed" || first.Scorer != "official" || !*first.StrictSolved || *first.OfficialSolved ||
		first.OfficialReason != "constraint_structure: fail: value_2: no line of kind assert" || *first.VerdictSolved {
		t.Errorf("%+v", first)
	}
	if missing.State != "unscored" || missing.OfficialSolved != nil || missing.VerdictSolved != nil || !*missing.StrictSolved {
		t.Errorf("%+v", missing)
	}
}

func TestBothPassesErrorsOn(t *testing.T) {
	broken := func(use func(results.TrialResult, error) bool) { use(results.TrialResult{}, io.ErrUnexpectedEOF) }
	if _, err := report.BuildBoth(broken, testLock(), report.Options{}, "strict", "official"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
