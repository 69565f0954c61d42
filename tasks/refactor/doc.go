// Package refactor owns the call-graph tasks: it writes programs for sampled
// call graphs, the five refactorings on them as starter and reference, guards
// around the bodies, rules for generated values, and the problem statements. It
// must not know how tasks are run or scored.
//
// With seed 42, programs are those of the published benchmark as far as what is
// known about it tells. Not reproduced are the branches of runtime dead code
// that do not run (they depend on the order of a hash table), the texts that
// inserted lines print, and the statements. The text of the function check is
// our own, too; what it computes is not.
package refactor
