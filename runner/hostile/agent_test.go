package hostile

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"cabra-run/runner/agent"
)

// file is an agent's definition: that of testdata/agent.toml with a name of its
// own and a program out of testdata/programs.
type file struct {
	name    string
	program string // without ".py"
	args    []string
	set     map[string]any // further fields of the definition
}

// load writes the definition and loads it as a user's own agent is loaded.
func (f file) load(t *testing.T, r *rig) agent.Agent {
	t.Helper()
	d := map[string]any{}
	if err := toml.Unmarshal(read(t, "testdata/agent.toml"), &d); err != nil {
		t.Fatal(err)
	}
	d["name"] = f.name
	d["command"] = append([]string{"/usr/bin/python3", "{home}/attack.py", "{base}", "{model}"}, f.args...)
	d["files"] = map[string]string{
		"attack.py":  string(read(t, filepath.Join("testdata", "programs", f.program+".py"))),
		"hostile.py": string(read(t, "testdata/programs/hostile.py")),
	}
	env := d["env"].(map[string]any)
	for k, v := range r.environment(t) {
		env[k] = v
	}
	maps.Copy(d, f.set)
	text, err := toml.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.dir, f.name+".toml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ag, err := agent.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return ag
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
