// Package bench measures what the orchestrator itself costs: the time that it
// adds to the engine's, its memory with many boxes, and the speed of its store
// and of the commands on large runs. It owns the measurements and their table,
// and the simulated boxes that a machine needs to pretend to have thousands.
// It must not know the command line, and nothing else may use it.
package bench
