package agent

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestGoodDefinition(t *testing.T) {
	a, err := own("good.toml", goodText(t))
	if err != nil {
		t.Fatal(err)
	}
	j := job("chat")
	j.Effort = "low"
	l, err := a.Launch(j)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/opt/good/good", "--effort=low", "--no-instructions", "--last"}; !slices.Equal(l.Args, want) {
		t.Errorf("arguments %q, want %q", l.Args, want)
	}
	want := map[string]string{
		".good/settings.json": `{"model": "m-1", "list": {"chat": "${HOME} {env:X}"}}`, "empty/": "", "wire.txt": "chat"}
	if !maps.Equal(l.Files, want) {
		t.Errorf("files %q, want %q", l.Files, want)
	}
	for _, v := range []string{"GOOD_URL=http://127.0.0.1:8017/tok/x", "GOOD_WIRE=chat", "HOME=/home/agent"} {
		if !slices.Contains(l.Env, v) {
			t.Errorf("no %s in %q", v, l.Env)
		}
	}
	if a.Recipe() != "own-good" || !a.Traits().Image.Own() || a.Traits().Success != (Success{Exit: true}) || l.Signal != "INT" {
		t.Errorf("%+v, %+v", a.Traits(), l)
	}
}

// What values hold is put in as it is: no placeholder in it is looked at.
func TestValuesAreNotExpandedAgain(t *testing.T) {
	vals := map[string]string{"model": "{home} ${x} \"q\"", "home": "/h"}
	for text, want := range map[string]string{
		"{model}|{home}": `{home} ${x} "q"|/h`, "{model:json}": `"{home} ${x} \"q\""`,
		"${model} {nope} {HOME} {} {{home}}": `${model} {nope} {HOME} {} {/h}`,
	} {
		if got := expand(text, vals); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Each mistake is told with file, line and field.
func TestBadDefinitions(t *testing.T) {
	tests := map[string]struct {
		change func(string) string
		want   []string
	}{
		"syntax":            {replaced(`prompt  = "stdin"`, `prompt  = "stdin`), []string{"bad.toml:7: "}},
		"unknown field":     {replaced(`signal   =`, `singal   =`), []string{"bad.toml:9: singal: there is no such field"}},
		"two unknown":       {replaced(`about `, `abuot `, "\nneeds", "\nneed"), []string{"bad.toml:3: abuot: ", "bad.toml:4: need: "}},
		"unknown in a when": {replaced(`args = ["--instructions"]`, `arg = ["--instructions"]`), []string{"bad.toml:38: when.arg: there is no such field"}},
		"wrong type":        {replaced(`wires   = ["chat"]`, `wires = "chat"`), []string{"bad.toml:5: wires: there is a string, but a list of texts belongs there"}},
		"wrong type of env": {replaced(`GOOD_URL = "{root}/x"`, `GOOD_URL = 7`), []string{"bad.toml:21: env.GOOD_URL: there is an integer, but a text belongs there"}},
		"name":              {replaced(`"good"`, `"Good One"`), []string{`bad.toml:1: name: "Good One"; it takes small letters`}},
		"built-in name":     {replaced(`"good"`, `"claude"`), []string{`bad.toml:1: name: "claude" is the name of a built-in agent`}},
		"version":           {replaced(`"1.0"`, `""`), []string{"bad.toml:2: version: "}},
		"no wires":          {replaced("wires   = [\"chat\"]\n", ""), []string{"bad.toml: wires: at least one", "when[2].is: \"chat\" is not among"}},
		"unknown wire":      {replaced(`["chat"]`, `["chat", "fax"]`), []string{`bad.toml:5: wires: "fax"; there is: chat, responses, messages, gemini`}},
		"signal":            {replaced(`"INT"`, `"STOP"`), []string{`bad.toml:9: signal: "STOP"; there is: TERM`}},
		"trace":             {replaced(`"none"`, `"vhs"`), []string{`bad.toml:11: trace: "vhs"; there is: none, copilot`}},
		"success":           {replaced(`["exit"]`, `["completed"]`), []string{`bad.toml:12: success: "completed" is read from the trace`}},
		"session outside":   {replaced(`".good", `, `"../x", `), []string{`bad.toml:10: sessions: "../x" is no plain path`}},
		"whole home":        {replaced(`".good", `, `".", `), []string{`bad.toml:10: sessions: "." is no plain path`}},
		"file outside":      {replaced(`"empty/" = ""`, `"/etc/x" = ""`), []string{`bad.toml:25: files./etc/x: "/etc/x" is no plain path`}},
		"folder with text":  {replaced(`"empty/" = ""`, `"empty/" = "x"`), []string{`files.empty/: a folder has no contents`}},
		"two images":        {replaced("[image]\n", "[image]\nrecipe = \"base\"\n"), []string{"bad.toml:14: image: exactly one"}},
		"copy":              {replaced(`to = "/opt/good"`, `to = "opt/../x"`), []string{`bad.toml:18: image.copy: from "tool" to "opt/../x"`}},
		"no program":        {replaced(`"/opt/good/good", `, ``), []string{"bad.toml:8: command: the first word"}},
		"relative program":  {replaced(`"/opt/good/good", `, `"good", `), []string{"bad.toml:8: command: the first word"}},
		"placeholder":       {replaced(`{root}/x`, `{rot}/x`), []string{"bad.toml:21: env.GOOD_URL: unknown placeholder {rot}; there is: {base}, {ca}, {effort}"}},
		"form":              {replaced(`{model:json}`, `{model:yaml}`), []string{"bad.toml:24: files..good/settings.json: unknown form in {model:yaml}; there is: {model:json}"}},
		"effort elsewhere":  {replaced(`{root}/x`, `{effort}`), []string{`bad.toml:21: env.GOOD_URL: {effort} belongs into a [[when]]`}},
		"condition":         {replaced(`is = "instructions"`, `is = "sunny"`), []string{`bad.toml:37: when[3].is: "sunny"; there is: effort`}},
		"prompt twice":      {replaced(`{options}`, `{prompt}`), []string{`bad.toml:8: command: {prompt} does not go with prompt = "stdin"`}},
		"prompt missing":    {replaced(`"stdin"`, `"file"`), []string{`bad.toml:8: command: prompt = "file" needs {prompt_file} in the command`}},
		"prompt in env":     {replaced(`{root}/x`, `{prompt}`), []string{`bad.toml:21: env.GOOD_URL: {prompt} belongs into the command`}},
		"shell": {replaced(`"/opt/good/good", "{options}", "--last"`, `"/bin/sh", "-ec", "good --model {model}"`),
			[]string{"bad.toml:8: command: a placeholder in a shell's script"}},
		"hosts":            {replaced(`wires   = ["chat"]`, `wires = ["chat"]`+"\n"+`hosts = ["*.example.com"]`), []string{`bad.toml:6: hosts: hosts and the wire "login" go together`}},
		"login no hosts":   {replaced(`["chat"]`, `["chat", "login"]`), []string{`hosts: hosts and the wire "login" go together`}},
		"bad host":         {replaced(`["chat"]`, `["chat", "login"]`+"\n"+`hosts = ["https://x.example.com"]`), []string{`bad.toml:6: hosts: "https://x.example.com"; it takes a host's name`}},
		"token elsewhere":  {replaced(`{root}/x`, `{token}`), []string{`bad.toml:21: env.GOOD_URL: {token} belongs into a [[when]] with is = "wire:login"`}},
		"ca elsewhere":     {replaced(`{root}/x`, `{ca}`), []string{`bad.toml:21: env.GOOD_URL: {ca} belongs into a [[when]] with is = "ca"`}},
		"variable":         {replaced(`GOOD_URL =`, `"GOOD URL" =`), []string{`env.GOOD URL: "GOOD URL"; it takes the name of a variable`}},
		"efforts for show": {replaced(`is = "effort"`, `is = "instructions"`, `={effort}`, ``), []string{"bad.toml:6: efforts: nothing tells the agent"}},
		"models":           {replaced("prompt ", "models = '('\nprompt "), []string{"bad.toml:7: models: error parsing regexp"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := own("bad.toml", tt.change(goodText(t)))
			if err == nil {
				t.Fatal("accepted")
			}
			var fe *FileError
			if !errors.As(err, &fe) {
				t.Errorf("%T is no FileError", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got\n%v\nwant\n%s", err, want)
				}
			}
		})
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "good.toml")
	if err := os.WriteFile(file, []byte(goodText(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ word, name, version, recipe, err string }{
		{"copilot", "copilot", "1.0.81", "copilot", ""},
		{"copilot@1.0.81", "copilot", "1.0.81", "copilot", ""},
		{"claude@2.1.197", "claude", "2.1.197", "claude@2.1.197", ""},
		{file, "good", "1.0", "own-good", ""},
		{"nop", "nop", "1", "base", ""},
		{"nop@2", "", "", "", "there is only version 1"},
		{"codex@", "", "", "", "a version is letters"},
		{"codex@../x", "", "", "", "reading an agent's definition"}, // a path, which does not exist
		{"codex@latest stable", "", "", "", "a version is letters"},
		{"bard", "", "", "", `no agent "bard"; there is: copilot, claude, codex`},
		{filepath.Join(dir, "none.toml"), "", "", "", "no such file"},
	}
	for _, tt := range tests {
		a, err := Find(tt.word)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q", tt.word, err, tt.err)
			}
			continue
		}
		if err != nil || a.Name() != tt.name || a.Version() != tt.version || a.Recipe() != tt.recipe {
			t.Errorf("%s: %v, %v", tt.word, a, err)
			continue
		}
		again, err := Restore(a.Name(), a.Version(), a.Traits().Definition, a.Traits().File)
		if err != nil || !reflect.DeepEqual(again, a) {
			t.Errorf("%s restored: %v, %v", tt.word, again, err)
		}
	}
	// Files to be copied lie beside the definition.
	a, err := Find(file)
	if err != nil || a.Traits().Image.Copy[0].From != filepath.Join(dir, "tool") {
		t.Errorf("%+v, %v", a.Traits().Image, err)
	}
}

func TestBuiltIns(t *testing.T) {
	entries, err := builtIn.ReadDir("agents")
	if err != nil {
		t.Fatal(err)
	}
	if got := len(builtIns()); got != len(entries) {
		t.Errorf("%d of %d built-in definitions parse", got, len(entries))
	}
	for _, e := range entries {
		text, err := builtIn.ReadFile("agents/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		d, err := parse(e.Name(), string(text))
		if err != nil {
			t.Error(err)
			continue
		}
		if d.Name+".toml" != e.Name() || d.About == "" || d.Needs == "" || len(d.Sessions) == 0 {
			t.Errorf("%s: name %q, about %q, needs %q, sessions %q", e.Name(), d.Name, d.About, d.Needs, d.Sessions)
		}
	}
}

func TestPickWire(t *testing.T) {
	copilot, err := Find("copilot")
	if err != nil {
		t.Fatal(err)
	}
	for served, want := range map[string]string{"chat,responses": "chat", "responses,chat": "chat", "gemini,responses": "responses", "login": "login"} {
		if got, err := PickWire(copilot, strings.Split(served, ",")); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %s", served, got, err, want)
		}
	}
	_, err = PickWire(copilot, []string{"messages"})
	if err == nil || !strings.Contains(err.Error(), "copilot speaks chat, responses, login, but the model's provider serves messages") {
		t.Errorf("got %v", err)
	}
	if got, err := PickWire(nop{}, nil); got != "" || err != nil {
		t.Errorf("nop: %q, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/good.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("[[when]]\n[[when]]\nis.x = {a = {b = 1}}\n")
	f.Add("files = {\"a\" = '{model:json}'}\ncommand = ['/x']")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse("f.toml", text)
		if err != nil {
			var fe *FileError
			if !errors.As(err, &fe) || fe.File != "f.toml" {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for _, wire := range d.Wires { // what parses can be filled in, or is refused with a reason
			_, _ = d.launch(job(wire))
		}
	})
}
