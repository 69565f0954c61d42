// Package images owns the container images that boxes are made from: their
// recipes, which are part of the program, and the Builder that makes them on a
// Docker engine, once however many callers ask, tagged by what they consist of.
// It must not know tasks, agents' behaviour, scoring or results.
//
// An image is a chain of layers: a system (a Debian with packages, pulled or
// bootstrapped, in one flat layer), perhaps an agent's command line, and perhaps
// the relay on top, so that a new relay rebuilds neither of the others.
package images
