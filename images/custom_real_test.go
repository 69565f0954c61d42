package images_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/google/uuid"

	"cabra-run/images"
)

// ownBuilder returns a Builder with the program's recipes, and a name for an own
// image whose tags are removed when the test ends.
func ownBuilder(t *testing.T) (*images.Builder, string) {
	t.Helper()
	if os.Getenv("CABRA_TEST_REAL") != "1" {
		t.Skip("needs a real engine: set CABRA_TEST_REAL=1")
	}
	b, err := images.New(images.Options{Log: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	name := "test-" + uuid.NewString()[:8]
	t.Cleanup(func() {
		list, err := b.List(context.Background())
		for _, img := range list {
			if img.Name == "own-"+name {
				removeTags(t, img)
			}
		}
		if err := errors.Join(err, b.Close()); err != nil {
			t.Error(err)
		}
	})
	return b, name
}

// removeTags removes an image's own tag, and those of the layers that it alone has.
func removeTags(t *testing.T, img images.Image) {
	t.Helper()
	ctx, api := engine(t)
	info, err := api.ImageInspect(ctx, img.ID)
	if err != nil {
		t.Fatal(err)
	}
	below, err := api.ImageInspect(ctx, info.Parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range slices.Concat(info.RepoTags, below.RepoTags) {
		if _, err := api.ImageRemove(ctx, tag, image.RemoveOptions{PruneChildren: true}); err != nil {
			t.Error(err)
		}
	}
}

func mustOwn(t *testing.T, b *images.Builder, c images.Custom) images.Image {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	img, err := b.EnsureRecipe(ctx, c)
	var e *images.Error
	if errors.As(err, &e) {
		t.Fatalf("%v\n%s\n%s", err, e.Hint, e.Log)
	}
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestRealOwnRecipe builds an image with every kind of step, and runs what they
// have installed as a guest.
func TestRealOwnRecipe(t *testing.T) {
	b, name := ownBuilder(t)
	dir := t.TempDir()
	for file, mode := range map[string]os.FileMode{"agent.sh": 0o700, "sub/data.txt": 0o600} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte("#!/bin/sh\necho 'it'\\''s mine'\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	recipe := images.Custom{
		Name: name, Apt: []string{"hello"}, Npm: []string{"semver@7.7.2"}, Pip: []string{"six==1.17.0"},
		Copy: []images.Copy{{From: dir, To: "/opt/tools"}},
		Run:  []string{"echo made > /opt/made", `test "$(id -u)" = 0`},
	}
	img := mustOwn(t, b, recipe)
	if img.Name != "own-"+name || !img.Current {
		t.Errorf("image %+v", img)
	}
	for want, args := range map[string][]string{
		"Hello, world!\n": {"hello"},
		"2.0.0\n":         {"/opt/node/bin/node", "/opt/" + name + "/node_modules/semver/bin/semver.js", "-i", "major", "1.2.3"},
		"1.17.0\n":        {"/opt/" + name + "/bin/python3", "-c", "import six; print(six.__version__)"},
		"it's mine\n":     {"/opt/tools/agent.sh"},
		"made\n":          {"cat", "/opt/made"},
		"644 0 0\n":       {"stat", "-c", "%a %u %g", "/opt/tools/sub/data.txt"},
	} {
		if got, code := guestRun(t, img.ID, "20007", args...); got != want || code != 0 {
			t.Errorf("%q prints %q with code %d, want %q", args, got, code, want)
		}
	}
	for _, p := range []string{"apt:hello", "npm:semver=7.7.2", "pip:six=1.17.0"} {
		if !strings.Contains(" "+strings.Join(img.Packages, " ")+" ", " "+p+" ") {
			t.Errorf("%s is not among the packages", p)
		}
	}
	checkNoTraces(t, img)
	if again := mustOwn(t, b, recipe); again.ID != img.ID {
		t.Error("the same recipe is built twice")
	}
	list, err := b.List(context.Background())
	if err != nil || !slices.ContainsFunc(list, func(i images.Image) bool { return i.ID == img.ID && i.Current }) {
		t.Errorf("pruning would take an own image with this program's relay: %v", err)
	}
}

// checkNoTraces looks for what a build works with and an image must not hold.
func checkNoTraces(t *testing.T, img images.Image) {
	t.Helper()
	ctx, api := engine(t)
	info, err := api.ImageInspect(ctx, img.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Config.Env) != 2 || info.Config.User != "10000:10000" || len(info.Config.Volumes) != 0 || len(info.Config.Entrypoint) != 0 {
		t.Errorf("the image's settings are %+v", info.Config)
	}
	c := read(t, img.ID)
	for name := range c.headers {
		if strings.HasSuffix(name, "/node_modules/.package-lock.json") {
			t.Errorf("%s names a registry", name)
		}
		if strings.HasPrefix(name, "tmp/cabra-build/") || strings.HasPrefix(name, "var/lib/apt/lists/") {
			t.Errorf("%s is left of the build", name)
		}
	}
	if len(c.foreign) > 0 || len(c.setID) > 0 {
		t.Errorf("certificates of this host in %v, set-id programs %v", c.foreign, c.setID)
	}
}

// TestRealOwnFails: a failing line is told with its output, and nothing stays.
func TestRealOwnFails(t *testing.T) {
	b, name := ownBuilder(t)
	_, err := b.EnsureRecipe(context.Background(), images.Custom{Name: name, Run: []string{"echo so long >&2; exit 7"}})
	var e *images.Error
	if !errors.As(err, &e) || !strings.Contains(e.Log, "so long") || !strings.Contains(err.Error(), name) {
		t.Errorf("error is %v", err)
	}
	if _, ok, err := b.LookupRecipe(context.Background(), images.Custom{Name: name, Run: []string{"echo so long >&2; exit 7"}}); ok || err != nil {
		t.Errorf("a failed image is there: %v, %v", ok, err)
	}
}

// TestRealExisting gives somebody's image what a box needs.
func TestRealExisting(t *testing.T) {
	b, name := ownBuilder(t)
	scorer, err := b.Ensure(context.Background(), "scorer")
	if err != nil {
		t.Fatal(err)
	}
	img := mustOwn(t, b, images.Custom{Name: name, Existing: scorer.ID})
	if got, code := guestRun(t, img.ID, "20007", "sh", "-c", "id -un; ls -d /workspace /opt/cabra/*; python3 -c 'import numpy; print(1)'"); code != 0 ||
		got != "agent7\n/opt/cabra/relay\n/workspace\n1\n" {
		t.Errorf("prints %q with code %d", got, code)
	}
	_, err = b.EnsureRecipe(context.Background(), images.Custom{Name: name, Existing: "no/such-image:1"})
	if err == nil || !strings.Contains(err.Error(), "no/such-image:1") {
		t.Errorf("error is %v", err)
	}
}

// TestRealOtherVersion builds another version of a command line of each kind.
func TestRealOtherVersion(t *testing.T) {
	b, _ := ownBuilder(t)
	for name, args := range map[string][]string{
		"opencode@1.18.30": {"/opt/opencode/bin/opencode", "--version"},
		"gemini@0.60.0":    {"/opt/node/bin/node", "/opt/gemini/node_modules/@google/gemini-cli/bundle/gemini.js", "--version"},
	} {
		img, err := b.Ensure(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, version, _ := strings.Cut(name, "@")
		if got, code := guestRun(t, img.ID, "20007", args...); !strings.Contains(got, version) || code != 0 {
			t.Errorf("%s prints %q with code %d", name, got, code)
		}
		if img.Name != name || !strings.HasSuffix(img.How, "(as the registry has it)") {
			t.Errorf("image %+v", img)
		}
		checkNoTraces(t, img)
		removeTags(t, img)
	}
}
