package report_test

import (
	"bytes"
	"strings"
	"testing"

	"cabra-run/results/report"
)

// Limits that were not in force as wanted are a line of the report, once for
// all attempts; without any there is none.
func TestOtherLimits(t *testing.T) {
	list := trials(sample)
	for i, want := range []string{"", "wanted: 1;", "wanted: 2;"} {
		if i > 0 {
			list[i].Attempts[0].Effective = "memory: wanted 2147483648, in effect no limit"
		}
		r := build(t, list, report.Options{})
		var out bytes.Buffer
		if err := report.Text(&out, r); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		const line = "attempts whose box had other limits in force than were "
		if r.OtherLimits != i || strings.Contains(text, line) != (i > 0) || !strings.Contains(text, want) {
			t.Errorf("%d attempts: %d in the report\n%s", i, r.OtherLimits, out.String())
		}
	}
}
