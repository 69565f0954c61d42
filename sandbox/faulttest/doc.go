// Package faulttest troubles boxes on a real engine: through a proxy that makes
// calls hang, fail and break, and on an engine of its own that is stopped, killed
// and frozen. It checks that every trouble becomes the right Fault in time and
// that nothing is left behind. It holds tests only.
package faulttest
