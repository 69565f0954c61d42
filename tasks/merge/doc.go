// Package merge owns the tasks about two classes with one common computation:
// how the computation is drawn, where the classes truly differ, how each class
// is rewritten so that it looks different everywhere, the reference that joins
// them again, and the statement. It must not know how a candidate is scored.
//
// With seed 42 it draws the programs of the published benchmark, bit for bit;
// the statement, the docstrings and the vectors of the strict verdict are our
// own.
package merge
