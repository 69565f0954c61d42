package main

import (
	"errors"
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
	if _, both := values["repeat"]; both && values["repetitions"] != nil {
		return usagef("sweep file %q: repeat and repetitions are the same setting: leave one out", name)
	}
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { given[f.Name] = true })
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
		if given[f.Name] {
			continue
		}
		if err := setFromFile(flags, f, values[key]); err != nil {
			return usagef("sweep file %q: %s: %w", name, key, err)
		}
	}
	return nil
}

// setFromFile gives a flag a value of the file. A list is for flags that take
// several values, and for the grid, whose parts are joined by commas.
func setFromFile(flags *pflag.FlagSet, f *pflag.Flag, v any) error {
	switch list, isList := v.([]any); {
	case isTable(v):
		return errors.New("a table is no value of a flag")
	case f.Value.Type() == "stringSlice":
		for _, text := range flagTexts(v) {
			if err := flags.Set(f.Name, text); err != nil {
				return err
			}
		}
		return nil
	case isList && f.Name == "grid":
		v = strings.Join(plainTexts(list), ",")
	case isList:
		return fmt.Errorf("takes one value, not a list of %d", len(list))
	}
	if err := flags.Set(f.Name, fmt.Sprint(v)); err != nil {
		return fmt.Errorf("%q is no %s%s", fmt.Sprint(v), kindOf(f), example(f))
	}
	return nil
}

func isTable(v any) bool {
	_, is := v.(map[string]any)
	return is
}

// kindOf says in words what a flag takes.
func kindOf(f *pflag.Flag) string {
	switch kind := f.Value.Type(); kind {
	case "int":
		return "whole number"
	case "float64":
		return "number"
	case "bool":
		return "true or false"
	default:
		return kind
	}
}

// example shows the form of a flag's values by its default.
func example(f *pflag.Flag) string {
	if f.DefValue == "" {
		return ""
	}
	return ", such as " + f.DefValue
}

func plainTexts(list []any) []string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = fmt.Sprint(e)
	}
	return texts
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
		return nil, &codedError{err: fmt.Errorf("sweep file: %w", err), code: exitUsage}
	case len(text) > maxSweepFile:
		return nil, usagef("sweep file %q: longer than %d bytes", name, maxSweepFile)
	}
	values := map[string]any{}
	if err := toml.Unmarshal(text, &values); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ := at.Position()
			return nil, usagef("sweep file %q, line %d: %w", name, line, err)
		}
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
