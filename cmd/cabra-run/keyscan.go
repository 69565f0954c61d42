package main

import (
	"context"
	"fmt"
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
func (a *app) scanForKeys(ctx context.Context, store *results.Store, m runner.Model) error {
	up, ok := m.Upstream.(keyed)
	if !ok {
		return nil
	}
	mask := up.Mask()
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
