package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
)

// maxSweepFile bounds what is read of a sweep file.
const maxSweepFile = 1 << 20

// notInFile are flags that say nothing in a sweep file.
var notInFile = []string{"sweep", "help", "version", "dry-run"}

// readSweepFile gives the flags the values of a TOML file whose keys are their
// names. Flags that were given on the command line stay as they are.
func readSweepFile(name string, flags *pflag.FlagSet) error {
	values, err := parseSweepFile(name)
	if err != nil {
		return err
	}
	var keys []string
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys) // so that of several mistakes always the same is told
	for _, key := range keys {
		f := flags.Lookup(key)
		if f == nil || slices.Contains(notInFile, key) {
			return usagef("sweep file %q: there is no setting %q; what there is are the flags of a new run (cabra-run --help), without their dashes", name, key)
		}
		if f.Changed {
			continue
		}
		for _, text := range flagTexts(values[key]) {
			if err := flags.Set(key, text); err != nil {
				return usagef("sweep file %q: %s: %w", name, key, err)
			}
		}
	}
	return nil
}

func parseSweepFile(name string) (map[string]any, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, &codedError{err: fmt.Errorf("sweep file: %w", err), code: exitUsage}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSweepFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("sweep file %q: %w", name, err)
	case len(text) > maxSweepFile:
		return nil, usagef("sweep file %q: longer than %d bytes", name, maxSweepFile)
	}
	values := map[string]any{}
	if err := toml.Unmarshal(text, &values); err != nil {
		return nil, usagef("sweep file %q: %w", name, err)
	}
	return values, nil
}

// flagTexts are the texts that a value is set by: one, or one for each element
// of a list. Commas within an element are part of it.
func flagTexts(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return []string{fmt.Sprint(v)}
	}
	var texts []string
	for _, e := range list {
		text := fmt.Sprint(e)
		if strings.ContainsAny(text, ",\"\n") {
			text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		texts = append(texts, text)
	}
	return texts
}
