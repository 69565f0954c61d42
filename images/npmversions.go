package images

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	maxVersions  = 64 << 20 // bytes of a registry's list of a package's versions
	nearVersions = 6        // named in an error
)

// noVersion says that the registry lacks a version, and which near it there are.
func (r *registry) noVersion(ctx context.Context, p Package, version string) error {
	e := &Error{What: fmt.Sprintf("the registry has no version %s of %s", version, p.Name)}
	list, err := r.versions(ctx, p)
	switch {
	case errors.Is(err, errNotThere):
		e.What, e.Hint = fmt.Sprintf("the registry has no package %s", p.Name), "check the name"
	case err != nil:
		return errors.Join(e, err)
	case len(list) > 0:
		e.Hint = "near it there are " + strings.Join(near(list, version), ", ")
	}
	return e
}

// versions returns the versions that the registry has of a package.
func (r *registry) versions(ctx context.Context, p Package) ([]string, error) {
	var text strings.Builder
	if err := r.get(ctx, r.base+"/"+p.Name, maxVersions, &text); err != nil {
		return nil, err
	}
	var meta struct {
		Versions map[string]struct{} `json:"versions"`
	}
	if err := json.Unmarshal([]byte(text.String()), &meta); err != nil {
		return nil, fmt.Errorf("reading the registry's list of versions of %s: %w", p.Name, err)
	}
	var list []string
	for v := range meta.Versions {
		if v, ok := strings.CutSuffix(v, p.Suffix); ok {
			list = append(list, v)
		}
	}
	return list, nil
}

// near returns those versions of a list that are next to one that is not in it.
func near(list []string, version string) []string {
	list = slices.SortedFunc(slices.Values(list), compareVersions)
	at, _ := slices.BinarySearchFunc(list, version, compareVersions)
	first := max(0, min(at-nearVersions/2, len(list)-nearVersions))
	return list[first:min(len(list), first+nearVersions)]
}

// compareVersions orders versions by their numbers; a pre-release comes before
// the release.
func compareVersions(a, b string) int {
	a, preA, isPreA := strings.Cut(a, "-")
	b, preB, isPreB := strings.Cut(b, "-")
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		if c := compareNumbers(as[i], bs[i]); c != 0 {
			return c
		}
	}
	switch {
	case len(as) != len(bs):
		return cmp.Compare(len(as), len(bs))
	case isPreA != isPreB && isPreA:
		return -1
	case isPreA != isPreB:
		return 1
	}
	return cmp.Compare(preA, preB)
}

func compareNumbers(a, b string) int {
	m, errA := strconv.Atoi(a)
	n, errB := strconv.Atoi(b)
	if errA != nil || errB != nil {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(m, n)
}
