package sandboxtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"cabra-run/sandbox"
)

// collect kills the box and reads its workspace into a folder.
func (s *suite) collect(b sandbox.Box, l sandbox.CollectLimits) (sandbox.Collection, string) {
	s.Helper()
	s.must("killing", b.Kill(s.ctx))
	dir := s.TempDir()
	dst, err := os.OpenRoot(dir)
	s.must("opening folder", err)
	defer dst.Close()
	c, err := b.Collect(s.ctx, dst, l)
	s.must("collecting", err)
	return c, dir
}

func testCollectNasty(s *suite) {
	info, err := s.engine.Info(s.ctx)
	s.must("asking engine", err)
	sparse := int64(sparseBytes)
	if info.Transport == "archive" {
		sparse = sparseStream
	}
	spec := s.spec(idle)
	spec.Limits.WorkspaceBytes = sparse + 1<<20 // so that the file size limit lets it be made
	b := s.start(spec)
	if o := s.exec(b, nastyTree, "", sparseEnv+strconv.FormatInt(sparse, 10)); o.code != 0 {
		s.Fatalf("making the tree: %+v", o)
	}
	c, dir := s.collect(b, sandbox.CollectLimits{Depth: 3})
	s.wantFiles(c, dir, map[string]string{
		"solution.py": "changed\n", "lib/help.py": "help\n", "closed": "hidden\n", "shut/file": "inside\n",
		"d1/d2/shallow": "shallow\n", "tool": "run\n",
	})
	s.wantRefused(c, map[string]string{
		"link": sandbox.RefusedLink, "rootlink": sandbox.RefusedLink, "dangling": sandbox.RefusedLink,
		"looping": sandbox.RefusedLink, "fifo": sandbox.RefusedFIFO,
		strconv.Quote("new\nline"):     sandbox.RefusedName,
		strconv.Quote("esc\x1b[31m"):   sandbox.RefusedName,
		strconv.Quote("bad\xffname"):   sandbox.RefusedName,
		"sparse":                       sandbox.RefusedTooLarge,
		"d1/d2/d3/d4/deep|d1/d2/d3/d4": sandbox.RefusedTooDeep,
	})
	for _, f := range c.Files {
		if f.Path == "tool" && f.Mode != 0o755 || f.Path == "closed" && f.Mode != 0 {
			s.Errorf("mode of %s is %o", f.Path, f.Mode)
		}
	}
	if c.Truncated {
		s.Error("truncated")
	}
	// One or both names of a file with two are refused, never is one kept
	// that cannot be told from a link into another tree.
	hard := 0
	for _, r := range c.Refused {
		if r.Reason == sandbox.RefusedHardLink {
			hard++
		}
	}
	if hard == 0 {
		s.Errorf("no hard link refused: %v", c.Refused)
	}
}

// wantFiles compares what was kept with a map from path to text. The files
// "one" and "two" are one file with two names, of which one may be kept.
func (s *suite) wantFiles(c sandbox.Collection, dir string, want map[string]string) {
	s.Helper()
	got := map[string]bool{}
	for _, f := range c.Files {
		if f.Path == "one" || f.Path == "two" {
			continue
		}
		got[f.Path] = true
		text, err := os.ReadFile(filepath.Join(dir, f.Path))
		s.must("reading collected file", err)
		if w, ok := want[f.Path]; !ok || string(text) != w || f.Bytes != int64(len(w)) {
			s.Errorf("collected %s with %q (%d), want %q", f.Path, text, f.Bytes, w)
		}
	}
	for p := range want {
		if !got[p] {
			s.Errorf("not collected: %s; refused: %v", p, c.Refused)
		}
	}
}

// wantRefused compares refusals; a key may hold alternatives.
func (s *suite) wantRefused(c sandbox.Collection, want map[string]string) {
	s.Helper()
	got := map[string]string{}
	for _, r := range c.Refused {
		got[r.Path] = r.Reason
	}
	for key, reason := range want {
		found := false
		for p := range strings.SplitSeq(key, "|") {
			found = found || got[p] == reason
		}
		if !found {
			s.Errorf("%s should be refused as %q; refused: %v", key, reason, c.Refused)
		}
	}
}

func testCollectLimits(s *suite) {
	b := s.start(s.spec(idle))
	s.run(b, manyFiles)
	s.must("killing", b.Kill(s.ctx))
	for what, l := range map[string]sandbox.CollectLimits{
		"files": {Files: 10}, "entries": {Entries: 50}, "bytes": {Bytes: 100},
	} {
		c, _ := s.collect(b, l)
		if got := len(c.Files); got < 2 || got > 60 {
			s.Errorf("limit of %s: %d files kept", what, got)
		}
		kept := map[string]bool{}
		for _, f := range c.Files {
			kept[f.Path] = true
		}
		if !kept["solution.py"] || !kept["lib/help.py"] {
			s.Errorf("limit of %s: the original files were crowded out: %v", what, c.Files)
		}
		if len(c.Refused) > sandbox.MaxRefused {
			s.Errorf("limit of %s: %d refusals listed", what, len(c.Refused))
		}
		if len(c.Refused)+c.Dropped == 0 && !c.Truncated {
			s.Errorf("limit of %s: nothing says that files are missing", what)
		}
	}
}

// testDeepTree has folders that no path reaches.
func testDeepTree(s *suite) {
	b := s.start(s.spec(idle))
	s.run(b, deepTree)
	if _, err := b.Usage(s.ctx); err != nil {
		s.Errorf("reading usage: %v", err)
	}
	c, _ := s.collect(b, sandbox.CollectLimits{})
	if len(c.Files) != 2 || len(c.Refused) == 0 && !c.Truncated {
		s.Errorf("collected %+v", c)
	}
	s.must("removing", b.Remove(s.ctx))
	CheckRemains(s.T, s.engine)
}

func testCollectNothing(s *suite) {
	spec := s.spec(fastExit)
	spec.Workspace = nil
	b := s.start(spec)
	s.wantExit(b, 7)
	dst, err := os.OpenRoot(s.TempDir())
	s.must("opening folder", err)
	defer dst.Close()
	_, err = b.Collect(s.ctx, dst, sandbox.CollectLimits{})
	s.wantFault("collect", err, sandbox.FaultBadSpec)
}
