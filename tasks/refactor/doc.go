// Package refactor owns the call-graph tasks: it writes programs for sampled
// call graphs, the five refactorings on them as starter and reference, and the
// problem statements. It must not know how tasks are run or scored.
package refactor
