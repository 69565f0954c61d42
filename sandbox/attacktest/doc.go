// Package attacktest holds tests that attack a box from inside, as the agent,
// with scripts of ours in testdata: its PID 1, the stream to the host, and the
// limits. They need a real engine and an image, and they look at what reaches
// the host. It has no other code and must not be imported.
package attacktest
