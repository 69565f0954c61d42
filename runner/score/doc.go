// Package score turns a candidate's code into a verdict. It owns the executor
// that runs Python in scorer boxes (embedded from the folder python), the pool
// of those boxes, the drawing of inputs, the comparison of outputs and the
// rules on the syntax tree, all of which happen here and outside of the boxes.
// It must not know how code came to be, how trials are planned or where
// verdicts are kept.
//
// Nothing that a box says is believed further than it can be checked: a box
// that runs candidate code never receives the reference or its outputs, trees
// come from boxes that execute no candidate code, and whatever a killed,
// silent or lying box leads to, it is never a pass.
//
// There are two verdicts. The strict one asks for all that the statement of a
// task asks for. The official one follows the published scorer, holes included,
// as far as that is safe: a candidate never shares a process with a reference,
// and its objects have no say in what they are equal to.
//
// [Scorer.Score] gives the strict verdict on a candidate, [Scorer.ScoreAll]
// both; [Validate] scores every task's own reference and starter under both.
// The strict verdict is the conjunction of five checks:
//
//   - compiles: there is a solution.py, and Python accepts it.
//   - functions: the plain functions at the top level are those of the
//     reference, each once; so removed ones are gone and none is added.
//   - structure: imports, the __main__ block, main and every function that the
//     reference leaves alone are as they were (annotations, docstrings,
//     comments and layout are free, and an unused import may go). An edited
//     function has the reference's parameters and defaults, hands the same ones
//     on, uses the library where the reference does, and keeps no state.
//   - behaviour: every function gives the reference's outputs on 50 inputs,
//     with the same types, and main does so when it is called again.
//   - calls: the same library calls with the same arguments happen on the way.
//
// How an edited function computes its result is its own affair, as long as it
// still calls what the reference's calls: a callee written out in its caller is
// another change than the one that was asked for.
package score
