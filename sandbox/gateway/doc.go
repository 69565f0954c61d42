// Package gateway is the host side of the model connection: an HTTP server for
// one attempt at a time whose requests come out of a box, and the upstreams
// that answer them. It owns the wires in which models are asked ([Wire]), what
// may reach a provider (paths, sizes, numbers, headers), the provider's key,
// waiting and retrying when a provider is busy, metering tokens and cost from
// the wire, the [Budget] that bounds what is spent, and the recording of every
// exchange.
//
// A run has one [Gateway], which holds the back-off and the limits that all
// attempts share per provider and model; every attempt opens a [Session] with
// an unguessable address and serves it on the listener that leads out of its
// box. Answers come from an [Upstream]: [NewHTTP] for a provider's endpoints,
// [NewScripted] for a fixed policy that needs neither key nor network,
// [NewReplay] for the recorded traffic of another attempt.
//
// A CLI that insists on its maker's hosts finds them behind an HTTPS proxy at
// the same address ([Login], [GitHub]): TLS ends here under certificates that
// only the run's boxes trust, the box holds a dummy token, and its calls of the
// model are requests of the session like all others.
//
// Whatever comes out of a box is hostile, and whatever comes from a provider is
// not trusted to be bounded or well-formed. The package must not know agents,
// tasks, engines or how results are stored.
package gateway
