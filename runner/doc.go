// Package runner owns the way of a trial: which trials a run has, which of them
// are still to be done, one attempt after the other in its box under limits, the
// judging of how each attempt ended, retries, pauses and the order in which
// everything is recorded. It must not know a particular engine, provider, grid
// generator or terminal: those are handed to it.
package runner
