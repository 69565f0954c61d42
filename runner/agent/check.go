package agent

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cabra-run/results/trace"
)

// checker collects what is wrong in a definition.
type checker struct {
	file  string
	lines map[string]int
	errs  []error
}

// wrong notes an error at a field, or at the nearest one around it that is in
// the file.
func (c *checker) wrong(field, format string, args ...any) {
	at := field
	for c.lines[at] == 0 && strings.ContainsAny(at, ".[") {
		at = at[:strings.LastIndexAny(at, ".[")]
	}
	c.errs = append(c.errs, &FileError{File: c.file, Line: c.lines[at], Field: field, Why: fmt.Sprintf(format, args...)})
}

// oneOf checks a word against a list.
func (c *checker) oneOf(field, word string, list []string) {
	if !slices.Contains(list, word) {
		c.wrong(field, "%q; there is: %s", word, strings.Join(list, ", "))
	}
}

func (c *checker) definition(d *definition) {
	c.form("name", d.Name, nameForm, "small letters, digits and -, at most 32")
	c.form("version", d.Version, versionForm, "letters, digits and . + _ -, at most 64")
	c.image(d.Image)
	for _, w := range d.Wires {
		c.oneOf("wires", w, allWires)
	}
	if len(d.Wires) == 0 {
		c.wrong("wires", "at least one of %s is needed", strings.Join(allWires, ", "))
	}
	c.hosts(d)
	if _, err := regexp.Compile(d.Models); err != nil {
		c.wrong("models", "%v", err)
	}
	c.oneOf("signal", d.Signal, signals)
	c.oneOf("trace", d.Trace, append([]string{noTrace}, trace.Formats()...))
	for _, s := range d.Success {
		c.oneOf("success", s, allSigns)
	}
	if d.Trace == noTrace && slices.Contains(d.Success, "completed") {
		c.wrong("success", `"completed" is read from the trace, and trace is "none"; there is: exit`)
	}
	for _, s := range d.Sessions {
		c.below("sessions", s)
	}
	c.prompt(d)
	c.parts(d)
}

// hosts checks the hosts of the agent's maker.
func (c *checker) hosts(d *definition) {
	login := slices.Contains(d.Wires, WireLogin)
	for _, h := range d.Hosts {
		c.form("hosts", h, hostForm, `a host's name, in which a part may be "*"`)
	}
	if login != (len(d.Hosts) > 0) {
		c.wrong("hosts", `hosts and the wire "login" go together`)
	}
}

// form checks a text against a pattern.
func (c *checker) form(field, text string, form *regexp.Regexp, words string) {
	if !form.MatchString(text) {
		c.wrong(field, "%q; it takes %s", text, words)
	}
}

// below checks a path that has to lie below a folder.
func (c *checker) below(field, p string) {
	if !filepath.IsLocal(p) || path.Clean(p) != strings.TrimSuffix(p, "/") || path.Clean(p) == "." {
		c.wrong(field, "%q is no plain path below the home", p)
	}
}

func (c *checker) image(i Image) {
	lines := len(i.Apt) + len(i.Npm) + len(i.Pip) + len(i.Copy) + len(i.Run)
	kinds := 0
	for _, set := range []bool{i.Recipe != "", i.Existing != "", i.Base != "" || lines > 0} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		c.wrong("image", "exactly one is needed: recipe, existing, or lines of an own recipe (base, apt, npm, pip, copy, run)")
	}
	for _, cp := range i.Copy {
		if cp.From == "" || !path.IsAbs(cp.To) || path.Clean(cp.To) != cp.To {
			c.wrong("image.copy", "from %q to %q: a path of the host and a plain absolute path of the image are needed", cp.From, cp.To)
		}
	}
}

// prompt checks that the prompt arrives, once, and only where the definition says.
func (c *checker) prompt(d *definition) {
	c.oneOf("prompt", d.Prompt, []string{byStdin, byFile, byArgument})
	want := map[string]string{byFile: "prompt_file", byArgument: "prompt"}[d.Prompt]
	found := false
	for _, arg := range d.Command {
		words, _ := placeholders(arg) // an error is reported with the command
		for _, w := range words {
			switch {
			case w == want:
				found = true
			case w == "prompt" || w == "prompt_file":
				c.wrong("command", "{%s} does not go with prompt = %q", w, d.Prompt)
			}
		}
	}
	if want != "" && !found {
		c.wrong("command", "prompt = %q needs {%s} in the command", d.Prompt, want)
	}
}

// parts checks command, environment and files, and what whens add to them.
func (c *checker) parts(d *definition) {
	if len(d.Command) == 0 || !path.IsAbs(d.Command[0]) || strings.ContainsRune(d.Command[0], '{') {
		c.wrong("command", "the first word is the program's absolute path in the image")
	}
	c.arguments("command", d.Command, byPlace{prompt: true})
	c.texts("", d.Env, d.Files, byPlace{})
	for i, w := range d.When {
		at := fmt.Sprintf("when[%d]", i+1)
		format, isWire := strings.CutPrefix(w.Is, whenWire)
		if !isWire {
			c.oneOf(at+".is", w.Is, []string{whenEffort, whenInstructions, whenNoInstructions, whenCA, whenWire + "FORMAT"})
		} else if !slices.Contains(d.Wires, format) {
			c.wrong(at+".is", "%q is not among the agent's wires", format)
		}
		place := byPlace{effort: w.Is == whenEffort, login: w.Is == whenWire+WireLogin, ca: w.Is == whenCA}
		c.arguments(at+".args", w.Args, place)
		c.texts(at, w.Env, w.Files, place)
	}
	if len(d.Efforts) > 0 && !d.takesEffort() {
		c.wrong("efforts", `nothing tells the agent the effort: a [[when]] with is = "effort" is needed`)
	}
}

// byPlace says which placeholders a place may have beside those for all.
type byPlace struct{ prompt, effort, login, ca bool }

func (c *checker) arguments(field string, args []string, place byPlace) {
	for i, arg := range args {
		words := c.placeholders(field, arg, place)
		if len(words) > 0 && i > 0 && shellFlag.MatchString(args[i-1]) && isShell(args) {
			c.wrong(field, "a placeholder in a shell's script would be run as one; "+
				`hand it over behind the script and say "$1" there`)
		}
	}
}

var shellFlag = regexp.MustCompile(`^-[a-z]*c$`)

// isShell reports whether a word of a command is a shell.
func isShell(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh"}, path.Base(a))
	})
}

// texts checks environment variables and files.
func (c *checker) texts(at string, env, files map[string]string, place byPlace) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		field := join(at, "env."+name)
		c.form(field, name, envForm, "the name of a variable")
		c.placeholders(field, env[name], place)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		field := join(at, "files."+name)
		c.below(field, name)
		c.placeholders(field, files[name], place)
		if strings.HasSuffix(name, "/") && files[name] != "" {
			c.wrong(field, "a folder has no contents")
		}
		if name == promptFile {
			c.wrong(field, "is where the prompt goes")
		}
	}
}

// placeholders checks those of a text and returns them.
func (c *checker) placeholders(field, text string, place byPlace) []string {
	words, err := placeholders(text)
	if err != nil {
		c.wrong(field, "%v", err)
	}
	for _, w := range words {
		switch {
		case (w == "prompt" || w == "prompt_file") && !place.prompt:
			c.wrong(field, "{%s} belongs into the command", w)
		case w == "effort" && !place.effort:
			c.wrong(field, `{effort} belongs into a [[when]] with is = "effort"`)
		case (w == "proxy" || w == "token") && !place.login:
			c.wrong(field, `{%s} belongs into a [[when]] with is = "wire:login"`, w)
		case w == "ca" && !place.ca:
			c.wrong(field, `{ca} belongs into a [[when]] with is = "ca"`)
		}
	}
	return words
}

// wholePattern matches a whole text; the pattern compiles, which was checked.
func wholePattern(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + pattern + `)$`)
}
