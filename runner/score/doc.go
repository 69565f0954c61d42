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
// [Scorer.Score] scores one candidate; [Validate] scores every task's own
// reference and starter.
package score
