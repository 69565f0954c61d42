package images

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lockText is a lock with one package of each sort.
const lockText = `{"lockfileVersion":3,"packages":{
"node_modules/a":{"version":"1.0.0","integrity":"INT"},
"node_modules/a/node_modules/@s/b":{"version":"2.0.0","integrity":"INT"},
"node_modules/alias":{"name":"real","version":"3.0.0","integrity":"INT"},
"node_modules/builds":{"version":"1.0.0","integrity":"INT","optional":true,"hasInstallScript":true},
"node_modules/needed":{"version":"1.0.0","integrity":"INT","hasInstallScript":true},
"node_modules/bundled":{"version":"1.0.0","inBundle":true},
"node_modules/x64":{"version":"1.0.0","integrity":"INT","optional":true,"os":["linux"],"cpu":["x64"],"libc":["glibc"]},
"node_modules/musl":{"version":"1.0.0","integrity":"INT","optional":true,"os":["linux"],"cpu":["x64"],"libc":["musl"]},
"node_modules/arm":{"version":"1.0.0","integrity":"INT","optional":true,"os":["linux"],"cpu":["arm64"]},
"node_modules/mac":{"version":"1.0.0","integrity":"INT","optional":true,"os":["darwin"]},
"node_modules/notwin":{"version":"1.0.0","integrity":"INT","os":["!win32"]},
"node_modules/notlinux":{"version":"1.0.0","integrity":"INT","os":["!linux"]}}}`

func TestNpmLockWanted(t *testing.T) {
	lock, err := parseNpmLock(strings.ReplaceAll(lockText, "INT", sri([]byte("x"))))
	if err != nil {
		t.Fatal(err)
	}
	common := []string{"a@1.0.0", "@s/b@2.0.0", "real@3.0.0", "needed@1.0.0", "notwin@1.0.0"}
	for arch, extra := range map[string]string{"amd64": "x64@1.0.0", "arm64": "arm@1.0.0"} {
		var got []string
		for _, p := range lock.wanted(arch) {
			got = append(got, p.Name+"@"+p.version)
		}
		want := append(slices.Clone(common), extra)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", arch, got, want)
		}
	}
	if p := lock.wanted("amd64")[1]; p.path != "node_modules/a/node_modules/@s/b" {
		t.Errorf("the second package goes to %s", p.path)
	}
}

func TestParseNpmLockRefuses(t *testing.T) {
	good := sri([]byte("x"))
	for name, text := range map[string]string{
		"not JSON":     `{`,
		"version":      `{"lockfileVersion":2}`,
		"outside":      `{"lockfileVersion":3,"packages":{"node_modules/../../x":{"integrity":"` + good + `"}}}`,
		"elsewhere":    `{"lockfileVersion":3,"packages":{"packages/x":{"integrity":"` + good + `"}}}`,
		"no integrity": `{"lockfileVersion":3,"packages":{"node_modules/x":{"version":"1.0.0"}}}`,
		"weak sum":     `{"lockfileVersion":3,"packages":{"node_modules/x":{"integrity":"sha1-AAAA"}}}`,
	} {
		if _, err := parseNpmLock(text); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestEmbeddedPins: what the program brings names no address, and has the
// versions that the recipes tell.
func TestEmbeddedPins(t *testing.T) {
	r, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for name, cli := range r.CLIs {
		var text string
		switch {
		case cli.Npm != "":
			lock, err := npmLockOf(name)
			if err != nil {
				t.Fatal(err)
			}
			if v := lock.Packages["node_modules/"+cli.Npm].Version; v != cli.Version {
				t.Errorf("the lock of %s has version %q, the recipe %s", name, v, cli.Version)
			}
			data, err := pinnedFiles.ReadFile("recipes/" + name + ".lock.json")
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		case cli.Pip != "":
			if text, err = requirementsOf(name); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text, "\n"+cli.Pip+"=="+cli.Version+" \\\n    --hash=sha256:") {
				t.Errorf("the requirements of %s do not pin %s %s", name, cli.Pip, cli.Version)
			}
		default:
			if _, err := decodeIntegrity(cli.Packages["amd64"].Integrity); err != nil {
				t.Errorf("%s is not pinned: %v", name, err)
			}
		}
		if strings.Contains(text, "://") {
			t.Errorf("the pins of %s hold an address", name)
		}
	}
}

func TestWriteTree(t *testing.T) {
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "0"), filepath.Join(dir, "1")}
	for i, entries := range [][]entry{
		{{name: "package/index.js", body: "js"}, {name: "package/index.js.map", body: "map"}, {name: "package/./lib/x.js", body: "x"}},
		{{name: "some-folder/y.js", body: "old"}, {name: "some-folder/y.js", body: "new"}},
	} {
		if err := os.WriteFile(files[i], gzipped(t, makeTar(t, entries...)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := []placedPackage{{path: "node_modules/a"}, {path: "node_modules/a/node_modules/b"}}
	cli := CLI{Dir: "/opt/x", Drop: []string{"*.map"}, Files: map[string]string{"settings.json": "{}"}}
	var out bytes.Buffer
	if err := writeTree(&out, cli, list, files); err != nil {
		t.Fatal(err)
	}
	got := readTar(t, &out)
	for name, body := range map[string]string{
		"opt/x/node_modules/a/index.js": "js", "opt/x/node_modules/a/lib/x.js": "x",
		"opt/x/node_modules/a/node_modules/b/y.js": "new", "opt/x/settings.json": "{}",
	} {
		if got[name].body != body {
			t.Errorf("%s holds %q, want %q", name, got[name].body, body)
		}
	}
	if _, ok := got["opt/x/node_modules/a/index.js.map"]; ok {
		t.Error("a file that is left out is there")
	}
}

func TestPlace(t *testing.T) {
	p := part{dir: "/opt/codex", strip: "vendor/linux", keep: []string{"bin"}}
	for rel, want := range map[string]string{
		"vendor/linux/bin/codex": "opt/codex/bin/codex", "vendor/linux/bin": "opt/codex/bin",
		"vendor/linux/rg/rg": "", "vendor/linuxes/bin/codex": "", "package.json": "",
	} {
		got, ok := p.place(rel)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s goes to %q (%v), want %q", rel, got, ok, want)
		}
	}
}
