package images

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOwnRecipeRefuses(t *testing.T) {
	b := testBuilder(t, Options{})
	for name, c := range map[string]Custom{
		"name":              {Name: "My Agent"},
		"no such base":      {Name: "mine", Base: "nobody"},
		"scorer":            {Name: "mine", Base: "scorer"},
		"existing and more": {Name: "mine", Existing: "x:1", Apt: []string{"jq"}},
		"apt option":        {Name: "mine", Apt: []string{"-oDir=/"}},
		"apt two":           {Name: "mine", Apt: []string{"jq curl"}},
		"npm without":       {Name: "mine", Npm: []string{"semver"}},
		"npm address":       {Name: "mine", Npm: []string{"https://x/y.tgz"}},
		"npm shell":         {Name: "mine", Npm: []string{"semver@1.0.0;id"}},
		"pip option":        {Name: "mine", Pip: []string{"--index-url=http://x"}},
		"pip loose":         {Name: "mine", Pip: []string{"six>=1"}},
		"pip lines":         {Name: "mine", Pip: []string{"six==1.0\n-e ."}},
		"copy relative":     {Name: "mine", Copy: []Copy{{From: ".", To: "opt/x"}}},
		"copy twisted":      {Name: "mine", Copy: []Copy{{From: ".", To: "/opt/../etc"}}},
		"copy to all":       {Name: "mine", Copy: []Copy{{From: ".", To: "/"}}},
		"copy to workspace": {Name: "mine", Copy: []Copy{{From: ".", To: "/workspace/x"}}},
		"copy over relay":   {Name: "mine", Copy: []Copy{{From: ".", To: "/opt/cabra/relay"}}},
	} {
		if _, err := b.ownTarget(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, c := range []Custom{
		{Name: "mine"}, {Name: "mine", Base: "pi@0.70.6", Run: []string{"true"}}, {Name: "mine", Existing: "sha256:1"},
		{Name: "mine", Apt: []string{"libstdc++6=12.2.0-14"}, Npm: []string{"@x/y@1.0.0-rc.1"}, Pip: []string{"a[b,c]==1.0.post1"}},
	} {
		if _, err := b.ownTarget(c); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestOwnChain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	b := testBuilder(t, Options{})
	if _, err := RelayBinary(b.arch); err != nil {
		t.Skip("built without the relay: make build")
	}
	chain := func(c Custom) []layer {
		t.Helper()
		c.Name = "mine"
		own, err := b.ownTarget(c)
		if err != nil {
			t.Fatal(err)
		}
		l, err := b.chain(own, origin{kind: BasePull})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	base, err := b.chain(imageTarget(t, "base"), origin{kind: BasePull})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, c := range []struct {
		name   string
		recipe Custom
		layers int
	}{
		{"run", Custom{Run: []string{"true"}}, 3}, {"other run", Custom{Run: []string{"false"}}, 3},
		{"apt", Custom{Apt: []string{"jq"}}, 3}, {"pip", Custom{Pip: []string{"six==1.17.0"}}, 3},
		{"npm brings node", Custom{Npm: []string{"semver@7.7.2"}}, 4},
		{"npm on pi", Custom{Base: "pi", Npm: []string{"semver@7.7.2"}}, 5},
		{"on another pi", Custom{Base: "pi@0.70.6", Npm: []string{"semver@7.7.2"}}, 5},
		{"copy", Custom{Copy: []Copy{{From: dir, To: "/opt/x"}}}, 3},
		{"copy elsewhere", Custom{Copy: []Copy{{From: dir, To: "/opt/y"}}}, 3},
	} {
		l := chain(c.recipe)
		if len(l) != c.layers || l[0].digest != base[0].digest {
			t.Errorf("%s: %d layers, want %d on the agents' system", c.name, len(l), c.layers)
		}
		if other := seen[l[len(l)-1].digest]; other != "" {
			t.Errorf("%s has the digest of %s", c.name, other)
		}
		seen[l[len(l)-1].digest] = c.name
	}
	write("two")
	if l := chain(Custom{Copy: []Copy{{From: dir, To: "/opt/x"}}}); seen[l[len(l)-1].digest] != "" {
		t.Error("a changed file does not change the digest")
	}
}

func TestCopies(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"sub/tool": 0o700, "data": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	c, err := readCopies([]Copy{{From: dir, To: "/opt/x"}, {From: filepath.Join(dir, "data"), To: "/etc/other"}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.write(&out); err != nil {
		t.Fatal(err)
	}
	got := readTar(t, &out)
	for name, mode := range map[string]int64{"opt/x/sub/tool": 0o755, "opt/x/data": 0o644, "etc/other": 0o644, "opt/x/sub/": 0o755} {
		if f, ok := got[name]; !ok || f.h.Mode != mode || f.h.Uid != 0 {
			t.Errorf("%s: %+v", name, f.h)
		}
	}
	if got["etc/other"].body != "data" {
		t.Errorf("/etc/other holds %q", got["etc/other"].body)
	}
	if err := os.WriteFile(filepath.Join(dir, "data"), []byte("datb"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.write(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a file that changed: %v", err)
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := readCopies([]Copy{{From: dir, To: "/opt/x"}}); !errors.As(err, &e) || !strings.Contains(err.Error(), "link is neither a file nor a folder") {
		t.Errorf("a link: %v", err)
	}
}

func TestWithAccounts(t *testing.T) {
	got := withAccounts("root:x:0:0::/root:/bin/sh\nagent0:x:5:5::/:/bin/sh", "agent0:x:1:1::\nagent1:x:2:2::\n")
	if want := "root:x:0:0::/root:/bin/sh\nagent0:x:5:5::/:/bin/sh\nagent1:x:2:2::\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
