// Package callgraph owns the sampling of call graphs: the random streams, the
// layered graphs of init and edit functions, how the two are joined for each
// of the five refactorings, and the names of the functions. It must not know
// what a function computes, how a program is written down, or what a
// refactoring changes in it.
//
// With seed 42 it draws the graphs of the published benchmark, bit for bit.
// All products of floating-point numbers are rounded on their own, so that the
// values do not depend on the processor.
package callgraph
