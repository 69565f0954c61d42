// Package images owns the container images that boxes are made from: their
// recipes, which are part of the program, and the Builder that makes them on a
// Docker engine, once however many callers ask, tagged by what they consist of.
// It must not know tasks, agents' behaviour, scoring or results.
//
// An image is a chain of layers: a system (a Debian with packages, pulled or
// bootstrapped, in one flat layer), perhaps an agent's command line with what it
// needs, or the steps of somebody's own recipe (Custom), and perhaps the relay on
// top, so that a new relay rebuilds none of the others. Each layer is an image
// with a tag of its own, NAMESPACE/layer:DIGEST.
//
// Command lines are pinned by the sums of all their files. What is asked for as
// NAME@VERSION, or by an own recipe, is what the registries have, and the images
// say so.
//
// These variables of the environment say where builds get things from; none of
// them leaves a trace in an image: CABRA_DEBIAN_MIRROR, NPM_CONFIG_REGISTRY (or
// the registry of ~/.npmrc), PIP_INDEX_URL (or the one of pip's configuration),
// HTTP_PROXY and its like, SSL_CERT_FILE and NODE_EXTRA_CA_CERTS (see
// Options.CABundle), and CABRA_BUILD_NETWORK, the network of the container that
// packages are installed in ("host", say).
package images
