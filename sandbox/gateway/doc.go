// Package gateway is the host side of the model connection: an HTTP server for
// one attempt at a time whose requests come out of a box, and the upstreams
// that answer them. It owns what may reach a provider (paths, sizes, numbers,
// headers), the provider's key, waiting and retrying when a provider is busy,
// metering tokens from the wire, and the recording of every exchange.
//
// A run has one [Gateway], which holds the back-off that all attempts share per
// provider; every attempt opens a [Session] with an unguessable address and
// serves it on the listener that leads out of its box. Answers come from an
// [Upstream]: [NewHTTP] for an OpenAI-compatible endpoint, [NewScripted] for a
// fixed policy that needs neither key nor network.
//
// Whatever comes out of a box is hostile, and whatever comes from a provider is
// not trusted to be bounded or well-formed. The package must not know agents,
// tasks, engines or how results are stored.
package gateway
