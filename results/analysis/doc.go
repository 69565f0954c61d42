// Package analysis owns the statistics of runs: rates with their errors and
// intervals, the comparison of two runs on the same trials, the course of
// accuracy over size and whether two runs agree on it, and pass@k. It works on
// numbers and counts alone: it must not know where results are stored, how they
// came about or how they are printed.
//
// Everything that is random in a run is taken as drawn per task. Confidence is
// given as a fraction (0.95), p-values are two-sided. What cannot be computed is
// reported as such by a false second result, never as a zero.
package analysis
