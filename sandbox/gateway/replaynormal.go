package gateway

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// volatile is what differs between two runs of the same program on the same
// answers, by what is put in its place before texts are compared. Order
// matters: what an earlier one has replaced a later one does not see. Sums of
// files and names that an agent has chosen are not among it, for they tell of a
// difference.
var volatile = []struct {
	mark    string
	pattern *regexp.Regexp
}{
	{"<uuid>", regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)},
	{"<address>", regexp.MustCompile(
		`(?:\bhttps?://)?(?:127\.0\.0\.1|localhost|\[::1\]|0\.0\.0\.0)(?::\d{1,5})(?:/[0-9a-f]{32}\b)?`)},
	{"${1}<id>", regexp.MustCompile(`(?i)(\b[a-z_-]*id\b\\*["']?[:=] ?\\*["']?)[0-9a-f]{6,64}\b`)},
	{"<token>", regexp.MustCompile(`\b[0-9a-f]{32}\b`)}, // of an attempt, and UUIDs without dashes
	{"<time>", regexp.MustCompile(
		`\b(?:19|20)\d\d[-/]\d\d[-/]\d\d(?:[T _]\d\d[:.-]\d\d(?:[:.-]\d\d(?:[.,]\d{1,9})?)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?\b`)},
	{"<time>", regexp.MustCompile(`(?i)\b(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? +)?` +
		month + ` +\d{1,2}(?:st|nd|rd|th)?(?:,? +(?:19|20)\d\d| +` + clock + `(?: +[a-z]{3,4})?(?: +(?:19|20)\d\d)?)\b`)},
	{"<time>", regexp.MustCompile(`(?i)\b(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +)?\d{1,2} +` + month +
		` +(?:19|20)\d\d(?: +` + clock + `)?(?: (?:utc|gmt|[+-]\d{4}))?\b`)},
	{"<time>", regexp.MustCompile(`\b\d{1,2}/\d{1,2}/(?:19|20)\d\d(?:,? +` + clock + noon + `)?`)},
	{"${1}<time>", regexp.MustCompile(`(^|[^:.\w])` + clock + `\b` + noon)}, // and no line and column
	// Times since 1970, in seconds to nanoseconds, of the years 2017 to 2033.
	{"<time>", regexp.MustCompile(`\b(?:1[5-9]\d{8}|1[5-9]\d{11}|1[5-9]\d{14}|1[5-9]\d{17})\b(?:\.\d{1,9}\b)?`)},
	{"<duration>", regexp.MustCompile(
		`(?i)\b(?:\d+h ?)?(?:\d+m ?)?\d+(?:[.,]\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|milliseconds?)\b`)},
	{"<duration>", regexp.MustCompile(`(?i)\b(?:duration|elapsed|wall ?time|took)(?:[_ ]?(?:ms|s|seconds))?["']?[:=]? *\d+(?:\.\d+)?`)},
	{"<pid>", regexp.MustCompile(`(?i)\b(?:pid|pgid|ppid|process(?: group)?(?: id)?)s?\b["']?(?: is)?[:= #(]*\d+`)},
	{"<pid>", regexp.MustCompile(`/proc/\d+\b`)},
	{"<pid>", regexp.MustCompile(`(?m)^\[\d+\] \d+$`)}, // a shell's word on a job
	{"<temp>", regexp.MustCompile(`\b(?:tmp|temp)[._-]?[A-Za-z0-9_]*(?:[a-z_][0-9A-Z]|[0-9A-Z][a-z_])[A-Za-z0-9_]*\b`)},
	{"${1}<temp>", regexp.MustCompile(`(/(?:tmp|shm)/[\w.-]*?[._-])[A-Za-z0-9]*(?:\d[A-Za-z]|[A-Za-z]\d|[a-z][A-Z]|[A-Z][a-z])[A-Za-z0-9]{2,}\b`)},
	{"<id>", regexp.MustCompile(
		`\b(?:call|toolu|chatcmpl|resp|req|msg|prt|ses|run|rs|fc|ctc|item|user|sess|session|thread|turn)[_-][A-Za-z0-9_-]*\d[A-Za-z0-9_-]{5,}\b`)},
}

const (
	month = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?`
	noon  = `(?: ?[AaPp]\.?[Mm]\b)?`
	clock = `\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9})?)?`
)

// maxNormalised is how much of a text is looked at; the rest stays as it is.
const maxNormalised = 512 << 10

// normalised is a text without what differs between any two runs.
func normalised(text string) string {
	n := runeEnd([]byte(text[:min(len(text), maxNormalised+utf8.UTFMax)]), maxNormalised)
	var out strings.Builder
	for line := range strings.Lines(text[:n]) {
		out.WriteString(normalLine(line))
	}
	out.WriteString(text[n:])
	return out.String()
}

// normalLine is normalised for a line. Nothing volatile is without a digit or
// its name.
func normalLine(line string) string {
	if body, ok := strings.CutSuffix(line, "\r\n"); ok {
		line = body + "\n"
	}
	if !strings.ContainsAny(line, "0123456789") && !strings.Contains(line, "tmp") && !strings.Contains(line, "temp") {
		return line
	}
	for _, v := range volatile {
		line = v.pattern.ReplaceAllString(line, v.mark)
	}
	return line
}
