// Package hostile holds the tests that let hostile agents loose: each is an
// agent from a file whose program attacks its box, the host, other attempts or
// the harness, run for real through a sweep beside an honest agent. It owns what
// each attack may come to and what must be left of it. It has no code but tests
// and must not know how a box is locked down; what it looks at is what an
// attempt recorded, what is left on the host, and what the attacker says it
// managed.
package hostile
