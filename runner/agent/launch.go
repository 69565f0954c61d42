package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What the kernel takes: one argument or variable has at most 128 KiB with its
// closing zero, and all together at most a quarter of the stack.
const (
	maxArgument  = 128<<10 - 1
	maxArguments = 2 << 20
)

// baseEnv is what every CLI finds in its environment.
func baseEnv(home string) map[string]string {
	return map[string]string{
		"HOME": home, "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb",
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}
}

// launch fills the definition in for a job.
func (d *definition) launch(j Job) (Launch, error) {
	if err := d.checkJob(j); err != nil {
		return Launch{}, err
	}
	vals := values(j)
	env, files := baseEnv(j.Home), map[string]string{}
	put := func(into, from map[string]string) {
		for k, v := range from {
			into[k] = expand(v, vals)
		}
	}
	put(env, d.Env)
	put(files, d.Files)
	var options []string
	for _, w := range d.When {
		if w.holds(j) {
			options = append(options, w.Args...)
			put(env, w.Env)
			put(files, w.Files)
		}
	}
	l := Launch{Files: files, Signal: d.Signal, Sessions: d.Sessions}
	for _, arg := range withOptions(d.Command, options) {
		l.Args = append(l.Args, expand(arg, vals))
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		l.Env = append(l.Env, name+"="+env[name])
	}
	switch d.Prompt {
	case byStdin:
		l.Stdin = j.Prompt
	case byFile:
		l.Files[promptFile] = j.Prompt
	}
	return l, checkSizes(l)
}

// withOptions puts the arguments of the whens where the command wants them.
func withOptions(command, options []string) []string {
	at := slices.Index(command, optionsMark)
	if at < 0 {
		return slices.Concat(command, options)
	}
	return slices.Concat(command[:at], options, command[at+1:])
}

// checkJob refuses what this CLI cannot be told.
func (d *definition) checkJob(j Job) error {
	switch {
	case j.Root == "" || j.BaseURL == "" || j.SessionID == "" || j.Home == "" || j.Workspace == "":
		return fmt.Errorf("address, session id, home and workspace are needed")
	case len(d.Wires) > 0 && !slices.Contains(d.Wires, j.Wire):
		return fmt.Errorf("it does not speak the wire format %q; it speaks: %s", j.Wire, strings.Join(d.Wires, ", "))
	case j.Wire == WireLogin && (j.Login.Proxy == "" || j.Login.Token == ""):
		return fmt.Errorf("the address of the proxy and a token are needed")
	case j.Effort != "" && !d.takesEffort():
		return fmt.Errorf("it cannot be told a reasoning effort")
	case j.Effort != "" && len(d.Efforts) > 0 && !slices.Contains(d.Efforts, j.Effort):
		return fmt.Errorf("it knows no effort %q; there is: %s", j.Effort, strings.Join(d.Efforts, ", "))
	}
	if len(d.Wires) > 0 {
		if err := d.checkModel(j.Model); err != nil {
			return err
		}
	}
	return d.checkPrompt(j.Prompt)
}

func (d *definition) takesEffort() bool {
	return slices.ContainsFunc(d.When, func(w when) bool { return w.Is == whenEffort })
}

// maxModel is the longest model name, in bytes.
const maxModel = 200

// CheckModel refuses a model name that no agent can be told. Anything that can
// be printed in one line may be one: names travel as one argument or quoted.
func CheckModel(name string) error {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	switch {
	case name == "":
		return fmt.Errorf("a model name is needed")
	case len(name) > maxModel:
		return fmt.Errorf("a model name of %d bytes; at most %d", len(name), maxModel)
	case strings.ContainsFunc(name, odd) || strings.TrimSpace(name) != name:
		return fmt.Errorf("model name %q holds characters that cannot be printed, or begins or ends in a space", name)
	case strings.HasPrefix(name, "-"):
		return fmt.Errorf("model name %q would be taken for an option", name)
	}
	return nil
}

func (d *definition) checkModel(name string) error {
	if err := CheckModel(name); err != nil {
		return err
	}
	if d.Models != "" && !wholePattern(d.Models).MatchString(name) {
		return fmt.Errorf("model name %q: this CLI can only be told names of the form %s", name, d.Models)
	}
	return nil
}

// checkPrompt refuses a prompt that cannot travel as an argument.
func (d *definition) checkPrompt(prompt string) error {
	if strings.ContainsRune(prompt, 0) && d.Prompt == byArgument {
		return fmt.Errorf("the prompt holds a zero byte, which no argument can")
	}
	at := slices.Index(d.Command, "{prompt}")
	if at >= 0 && strings.HasPrefix(prompt, "-") && !slices.Contains(d.Command[:at], "--") {
		return fmt.Errorf("the prompt begins with %q and would be taken for an option; "+
			`put "--" before {prompt} in the command if the CLI knows that, or choose prompt = "stdin"`, "-")
	}
	return nil
}

// checkSizes refuses what the kernel would refuse, with a reason.
func checkSizes(l Launch) error {
	sum := 0
	for i, list := range [][]string{l.Args, l.Env} {
		for _, s := range list {
			if strings.ContainsRune(s, 0) {
				return fmt.Errorf("%s holds a zero byte", [...]string{"an argument", "an environment variable"}[i])
			}
			if len(s) > maxArgument {
				return fmt.Errorf("%s of %d bytes; the system takes at most %d (a long prompt has to travel by stdin or file)",
					[...]string{"an argument", "an environment variable"}[i], len(s), maxArgument)
			}
			sum += len(s) + 9 // the zero byte and a pointer
		}
	}
	if sum > maxArguments {
		return fmt.Errorf("arguments and environment of %d bytes; the system takes at most %d", sum, maxArguments)
	}
	return nil
}
