package images

import (
	"slices"
	"strings"
	"testing"

	"cabra-run/sandbox"
)

// testBuilder returns a Builder that believes in an amd64 engine and a host
// without an environment.
func testBuilder(t *testing.T, o Options) *Builder {
	t.Helper()
	o.StateDir = t.TempDir()
	b, err := newBuilder(o, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	b.arch, b.bundle = "amd64", o.CABundle
	return b
}

// imageTarget is an image of the program's own recipes.
func imageTarget(t *testing.T, name string) target {
	t.Helper()
	r, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return target{name: name, Recipe: r.Images[name]}
}

// cliOf is a command line of the program's own recipes.
func cliOf(b *Builder, name string) namedCLI { return namedCLI{name, b.recipes.CLIs[name]} }

// TestDigestsAreStable holds the digests of the layers that take minutes to
// build: when one changes, everybody builds it again. A change of a recipe, of
// install.sh or of what flatten drops belongs here as well.
func TestDigestsAreStable(t *testing.T) {
	want := map[string]string{
		"copilot/pull/0":      "32ff2d8fb8f8",
		"copilot/pull/1":      "6753d84b3e8f",
		"copilot/bootstrap/0": "c6135fbc8513",
		"copilot/bootstrap/1": "6ea14e74b9fd",
		"scorer/bootstrap/0":  "658dd3a478e9",
	}
	b := testBuilder(t, Options{})
	got := map[string]string{}
	for _, kind := range []string{BasePull, BaseBootstrap} {
		system, err := b.systemLayer(b.recipes.Systems["agents"], origin{kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		cli, err := b.cliLayer(cliOf(b, "copilot"), system)
		if err != nil {
			t.Fatal(err)
		}
		got["copilot/"+kind+"/0"], got["copilot/"+kind+"/1"] = short(system.digest), short(cli.digest)
	}
	scorer, err := b.systemLayer(b.recipes.Systems["scorer"], origin{kind: BaseBootstrap})
	if err != nil {
		t.Fatal(err)
	}
	got["scorer/bootstrap/0"] = short(scorer.digest)
	for name, digest := range want {
		if got[name] != digest {
			t.Errorf("%s: digest %s, want %s", name, got[name], digest)
		}
	}
}

// TestDigestCovers asserts that a digest changes with everything that changes the image.
func TestDigestCovers(t *testing.T) {
	b := testBuilder(t, Options{})
	sys := b.recipes.Systems["agents"]
	from := origin{kind: BaseBootstrap}
	digest := func(b *Builder, s System, o origin) string {
		t.Helper()
		l, err := b.systemLayer(s, o)
		if err != nil {
			t.Fatal(err)
		}
		return l.digest
	}
	seen := map[string]string{digest(b, sys, from): "the recipe"}
	add := func(what, d string) {
		if other, ok := seen[d]; ok {
			t.Errorf("%s has the digest of %s", what, other)
		}
		seen[d] = what
	}
	less, other, alone := sys, sys, sys
	less.Packages = sys.Packages[1:]
	other.Release = "trixie"
	alone.Guests = false
	add("a package less", digest(b, less, from))
	add("another release", digest(b, other, from))
	add("no guests", digest(b, alone, from))
	add("pulled", digest(b, sys, origin{kind: BasePull}))
	add("an image", digest(b, sys, origin{kind: fromImage, image: "x", id: "sha256:1"}))
	add("another image", digest(b, sys, origin{kind: fromImage, image: "x", id: "sha256:2"}))
	arm := testBuilder(t, Options{})
	arm.arch = "arm64"
	add("another architecture", digest(arm, sys, from))
	keeps := testBuilder(t, Options{CABundle: writeFile(t, "a certificate"), KeepCA: true})
	add("a kept CA", digest(keeps, sys, from))

	uses := testBuilder(t, Options{CABundle: writeFile(t, "a certificate")})
	if digest(uses, sys, from) != digest(b, sys, from) {
		t.Error("a CA bundle that is not kept changes the digest")
	}
	scorer := b.recipes.Systems["scorer"]
	if digest(keeps, scorer, from) != digest(b, scorer, from) {
		t.Error("the scorer has no certificates, but its digest depends on a kept one")
	}
}

func TestDigestOfSeparatesParts(t *testing.T) {
	if digestOf("ab", "c") == digestOf("a", "bc") {
		t.Error("two lists have one digest")
	}
	// sha256 of the eight bytes of the length 1 and the letter a, by sha256sum.
	if got, want := digestOf("a"), "3b196fd4907bedf51c3090e9835f2f7cb61e7ee1b2299ea3b8fed9b4183a822a"; got != want {
		t.Errorf("digestOf(a) = %s, want %s", got, want)
	}
}

func TestEmbeddedRecipes(t *testing.T) {
	r, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(r.Names(), " "), "base claude codex copilot gemini mini opencode pi scorer"; got != want {
		t.Errorf("images are %q, want %q", got, want)
	}
	// The list of the paper's image, in the paper's order.
	paper := strings.Fields(`bash build-essential ca-certificates coreutils curl diffutils file findutils gawk grep jq
		less patch procps python3 python3-pip python3-venv ripgrep sed tree wget`)
	if !slices.Equal(r.Systems["agents"].Packages, paper) {
		t.Errorf("packages are %v, want the paper's %v", r.Systems["agents"].Packages, paper)
	}
	if v := r.CLIs["copilot"].Version; v != "1.0.81" {
		t.Errorf("copilot is %s", v)
	}
	if _, err := decodeIntegrity(r.CLIs["copilot"].Packages["amd64"].Integrity); err != nil {
		t.Error(err)
	}
}

func TestParseRecipesRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"unknown field":  "[images.x]\nsistem = \"a\"\n",
		"missing system": "[images.x]\nsystem = \"a\"\n",
		"missing cli":    "[systems.a]\nrelease = \"bookworm\"\n[images.x]\nsystem = \"a\"\ncli = \"b\"\n",
		"not toml":       "[images",
	} {
		if _, err := parseRecipes(text); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestChainOrder(t *testing.T) {
	b := testBuilder(t, Options{})
	if _, err := RelayBinary(b.arch); err != nil {
		t.Skip("built without the relay: make build")
	}
	chain, err := b.chain(imageTarget(t, "copilot"), origin{kind: BasePull})
	if err != nil {
		t.Fatal(err)
	}
	base, err := b.chain(imageTarget(t, "base"), origin{kind: BasePull})
	if err != nil {
		t.Fatal(err)
	}
	if len(chain) != 3 || len(base) != 2 || chain[0].digest != base[0].digest || chain[2].what != "the relay" {
		t.Errorf("copilot has %d layers, base %d; they must share the system and end with the relay", len(chain), len(base))
	}
	if got, want := b.tagOf(imageTarget(t, "copilot"), chain), "cabra-run/copilot:"+chain[2].digest[:12]; got != want {
		t.Errorf("tag %q, want %q", got, want)
	}
}

func TestUnknownArchitecture(t *testing.T) {
	b := testBuilder(t, Options{})
	b.arch = "riscv64"
	if _, err := b.cliLayer(cliOf(b, "copilot"), layer{}); err == nil || !strings.Contains(err.Error(), "riscv64") {
		t.Errorf("error %v does not name the architecture", err)
	}
	if _, err := RelayBinary("riscv64"); err == nil || !strings.Contains(err.Error(), "riscv64") {
		t.Errorf("error %v does not name the architecture", err)
	}
}

func TestAccounts(t *testing.T) {
	passwd, group := accounts(true)
	lines := strings.Split(strings.TrimSuffix(passwd, "\n"), "\n")
	if len(lines) != 1+sandbox.GuestSlots {
		t.Fatalf("%d accounts, want %d", len(lines), 1+sandbox.GuestSlots)
	}
	for i, want := range map[int]string{
		0: "cabra:x:10000:10000::/nonexistent:/bin/bash", 1: "agent0:x:20000:20000::/home/agent:/bin/bash",
		256: "agent255:x:20255:20255::/home/agent:/bin/bash",
	} {
		if lines[i] != want {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	if !strings.HasSuffix(group, "agent255:x:20255:\n") {
		t.Error("the last group is not agent255's")
	}
	if passwd, _ := accounts(false); strings.Count(passwd, "\n") != 1 {
		t.Errorf("without guests the accounts are %q", passwd)
	}
}

func TestImageChanges(t *testing.T) {
	got := imageChanges(map[string]string{labelHow: `a "b" $c`})
	if last := got[len(got)-1]; last != `LABEL cabra.how="a \"b\" \$c"` {
		t.Errorf("label line is %s", last)
	}
	if !slices.Contains(got, "ENV TZ=UTC") || !slices.Contains(got, "USER 10000:10000") {
		t.Errorf("changes are %q", got)
	}
}

func TestSourcesList(t *testing.T) {
	want := "deb http://deb.debian.org/debian bookworm main\n" +
		"deb http://deb.debian.org/debian bookworm-updates main\n" +
		"deb http://deb.debian.org/debian-security bookworm-security main\n"
	if got := sourcesList(defaultMirror, "bookworm"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := sourcesList("https://mirror.example/d", "trixie"); strings.Contains(got, "security") {
		t.Errorf("a mirror of unknown layout gets a security suite: %q", got)
	}
}
