package hostile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cabra-run/results"
	"cabra-run/sandbox"
	"cabra-run/sandbox/docker"
)

// TortureEnv asks for all attacks; its value is the number of rounds.
const TortureEnv = "CABRA_TEST_TORTURE"

// rounds is how often each attack is made, and whether all are.
func rounds(t *testing.T) (n int, all bool) {
	text := os.Getenv(TortureEnv)
	if text == "" {
		return 1, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number of rounds", TortureEnv, text)
	}
	return n, true
}

// honest is the agent beside every attack.
func honest(work int) file {
	return file{name: "honest", program: "honest", args: []string{strconv.Itoa(work)}}
}

// Each attack runs beside an honest attempt, which must be solved. It has an
// outcome of its own, reaches nothing, and nothing is left of it.
func TestHostileAgents(t *testing.T) {
	n, all := rounds(t)
	work := 1
	if all {
		work = 4
	}
	list := attacks()
	if !all {
		list = slices.DeleteFunc(list, func(a attack) bool { return !a.quick })
	}
	torment(t, newRig(t, ""), list, n, work)
}

// What attacks files is tried again where the workspace is a volume of the
// engine: it has no bound of its own there, and is measured and read otherwise.
func TestHostileFilesInVolumes(t *testing.T) {
	n, all := rounds(t)
	if !all {
		t.Skipf("only with %s=1, as make torture sets it", TortureEnv)
	}
	list := onFiles()
	for i := range list {
		list[i].want = append(list[i].want, list[i].inVolume...)
		// The engine's archive leaves sockets out without a word.
		list[i].left = slices.DeleteFunc(list[i].left, func(r string) bool { return r == sandbox.RefusedSocket })
	}
	torment(t, newRig(t, docker.TransportArchive), list, n, 4)
}

// torment makes all attacks so many times, and prints what came of them.
func torment(t *testing.T, r *rig, list []attack, n, work int) {
	w := newWard(t, r)
	y := &table{alone: r.alone(t, work)}
	w.begin(t)
	w.account(t, 0)
	for round := range n {
		for _, a := range list {
			t.Run(fmt.Sprintf("%s/%d", a.name, round+1), func(t *testing.T) {
				w.reset()
				b := r.fight(t, a, round, work)
				grown := w.grown()
				b.check(t)
				y.add(t, b, w.account(t, grown))
			})
		}
	}
	if r.visitors.Load() != 0 {
		t.Errorf("a port of the host was reached %d times", r.visitors.Load())
	}
	fmt.Print(y)
}

// alone is how long the honest agent takes with nobody beside it.
func (r *rig) alone(t *testing.T, work int) float64 {
	t.Helper()
	best := 0.0
	for i := range 2 {
		out := r.sweep(t, fmt.Sprintf("alone-%d", i), settings(), honest(work))
		if tr := out.trials["honest"]; tr.Word != results.Solved {
			t.Fatalf("the honest agent alone is %s: %s, %q", tr.Word, tr.Reason(), out.notices)
		}
		if wall := out.only(t, "honest").WallSeconds; best == 0 || wall < best {
			best = wall
		}
	}
	return best
}

// bout is one attack that was made.
type bout struct {
	attack
	rig      *rig
	out      fought
	attacker results.AttemptResult
	beside   results.AttemptResult
	said     string // the attacker's standard output
}

func (r *rig) fight(t *testing.T, a attack, round, work int) *bout {
	t.Helper()
	set := settings()
	if a.set != nil {
		a.set(&set)
	}
	program := a.program
	if program == "" {
		program = a.name
	}
	b := &bout{attack: a, rig: r}
	b.out = r.sweep(t, fmt.Sprintf("%s-%d", a.name, round), set,
		file{name: a.name, program: program, args: a.args, set: a.define}, honest(work))
	b.attacker, b.beside = b.out.only(t, a.name), b.out.only(t, "honest")
	text, err := os.ReadFile(b.path(results.StdoutFile))
	if err != nil {
		t.Fatal(err)
	}
	b.said = string(text)
	return b
}

// path is that of an artefact of the attacker.
func (b *bout) path(name ...string) string {
	return filepath.Join(append([]string{b.out.dir, filepath.FromSlash(b.attacker.Path)}, name...)...)
}

func (b *bout) check(t *testing.T) {
	t.Helper()
	b.checkEnd(t)
	b.checkClaims(t)
	b.checkNeighbour(t)
	b.checkKept(t)
	wantNowhere(t, b.out.dir, hostKey, providerKey)
	if t.Failed() {
		b.show(t)
	}
}

// checkEnd compares outcome and verdicts with what the attack may come to.
func (b *bout) checkEnd(t *testing.T) {
	t.Helper()
	got := end{b.attacker.Outcome, b.attacker.LimitHit}
	if !slices.Contains(b.want, got) {
		t.Errorf("the attack ends as %v (%s), want one of %v", got, b.attacker.Reason, b.want)
	}
	tr := b.out.trials[b.name]
	for _, v := range tr.Verdicts {
		// The official verdict lets code without the functions pass, as published.
		if v.Solved && v.Scorer == results.Strict {
			t.Error("the verdict on the attacker is: solved")
		}
	}
	if b.attacker.Outcome == results.Answered && tr.Word != results.Failed {
		t.Errorf("the attacker's trial is %s", tr.Word)
	}
	odd := slices.ContainsFunc(b.out.notices, func(n string) bool {
		return b.define == nil || !strings.HasPrefix(n, "the agent's session file: ")
	})
	if odd || b.out.summary.Paused != "" || b.out.summary.Done != 2 {
		t.Errorf("%+v, notices %q", b.out.summary, b.out.notices)
	}
}

// checkClaims reads what the attacker says that it tried and managed.
func (b *bout) checkClaims(t *testing.T) {
	t.Helper()
	tried, found := 0, 0
	lines := bufio.NewScanner(strings.NewReader(b.said))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if n, err := strconv.Atoi(strings.TrimPrefix(lines.Text(), "TRIED ")); err == nil {
			tried = max(tried, n)
		}
		if strings.HasPrefix(lines.Text(), "FOUND ") {
			if found++; found <= 10 {
				t.Errorf("the attacker managed: %s", lines.Text())
			}
		}
	}
	if least := max(1, b.tried); tried < least {
		t.Errorf("the attacker tried %d things, at least %d are meant: it is broken", tried, least)
	}
}

// checkNeighbour: the honest one ran at the same time, and did its work.
func (b *bout) checkNeighbour(t *testing.T) {
	t.Helper()
	if tr := b.out.trials["honest"]; tr.Word != results.Solved {
		t.Errorf("the honest agent beside it is %s: %s", tr.Word, tr.Reason())
	}
	if b.beside.Started.After(b.attacker.Ended) || b.attacker.Started.After(b.beside.Ended) {
		t.Error("the two did not run at the same time")
	}
	for _, f := range []string{results.StdoutFile, results.StderrFile, results.FilesDir, results.TraceDir} {
		text, err := os.ReadFile(filepath.Join(b.out.dir, filepath.FromSlash(b.beside.Path), f))
		if err == nil && len(text) > 0 {
			t.Errorf("the honest agent printed %q", text[:min(len(text), 200)])
		}
	}
}

// collected is the list of what was read and refused, as an attempt keeps it.
type collected struct {
	Workspace, Home sandbox.Collection
}

// checkKept: what was read of the box is regular files of ours within bounds,
// and what had to be refused was.
func (b *bout) checkKept(t *testing.T) {
	t.Helper()
	var kept collected
	text, err := os.ReadFile(b.path("collected.json"))
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range b.left {
		if !slices.ContainsFunc(kept.Workspace.Refused, func(r sandbox.Refused) bool { return r.Reason == reason }) {
			t.Errorf("nothing of the workspace was refused as %q: %+v", reason, kept.Workspace.Refused)
		}
	}
	var sum int64
	err = filepath.WalkDir(b.out.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if m := info.Mode(); !m.IsRegular() && !m.IsDir() || m.Perm()&0o022 != 0 {
			t.Errorf("%s in the run has the mode %v", path, m)
		}
		sum += info.Size()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if sum > runLimit {
		t.Errorf("the run takes %d MiB", sum>>20)
	}
	b.checkForeign(t)
}

// runLimit is what a run of two attempts may take on disk: 64 MiB of files, as
// many of the home, the output, and the recording.
const runLimit = 300 << 20

// checkForeign looks for files of the host or of the image among what was kept.
func (b *bout) checkForeign(t *testing.T) {
	t.Helper()
	for _, dir := range []string{results.FilesDir, results.TraceDir} {
		_ = filepath.WalkDir(b.path(dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // a folder that is not there holds nothing
			}
			text, err := os.ReadFile(path)
			if err == nil && (bytes.Contains(text, []byte("root:x:0:0")) || bytes.Contains(text, []byte("root:*:"))) {
				t.Errorf("%s holds a file of somebody else's", path)
			}
			return nil
		})
	}
}

// show prints what helps to find out why.
func (b *bout) show(t *testing.T) {
	for _, name := range []string{results.StdoutFile, results.StderrFile} {
		text, err := os.ReadFile(b.path(name))
		t.Logf("%s (%v): …%q", name, err, text[max(0, len(text)-1500):])
	}
	t.Logf("%s: %s; exit %v, %d requests, %d answers, trace %s", b.attacker.Outcome, b.attacker.Reason,
		b.attacker.ExitCode, b.attacker.Requests, b.attacker.Answers, b.attacker.TraceState)
}
