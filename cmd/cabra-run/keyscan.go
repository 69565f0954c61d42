package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/sandbox/gateway"
)

// keyed is an upstream that knows the keys that it has read.
type keyed interface{ Mask() *gateway.Mask }

// scanForKeys looks for every key in use in all that a run has stored, plain
// and in the usual encodings. Everything is masked on its way to the disk, so a
// hit is a defect, and the run must not be published.
func (a *app) scanForKeys(ctx context.Context, store *results.Store, pairs []runner.Pairing) error {
	var masks []*gateway.Mask
	for _, p := range pairs {
		if up, ok := p.Model.Upstream.(keyed); ok && !slices.Contains(masks, up.Mask()) {
			masks = append(masks, up.Mask())
		}
	}
	if len(masks) == 0 {
		return nil
	}
	mask := gateway.Join(masks...)
	a.say("looking for keys in everything that was stored …")
	files, err := store.Scan(ctx, mask.FoundIn)
	if err != nil { // a recording that a crash has torn, for one
		a.say("warning: not everything could be searched for keys: " + mask.String(err.Error()))
	}
	if len(files) == 0 {
		return nil
	}
	return hinted(fmt.Errorf("a key of the provider stands in: %s", mask.String(strings.Join(files, ", "))),
		"do not publish this run before these files are cleaned, and take the key out of use")
}
