// Package relay is the way out of a box that has no network. A small program
// (cabra-relay, below this folder) is PID 1 of the box: it listens on
// 127.0.0.1, and carries every connection of the agent over its own standard
// input and output to the host. There, [Accept] makes a [Conn] of the stream, a
// net.Listener whose connections are the agent's.
//
// The package owns both ends of that stream and the command lines of the
// program ([ServeCommand], [SignalCommand], [KillCommand], [ArchiveCommand],
// [UnpackCommand], [UsageCommand], [GuestCommand]). What runs in the box is hostile, so
// everything that arrives is counted and bounded before the multiplexer sees
// it. The package must not know what is said on the connections, nor tasks,
// scores, results or engines; the program is readable by the agent and
// imports nothing of ours from outside of this folder.
package relay
