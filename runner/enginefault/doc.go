// Package enginefault runs whole sweeps on a real engine that is stopped, loses
// boxes and images, hangs and fails, and checks that every trial gets its
// verdict, that no agent is blamed, and that nothing is left behind. It holds
// tests only.
package enginefault
