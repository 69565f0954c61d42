package gateway

import (
	"encoding/base64"
	"fmt"
	"path"
	"strings"
)

// maxEdits is how many turns the policy takes to edit, however large the task.
const maxEdits = 6

// turn plays the next step. Steps are counted by the turns that the model has
// had, so no state is kept between requests.
func (p *player) turn(c *conversation) *turn {
	switch {
	case c.json: // a question beside the work, of which nothing depends on the answer
		return &turn{text: "{}"}
	case len(c.tools) == 0 && c.bare != "":
		return p.bare(c.bare)
	case len(c.tools) == 0 || c.summary: // nothing is to be done, only said
		return &turn{text: "Working on " + p.script.File + " as the task says."}
	}
	steps := p.steps(c)
	if c.turns < len(steps) {
		return steps[c.turns]
	}
	switch p.behaviour.Name {
	case endless, flood, slowtool:
		return steps[len(steps)-1]
	}
	return p.finish(c)
}

// steps is the whole play; the last step is repeated where it has no end.
func (p *player) steps(c *conversation) []*turn {
	look := p.look(c)
	switch p.behaviour.Name {
	case wrong:
		return append(append(look, p.write(c, p.script.wrongText())...), p.check(c), p.finish(c))
	case untouched:
		return append(look, p.finish(c))
	case remove:
		return append(look, p.shell(c, "This file should not be here.", "rm "+p.script.File), p.finish(c))
	case endless:
		return append(look, p.again(c))
	case flood:
		return append(look, p.flood(c))
	case slowtool:
		return append(look, p.shell(c, "This takes a while.", "echo started; sleep 600"))
	}
	return append(append(look, p.write(c, p.script.Reference)...), p.check(c), p.finish(c))
}

// look reads the file, with the agent's tool for that where there is one, since
// some refuse to edit what that tool has not read; then it searches.
func (p *player) look(c *conversation) []*turn {
	first := p.shell(c, "I will read the code first.", "cat "+p.script.File)
	if tool := c.tool("Read", "read", "read_file"); tool != nil {
		if parameter := tool.first(pathParameters...); parameter != "" {
			first.call = &toolCall{name: tool.name, args: map[string]any{parameter: p.path()}}
		}
	}
	first.thought = "The task names a file. Before changing anything I should see what is in it."
	search := p.shell(c, "Now I look for the places that matter.",
		fmt.Sprintf("grep -n '%s(' %s", p.script.firstEdited(), p.script.File))
	return []*turn{first, search}
}

var pathParameters = []string{"path", "file_path", "filePath"}

func (p *player) path() string { return path.Join(p.script.Dir, p.script.File) }

// write brings the file to the text: with the agent's tool for edits or patches
// where there is one, else through the shell.
func (p *player) write(c *conversation, text string) []*turn {
	var out []*turn
	if call := p.editor(c); call != nil {
		for i, e := range edits(p.script.Starter, text, maxEdits) {
			out = append(out, &turn{text: fmt.Sprintf("Edit %d.", i+1), call: call(e)})
		}
	}
	if out == nil {
		out = p.writeByShell(c, text)
	}
	out[0].thought = "I know which functions have to change. I edit them and leave the others as they are."
	return out
}

// editor returns how an edit is made with the tools on offer, nil if it cannot.
func (p *player) editor(c *conversation) func(edit) *toolCall {
	if tool := c.tool("edit", "Edit", "replace"); tool != nil {
		return p.replacing(tool)
	}
	if tool := c.tool("apply_patch"); tool != nil && tool.free && !c.codeMode {
		return func(e edit) *toolCall { return &toolCall{name: tool.name, free: e.patch(p.script.File)} }
	}
	return nil
}

// replacing makes edits with a tool that replaces a text in a file by another.
func (p *player) replacing(tool *toolOffer) func(edit) *toolCall {
	file := tool.first(pathParameters...)
	before := tool.first("old_str", "old_string", "oldString", "oldText")
	after := tool.first("new_str", "new_string", "newString", "newText")
	several := tool.takes("edits")
	if file == "" || !several && (before == "" || after == "") {
		return nil
	}
	return func(e edit) *toolCall {
		args := map[string]any{file: p.path()}
		if several {
			args["edits"] = []map[string]string{{"oldText": e.old, "newText": e.new}}
		} else {
			args[before], args[after] = e.old, e.new
		}
		if tool.takes("instruction") {
			args["instruction"] = "Bring this part to what the task asks for."
		}
		return &toolCall{name: tool.name, args: args}
	}
}

// writeByShell writes the file in pieces that fit into one argument of a
// program (128 KiB), encoded so that no shell and no path guard reads them.
func (p *player) writeByShell(c *conversation, text string) []*turn {
	const size = 60 << 10
	mode := "wb"
	var out []*turn
	for {
		n := min(size, len(text))
		out = append(out, p.shell(c, "I write the new version.", fmt.Sprintf(
			`python3 -c "import base64; open('%s','%s').write(base64.b64decode('%s'))"`,
			p.script.File, mode, base64.StdEncoding.EncodeToString([]byte(text[:n])))))
		if text = text[n:]; text == "" {
			return out
		}
		mode = "ab"
	}
}

func (p *player) check(c *conversation) *turn {
	return p.shell(c, "Does it still parse?", fmt.Sprintf(
		`python3 -c "import ast; ast.parse(open('%s').read()); print('syntax ok')"`, p.script.File))
}

// again is the step without end of endless. It takes a moment, as real work
// would: a loop at full speed costs the host more than all else in a sweep. No
// two are alike, because agents stop by themselves that see the same call again.
func (p *player) again(c *conversation) *turn {
	return p.shell(c, fmt.Sprintf("Let me look at that once more, for the %d. time.", c.turns),
		fmt.Sprintf("sleep 0.3; wc -l %s; echo %d", p.script.File, c.turns))
}

// flood fills the workspace until a limit strikes, in files below the usual
// file-size limit. It writes 200 MB/s at most, and begins to overwrite its own
// files at 4 GiB so that a missing limit does not fill the host's disk.
func (p *player) flood(c *conversation) *turn {
	program := strings.Join([]string{
		"import itertools, time",
		"block = b'flood' * 400000",
		"for i in itertools.count():",
		"    with open('flood-%02d.bin' % (i % 32), 'wb') as f:",
		"        for _ in range(64):",
		"            f.write(block)",
		"            f.flush()",
		"            time.sleep(0.01)",
	}, "\n")
	return p.shell(c, "I generate some data to test with.", "python3 -c \""+program+"\"")
}

// shell is a turn that runs a command in the task's folder.
func (p *player) shell(c *conversation, text, command string) *turn {
	name, parameter := "bash", "command"
	args := map[string]any{}
	if tool := c.tool("bash", "Bash", "run_shell_command", "shell", "exec_command"); tool != nil {
		name = tool.name
		if tool.takes("cmd") && !tool.takes("command") {
			parameter = "cmd"
		}
		if tool.takes("description") {
			args["description"] = strings.TrimRight(text, ".?")
		}
	} else if c.codeMode {
		// Codex obeys this call though it offers the tool to programs only.
		name, parameter = "exec_command", "cmd"
	}
	args[parameter] = command
	return &turn{text: text, call: &toolCall{name: name, args: args}}
}

// submitMark is what mini-SWE-agent wants a command to print at the end; its
// prompt says so.
const submitMark = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// finish ends the work: with the tool or the command that says so where there
// is one.
func (p *player) finish(c *conversation) *turn {
	summary := "Looked at " + p.script.File + " and did what the task asks for."
	switch {
	case c.tool("task_complete") != nil:
		done := &toolCall{name: "task_complete", args: map[string]any{"summary": summary}}
		return &turn{text: "That is all.", call: done}
	case c.submits:
		return p.shell(c, summary, "echo "+submitMark)
	}
	return &turn{text: summary}
}
