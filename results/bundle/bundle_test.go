package bundle_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cabra-run/results"
	"cabra-run/results/bundle"
	"cabra-run/tasks"

	"github.com/klauspost/compress/zstd"
)

var now = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// run makes a run of three trials, open for writing: two solved ones, and one
// whose attempt is running.
func run(t *testing.T) *results.Store {
	t.Helper()
	ctx := context.Background()
	s, err := results.Create(filepath.Join(t.TempDir(), "r"), results.Lock{Run: "r", Program: "0.1.0",
		Agent: results.Agent{Name: "copilot", Version: "1"}, Model: "m", Retry: results.DefaultRetry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	cell := tasks.Cell{Axis: tasks.Search, Size: 5, Refactoring: tasks.AddReturn, Code: tasks.Math}
	for i := range 3 {
		trial := results.Trial{TaskID: tasks.CellID(cell, i+1), TaskDigest: "d", Cell: cell, Instance: i + 1,
			Agent: "copilot", Version: "1", Model: "m", Repetition: 1, Seq: i}
		trial.Key = results.TrialKey(trial)
		if err := s.Plan(ctx, []results.Trial{trial}); err != nil {
			t.Fatal(err)
		}
		work(t, s, trial.Key, i < 2)
	}
	return s
}

// oddName is a file that an agent may leave.
const oddName = "trace/new\nline \xff\\ ü \"x\".jsonl"

func work(t *testing.T, s *results.Store, key string, ends bool) {
	t.Helper()
	ctx := context.Background()
	a, err := s.StartAttempt(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddExchange(ctx, key, 1, results.Exchange{Seq: 1, Complete: true}); err != nil {
		t.Fatal(err)
	}
	art, err := s.BeginArtefacts(key, 1)
	if err != nil {
		t.Fatal(err)
	}
	root := art.Root()
	err = errors.Join(root.Mkdir("files", 0o755), root.Mkdir("trace", 0o755), root.Symlink("/etc/passwd", "link"),
		root.WriteFile("stdout", []byte(key), 0o600), root.WriteFile(oddName, bytes.Repeat([]byte("x"), 100_000), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	if !ends {
		return // its folder is a temporary one, and not packed
	}
	a.Ended, a.Outcome = a.Started.Add(time.Minute), results.Answered
	if err := errors.Join(art.Commit(ctx, a), s.Collected(ctx, a),
		s.SetVerdict(ctx, key, 1, results.Verdict{Scorer: "strict", Solved: true})); err != nil {
		t.Fatal(err)
	}
}

// image is an image of n bytes.
func image(name string, n int) bundle.ImageSource {
	return bundle.ImageSource{Image: bundle.Image{Name: name, ID: "sha256:" + name},
		Write: func(_ context.Context, w io.Writer) error {
			for n > 0 { // in pieces that do not fit the parts
				k := min(n, 1_000_003)
				if _, err := w.Write(make([]byte, k)); err != nil {
					return err
				}
				n -= k
			}
			return nil
		}}
}

func pack(t *testing.T, s *results.Store, images ...bundle.ImageSource) []byte {
	t.Helper()
	var buf bytes.Buffer
	report, err := bundle.Write(context.Background(), &buf, s.Dir(), bundle.WriteOptions{Images: images, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if report.Run != "r" || report.Program != "0.1.0" || len(report.Missing) > 0 || report.Bytes < 200_000 {
		t.Errorf("%+v", report)
	}
	return buf.Bytes()
}

// A bundle of a run that is being written is a run of that moment elsewhere:
// the same trials, and every artefact that is recorded.
func TestThereAndBack(t *testing.T) {
	ctx := context.Background()
	s := run(t)
	size := 16<<20 + 5 // two parts
	data := pack(t, s, image("small", 3), image("large", size))
	dst := filepath.Join(t.TempDir(), "copy")
	got := map[string]int{}
	report, err := bundle.Read(ctx, bytes.NewReader(data), dst, bundle.ReadOptions{
		Image: func(_ context.Context, im bundle.Image, r io.Reader) error {
			n, err := io.Copy(io.Discard, r)
			got[im.Name+" "+im.ID] = int(n)
			return err
		}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["small sha256:small"] != 3 || got["large sha256:large"] != size {
		t.Errorf("images %v", got)
	}
	if !report.Packed.Equal(now) || report.Run != "r" || len(report.Images) != 2 {
		t.Errorf("%+v", report)
	}
	there, err := results.Open(dst, results.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if a, b := text(t, s), text(t, there); a != b {
		t.Errorf("the copy is\n%s, was\n%s", b, a)
	}
	for tr, err := range there.Results(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		a := tr.Attempts[0].Attempt
		if !a.HasArtefacts {
			continue
		}
		dir := there.AttemptDir(a)
		odd, oddErr := os.ReadFile(filepath.Join(dir, oddName))
		out, outErr := os.ReadFile(filepath.Join(dir, "stdout"))
		_, linkErr := os.Lstat(filepath.Join(dir, "link"))
		files, dirErr := os.ReadDir(filepath.Join(dir, "files"))
		if err := errors.Join(oddErr, outErr, dirErr); err != nil || len(odd) != 100_000 || string(out) != tr.Key ||
			!errors.Is(linkErr, os.ErrNotExist) || len(files) != 0 {
			t.Errorf("artefacts of %s: %v, link %v", tr.TaskID, err, linkErr)
		}
	}
	rec, err := there.Recover(ctx)
	if err != nil || len(rec.Closed) != 1 || len(rec.Missing)+len(rec.Orphans) > 0 {
		t.Errorf("%+v, %v", rec, err)
	}
	nothingLeft(t, filepath.Dir(dst))
}

// text is what a run says, without pointers.
func text(t *testing.T, s *results.Store) string {
	t.Helper()
	var list []string
	for tr, err := range s.Results(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintln(tr.Trial, tr.State, tr.Word, tr.Usage.Exchanges, tr.Verdicts)
		for _, a := range tr.Attempts {
			line += fmt.Sprintln(a.Number, a.Started, a.Ended, a.Outcome, a.Path, a.HasArtefacts)
		}
		list = append(list, line)
	}
	return strings.Join(list, "")
}

func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// members unpacks a bundle's tar, changes it, and packs it again.
func members(t *testing.T, data []byte, change func([]member) []member) []byte {
	t.Helper()
	z, err := zstd.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var list []member
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, member{h, body})
	}
	var buf bytes.Buffer
	zw, err := zstd.NewWriter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(zw)
	for _, m := range change(list) {
		m.h.Size = int64(len(m.body))
		if err := w.WriteHeader(m.h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(m.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zw.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

type member struct {
	h    *tar.Header
	body []byte
}

func find(list []member, suffix string) *member {
	for i := range list {
		if strings.HasSuffix(list[i].h.Name, suffix) {
			return &list[i]
		}
	}
	panic(suffix)
}

// add puts a member before the manifest, and into it when listed.
func add(h *tar.Header) func([]member) []member {
	return func(list []member) []member {
		last := list[len(list)-1]
		return append(list[:len(list)-1:len(list)-1], member{h, nil}, last)
	}
}

// Whatever is not what Write has packed is refused by name; nothing of it stays,
// and no image is handed out.
func TestHostileBundles(t *testing.T) {
	s := run(t)
	good := pack(t, s, image("small", 3))
	file := func(name string) *tar.Header { return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644} }
	link := func(kind byte) *tar.Header {
		return &tar.Header{Typeflag: kind, Name: "run/trials/x", Linkname: "/etc/passwd"}
	}
	cases := []struct {
		name, says string
		data       []byte
	}{
		{"empty", "too early", nil},
		{"no zstd", "not intact", []byte("hello, this is no bundle at all")},
		{"cut", "", good[:len(good)/2]},
		{"byte changed", "", flip(good, len(good)/2)},
		{"code changed", `stdout": it is not what was packed`, members(t, good, func(l []member) []member {
			find(l, "/stdout").body = []byte("forged")
			return l
		})},
		{"member removed", "it is not what was packed", members(t, good, func(l []member) []member { return append(l[:3], l[4:]...) })},
		{"manifest removed", "too early", members(t, good, func(l []member) []member { return l[:len(l)-1] })},
		{"member not listed", `"run/trials/x": it is not what was packed`, members(t, good, add(file("run/trials/x")))},
		{"behind the end", `"run/trials/x": it stands behind the end`, members(t, good, func(l []member) []member {
			return append(l, member{file("run/trials/x"), nil})
		})},
		{"description missing", "stands at the beginning", members(t, good, func(l []member) []member { return l[1:] })},
		{"member twice", "another member has its place", members(t, good, add(file("run/run.json")))},
		{"below a file", "another member has its place", members(t, good, add(file("images/0/info.json/x")))},
		{"absolute", "not a plain path", members(t, good, add(file("/etc/cron.d/x")))},
		{"dots", "not a plain path", members(t, good, add(file("run/trials/../../../x")))},
		{"elsewhere", "no bundle has such a member", members(t, good, add(file("other/x")))},
		{"lock file", "no bundle has such a member", members(t, good, add(file("run/lock")))},
		{"symbolic link", "neither a file nor a folder", members(t, good, add(link(tar.TypeSymlink)))},
		{"hard link", "neither a file nor a folder", members(t, good, add(link(tar.TypeLink)))},
		{"device", "neither a file nor a folder", members(t, good, add(link(tar.TypeChar)))},
		{"pipe", "neither a file nor a folder", members(t, good, add(link(tar.TypeFifo)))},
		{"long name", "", members(t, good, add(file("run/trials/"+strings.Repeat("x/", 3000)+"y")))},
		{"endless description", `"bundle.json": it is larger than any`, members(t, good, func(l []member) []member {
			l[0].body = append(l[0].body, make([]byte, 2<<20)...)
			return l
		})},
		{"endless lock", `"run/run.json": it is larger than any`, members(t, good, func(l []member) []member {
			find(l, "run/run.json").body = make([]byte, 65<<20)
			return l
		})},
		{"too large", "more than 262144 bytes", members(t, good, func(l []member) []member {
			find(l, "/stdout").body = make([]byte, 1<<20)
			return l
		})},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dst := filepath.Join(t.TempDir(), "copy")
			opts := bundle.ReadOptions{Image: func(context.Context, bundle.Image, io.Reader) error {
				t.Error("an image was handed out")
				return nil
			}}
			if c.name == "too large" {
				opts.MaxBytes = 256 << 10
			}
			_, err := bundle.Read(context.Background(), bytes.NewReader(c.data), dst, opts)
			var broken *bundle.Error
			if !errors.As(err, &broken) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want it to say %q", err, c.says)
			}
			if _, err := os.Lstat(dst); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("something is there: %v", err)
			}
			nothingLeft(t, filepath.Dir(dst))
		})
	}
}

func flip(data []byte, at int) []byte {
	out := bytes.Clone(data)
	out[at] ^= 0xff
	return out
}

// What is there is not written over.
func TestReadToWhatExists(t *testing.T) {
	s := run(t)
	var exists *results.ExistsError
	if _, err := bundle.Read(context.Background(), nil, s.Dir(), bundle.ReadOptions{}); !errors.As(err, &exists) || !exists.IsRun {
		t.Errorf("%v", err)
	}
}

// A bundle with too many members ends where the bound is.
func TestMemberBound(t *testing.T) {
	data := pack(t, run(t))
	_, err := bundle.Read(context.Background(), bytes.NewReader(data), filepath.Join(t.TempDir(), "copy"),
		bundle.ReadOptions{MaxMembers: 4})
	if err == nil || !strings.Contains(err.Error(), "more than 4 members") {
		t.Errorf("%v", err)
	}
}

// A context that ends is told as that, and leaves nothing.
func TestCancelledRead(t *testing.T) {
	data := pack(t, run(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dst := filepath.Join(t.TempDir(), "copy")
	if _, err := bundle.Read(ctx, bytes.NewReader(data), dst, bundle.ReadOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	nothingLeft(t, filepath.Dir(dst))
}
