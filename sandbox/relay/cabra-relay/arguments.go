//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// arguments are the options of one command: every option has a value, and the
// first word that is none, or everything after "--", is left for the command.
type arguments struct {
	numbers map[string]*int64
	lists   map[string]*[]string
}

// parse fills the options and returns the words that are left.
func (a arguments) parse(args []string) ([]string, error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name := args[0]
		if name == "--" {
			return args[1:], nil
		}
		if len(args) < 2 {
			return nil, fmt.Errorf("%w: option %s needs a value", errUsage, name)
		}
		if err := a.set(name, args[1]); err != nil {
			return nil, err
		}
		args = args[2:]
	}
	return args, nil
}

func (a arguments) set(name, value string) error {
	if list := a.lists[name]; list != nil {
		*list = append(*list, value)
		return nil
	}
	number := a.numbers[name]
	if number == nil {
		return fmt.Errorf("%w: unknown option %s", errUsage, name)
	}
	v, err := strconv.ParseInt(value, 10, 64)
	if err != nil || v < 0 {
		return fmt.Errorf("%w: %s %q is not a number", errUsage, name, value)
	}
	*number = v
	return nil
}

// one returns the only word of words.
func one(words []string, what string) (string, error) {
	if len(words) != 1 {
		return "", fmt.Errorf("%w: one %s is needed", errUsage, what)
	}
	return words[0], nil
}

// none refuses words.
func none(words []string) error {
	if len(words) != 0 {
		return fmt.Errorf("%w: unexpected %q", errUsage, words[0])
	}
	return nil
}
