package merge

import "testing"

// One seed of the largest size, with everything that a task needs.
func BenchmarkDraw(b *testing.B) {
	cfg := mustConfig(b, 200, "")
	for i := 0; b.Loop(); i++ {
		if p, err := drawStrict(cfg, int64(i%50)); err == nil {
			_ = p.starter()
		}
	}
}
