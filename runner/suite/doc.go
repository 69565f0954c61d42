// Package suite holds the end-to-end tests of all agents: each real CLI in the
// full sandbox on a real engine, against the scripted upstream. It owns what an
// agent has to do in every case that can befall it, and has no code but tests.
// It must not know how a CLI is driven; what tells CLIs apart here is what can
// be seen of them from outside.
package suite
