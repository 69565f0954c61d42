// Package callgraph owns the sampling of call graphs: the layered graphs of init
// and edit functions, how the two are joined for each of the five refactorings,
// and who gets which name. It must not know what a function computes, how a
// program is written down, or what a refactoring changes in it.
//
// With seed 42 it draws the graphs of the published benchmark, bit for bit.
// Products of floating-point numbers are rounded on their own, so that values
// do not depend on the processor. Exponentials and logarithms may differ in the
// last bit between processors; they only bound random draws of 53 bits, so that
// practically no sample can differ.
package callgraph
