package gateway

import (
	"strings"
	"testing"
)

func TestNormalised(t *testing.T) {
	for text, want := range map[string]string{
		"session 6ba7b810-9dad-11d1-80b4-00c04fd430c8.":                "session <uuid>.",
		"at http://127.0.0.1:8377/0123456789abcdef0123456789abcdef/v1": "at <address>/v1",
		"see https://localhost:1234/x":                                 "see <address>/x",
		"2026-11-30T03:04:05.123Z":                                     "<time>",
		"2026-11-30T03:04:05+01:00":                                    "<time>",
		"2026-11-30 03:04:05 UTC":                                      "<time>",
		"Today's date is 2026-11-30.":                                  "Today's date is <time>.",
		"Today's date is Monday, November 30, 2026 (local)":            "Today's date is <time> (local)",
		"date: Mon Nov 30 03:04:05 UTC 2026":                           "date: <time>",
		"Mon, 30 Nov 2026 03:04:05 GMT":                                "<time>",
		"on 11/30/2026, 3:04 PM":                                       "on <time>",
		"-rw-r--r-- 1 agent agent 1805 Nov 30 06:07 solution.py":       "-rw-r--r-- 1 agent agent 1805 <time> solution.py",
		"started 1764471845 ended 1764471845123":                       "started <time> ended <time>",
		"Wall time: 0.0512 seconds":                                    "Wall time: <duration>",
		"took 12ms, then 1.5 s":                                        "took <duration>, then <duration>",
		`"duration_ms": 512,`:                                          `"<duration>,`,
		"real\t0m0.012s":                                               "real\t<duration>",
		"pid 4711 and PID: 12":                                         "<pid> and <pid>",
		"[1] 4711":                                                     "<pid>",
		"cat /proc/4711/status":                                        "cat <pid>/status",
		"/tmp/tmpab3_x9k2/solution.py":                                 "/tmp/<temp>/solution.py",
		"wrote /tmp/claude-3f9aX2/out":                                 "wrote /tmp/claude-<temp>/out",
		`"id":"call_Zx81kd92jdA"`:                                      `"id":"<id>"`,
		"Chunk ID: 03408d":                                             "Chunk ID: <id>",
		"a\r\nb":                                                       "a\nb",
	} {
		if got := normalised(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What a program computes, and what an agent named, says something.
func TestNotNormalised(t *testing.T) {
	for _, text := range []string{
		"def f_12(x): return x * 3 + 17",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  solution.py",
		"da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"wrote /tmp/check.py and /tmp/run_tests/out.txt",
		"42 passed, 1 failed", "line 117, in <module>", "exit code 137",
		"12345", "3.14159", "version 3.13.5", "[1, 2, 3] 40", "temperature and template",
		"solution.py:12:34: error", "x = [3, 5, 8]; s = 'ms'", "process the list", "may 5 values", "call_function(item_list)",
	} {
		if got := normalised(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestDifferences(t *testing.T) {
	if d := textDifference("a\nb\nc", "a\nb\nc"); d != "" {
		t.Errorf("of equal texts %q", d)
	}
	if d := textDifference("a\nb\nc\nd\ne\nf", "a\nb\nc\nd\nE\nf"); d != "behind line 1:\n@@ -1,5 +1,5 @@\n b\n c\n d\n-e\n+E\n f\n" {
		t.Errorf("%q", d)
	}
	if d := textDifference("", "x"); d != "@@ -1,1 +1,1 @@\n-\n+x\n" {
		t.Errorf("%q", d)
	}
	long := strings.Repeat("0123456789", 100)
	if d := textDifference(long+"a"+long, long+"b"+long); !strings.Contains(d, "56789a0123") || !strings.Contains(d, "56789b0123") || len(d) > 600 {
		t.Errorf("%q", d)
	}
	lines := strings.Repeat("line\n", 100_000)
	if d := textDifference(lines+"a\n"+lines, lines+"b\n"+lines); len(d) > 500 ||
		!strings.HasPrefix(d, "behind line 99997:\n") || !strings.Contains(d, "-a\n+b\n") {
		t.Errorf("%q", d)
	}
	if d := textDifference(strings.Repeat("a\n", 1000), strings.Repeat("b\n", 1000)); strings.Count(d, "\n") > maxDiffLines+3 || !strings.HasSuffix(d, "…\n") {
		t.Errorf("%q", d)
	}
}

func FuzzDifference(f *testing.F) {
	f.Add("a\nb", "a\nc")
	f.Add("a\n\nb", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		d := textDifference(a, b)
		if (d == "") != (a == b) || len(d) > (maxDiffLines+3)*(maxDiffLine+20) {
			t.Fatalf("%q for %q and %q", d, a, b)
		}
	})
}
