package images

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestTarget(t *testing.T) {
	b := testBuilder(t, Options{})
	for asked, want := range map[string]string{
		"copilot": "copilot", "copilot@1.0.81": "copilot", "copilot@1.0.80": "copilot@1.0.80", "mini@2.5.0rc1": "mini@2.5.0rc1",
	} {
		got, err := b.target(asked)
		if err != nil || got.String() != want {
			t.Errorf("%s is %s, %v; want %s", asked, got, err, want)
		}
	}
	for _, asked := range []string{"nobody", "base@1.0", "copilot@", "copilot@latest", "copilot@../x", "copilot@1.0 -f", "copilot@1.0@2"} {
		_, err := b.target(asked)
		var e *Error
		if !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%s: %v", asked, err)
		}
	}
	for asked, want := range map[string]string{"copilot": "1.0.81", "copilot@1.0.80": "1.0.80", "base": ""} {
		if got, err := b.Version(asked); got != want || err != nil {
			t.Errorf("the version of %s is %q, %v; want %q", asked, got, err, want)
		}
	}
}

// TestOtherVersion: nothing of another version is pinned, its checks expect it,
// and it shares what lies below.
func TestOtherVersion(t *testing.T) {
	b := testBuilder(t, Options{})
	if _, err := RelayBinary(b.arch); err != nil {
		t.Skip("built without the relay: make build")
	}
	usual, err := b.chain(imageTarget(t, "pi"), origin{kind: BasePull})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := b.target("pi@0.70.6")
	if err != nil {
		t.Fatal(err)
	}
	other, err := b.chain(asked, origin{kind: BasePull})
	if err != nil || len(other) != 4 || len(usual) != 4 {
		t.Fatalf("%d and %d layers, %v", len(usual), len(other), err)
	}
	if usual[1].digest != other[1].digest || usual[2].digest == other[2].digest {
		t.Error("they must share node and nothing above it")
	}
	if c := other[2].checks[0]; c.Prints != "0.70.6" {
		t.Errorf("the check expects %q", c.Prints)
	}
	tag := b.tagOf(asked, other)
	if want := "cabra-run/pi:0.70.6-" + other[3].digest[:12]; tag != want || b.nameOf(tag) != "pi@0.70.6" {
		t.Errorf("tag %s of %s, want %s", tag, b.nameOf(tag), want)
	}
	if cli := b.recipes.CLIs["pi"]; cli.Version != "0.73.1" || cli.Checks[0].Prints != "0.73.1" {
		t.Error("the recipe itself has changed")
	}
}

func TestNear(t *testing.T) {
	list := []string{"1.10.0", "1.9.0", "1.2.0", "2.0.0", "2.0.0-rc.1", "1.9.1", "1.11.0"}
	for version, want := range map[string]string{
		"1.9.5": "1.2.0 1.9.0 1.9.1 1.10.0 1.11.0 2.0.0-rc.1", "0.1": "1.2.0 1.9.0 1.9.1 1.10.0 1.11.0 2.0.0-rc.1",
		"9.0.0": "1.9.0 1.9.1 1.10.0 1.11.0 2.0.0-rc.1 2.0.0",
	} {
		if got := strings.Join(near(list, version), " "); got != want {
			t.Errorf("near %s: %s, want %s", version, got, want)
		}
	}
	if got := near([]string{"1.0.0"}, "2"); !slices.Equal(got, []string{"1.0.0"}) {
		t.Errorf("near 2: %v", got)
	}
}

// versionServer is a registry of both kinds with a few versions.
func versionServer(t *testing.T) *registry {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /@x/cli", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"versions":{"1.0.0":{},"1.0.0-linux-x64":{},"1.1.0-linux-x64":{}}}`)
	})
	mux.HandleFunc("GET /snake/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != "application/vnd.pypi.simple.v1+json" {
			http.Error(w, "what?", http.StatusNotAcceptable)
		}
		fmt.Fprint(w, `{"versions":["2.0","2.1"]}`)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	reg, err := newRegistry(srv.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestMissingVersions(t *testing.T) {
	ctx, reg := context.Background(), versionServer(t)
	npm := func(p Package) error { _, err := reg.integrity(ctx, p, "9.9.9"); return err }
	for name, c := range map[string]struct {
		err        error
		what, hint string
	}{
		"npm":          {npm(Package{Name: "@x/cli", Suffix: "-linux-x64"}), "the registry has no version 9.9.9 of @x/cli", "near it there are 1.0.0, 1.1.0"},
		"npm, no such": {npm(Package{Name: "@x/other"}), "the registry has no package @x/other", "check the name"},
		"pip":          {reg.publishedPython(ctx, "snake", "3.0"), "the index of Python packages has no version 3.0 of snake", "near it there are 2.0, 2.1"},
		"pip, no such": {reg.publishedPython(ctx, "cobra", "3.0"), "the index of Python packages has no cobra", "check the name"},
	} {
		var e *Error
		if !errors.As(c.err, &e) || e.What != c.what || e.Hint != c.hint {
			t.Errorf("%s: %v, %+v", name, c.err, e)
		}
	}
	if err := reg.publishedPython(ctx, "snake", "2.1"); err != nil {
		t.Errorf("a version that is there: %v", err)
	}
}

func TestPipIndex(t *testing.T) {
	conf := writeFile(t, "[global]\ncert = /x.pem\nindex-url = https://mirror.example/simple\n")
	for want, env := range map[string]map[string]string{
		"https://env.example/simple":    {"PIP_INDEX_URL": "https://env.example/simple", "PIP_CONFIG_FILE": conf},
		"https://mirror.example/simple": {"PIP_CONFIG_FILE": conf},
	} {
		if got := pipIndex(func(name string) string { return env[name] }); got != want {
			t.Errorf("index %s, want %s", got, want)
		}
	}
}

func TestExports(t *testing.T) {
	if got, want := exports([]string{"a=it's $HOME", "b="}), "export a='it'\\''s $HOME'\nexport b=''\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
