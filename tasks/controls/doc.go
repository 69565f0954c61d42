// Package controls owns the control tasks about editing without understanding:
// renaming variables in a straight-line program. It must not know how a
// candidate is scored. (Copying a comment is about call graphs and belongs to
// package refactor.)
//
// Nobody published a generator of these tasks: they follow the description in
// the paper, but what is drawn is our own.
package controls
