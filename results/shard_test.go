package results

import "testing"

// Every trial is in exactly one shard, the shards are of equal size, and with as
// many shards as pairings each of them has trials of every pairing.
func TestShards(t *testing.T) {
	const trials = 60
	for count := 1; count <= 7; count++ {
		size := map[int]int{}
		pairs := map[[2]int]int{}
		for seq := range trials {
			owners := 0
			for i := 1; i <= count; i++ {
				if (Shard{Index: i, Count: count}).Has(seq) {
					owners++
					size[i]++
					pairs[[2]int{i, seq % count}]++
				}
			}
			if owners != 1 {
				t.Fatalf("trial %d is in %d of %d shards", seq, owners, count)
			}
		}
		for i := 1; i <= count; i++ {
			if size[i] < trials/count || size[i] > trials/count+1 {
				t.Errorf("shard %d/%d has %d trials", i, count, size[i])
			}
			for p := range count {
				if pairs[[2]int{i, p}] == 0 {
					t.Errorf("shard %d/%d has no trial of pairing %d", i, count, p)
				}
			}
		}
	}
	if !(Shard{}).Has(17) || (Shard{}).String() != "" || (Shard{2, 4}).String() != "2/4" {
		t.Error("the whole is no shard")
	}
}
