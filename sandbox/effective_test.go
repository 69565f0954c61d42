package sandbox

import (
	"slices"
	"testing"
)

func TestDifferences(t *testing.T) {
	full := Effective{Limits: DefaultLimits()}
	loose := full
	loose.Limits.MemoryBytes, loose.Limits.CPUs, loose.SwapBytes = Unlimited, 1.5, 4096
	loose.Limits.Pids, loose.Limits.HomeBytes = NotTold, 1<<20
	for _, tc := range []struct {
		name string
		e    Effective
		want []string
	}{
		{"all as wanted", full, nil},
		{"loose", loose, []string{
			"memory: wanted 2147483648, in effect no limit",
			"home: wanted 536870912, in effect 1048576",
			"cpus: wanted 2, in effect 1.5",
			"swap: wanted none, in effect 4096",
		}},
	} {
		if got := tc.e.Differences(Limits{}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
