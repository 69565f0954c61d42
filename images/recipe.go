package images

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed recipes/recipes.toml
var recipesText string

//go:embed recipes/install.sh
var installScript string

//go:embed recipes/steps.sh
var stepsScript string

//go:embed recipes/*.lock.json recipes/*.requirements.txt
var pinnedFiles embed.FS

// Recipes is everything that can be built.
type Recipes struct {
	Systems map[string]System `toml:"systems"`
	CLIs    map[string]CLI    `toml:"clis"`
	Images  map[string]Recipe `toml:"images"`
}

// Recipe says what an image consists of.
type Recipe struct {
	About  string `toml:"about"`
	System string `toml:"system"` // key of Recipes.Systems
	CLI    string `toml:"cli"`    // key of Recipes.CLIs, or empty
	Relay  bool   `toml:"relay"`
}

// System is a Debian with packages.
type System struct {
	Release  string   `toml:"release"` // Debian code name, for the bootstrap
	Image    string   `toml:"image"`   // what is pulled where a registry answers
	Packages []string `toml:"packages"`
	Guests   bool     `toml:"guests"`  // has passwd entries for guests of boxes
	Without  string   `toml:"without"` // what the bootstrapped one lacks beside the pulled one
	Seconds  int      `toml:"seconds"` // rough time of a build
	Checks   []Check  `toml:"checks"`
}

// CLI is an agent's command line, or what one needs: exactly one of Packages,
// Npm and Pip.
type CLI struct {
	Version  string             `toml:"version"`
	Dir      string             `toml:"dir"`      // where its folder goes
	Needs    string             `toml:"needs"`    // key of Recipes.CLIs that lies below it, or empty
	Env      []string           `toml:"env"`      // for the checks; the caller sets its own
	Packages map[string]Package `toml:"packages"` // one npm package, by GOARCH
	Keep     []string           `toml:"keep"`     // patterns of its files that are kept; none: all
	Drop     []string           `toml:"drop"`     // patterns of the names of files of Npm that are left out
	Files    map[string]string  `toml:"files"`    // texts that are put beside Npm, by name
	Npm      string             `toml:"npm"`      // an npm package with all that it depends on, see recipes/KEY.lock.json
	Pip      string             `toml:"pip"`      // a Python package with all that it depends on, see recipes/KEY.requirements.txt
	Seconds  int                `toml:"seconds"`
	Checks   []Check            `toml:"checks"`

	unpinned bool // a version that the recipe does not know
}

// Package is a package of the npm registry.
type Package struct {
	Name      string `toml:"name"`
	Suffix    string `toml:"suffix"`    // behind the version, where the architecture is part of it
	Strip     string `toml:"strip"`     // folder of the package that becomes CLI.Dir; the rest is left out
	Integrity string `toml:"integrity"` // "sha512-BASE64", or empty: the registry's own is taken
}

// Check is a command that must succeed in the finished layer, as a guest
// without network and on a read-only root, and whose output must hold Prints.
type Check struct {
	Run    []string `toml:"run"`
	Prints string   `toml:"prints"`
}

// Embedded returns the recipes that are part of the program.
func Embedded() (Recipes, error) { return parseRecipes(recipesText) }

func parseRecipes(text string) (Recipes, error) {
	var r Recipes
	dec := toml.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return Recipes{}, fmt.Errorf("reading image recipes: %w", err)
	}
	for name, img := range r.Images {
		if _, ok := r.Systems[img.System]; !ok {
			return Recipes{}, fmt.Errorf("image recipe %q: no system %q", name, img.System)
		}
		if _, ok := r.CLIs[img.CLI]; img.CLI != "" && !ok {
			return Recipes{}, fmt.Errorf("image recipe %q: no command line %q", name, img.CLI)
		}
	}
	return r, nil
}

// npmLockOf returns the lock of a command line that is an npm tree.
func npmLockOf(name string) (npmLock, error) {
	text, err := pinnedFiles.ReadFile("recipes/" + name + ".lock.json")
	if err != nil {
		return npmLock{}, fmt.Errorf("recipe of command line %s: %w", name, err)
	}
	return parseNpmLock(string(text))
}

// requirementsOf returns what is installed for a command line that is a Python
// package, with the sums of all files.
func requirementsOf(name string) (string, error) {
	text, err := pinnedFiles.ReadFile("recipes/" + name + ".requirements.txt")
	if err != nil {
		return "", fmt.Errorf("recipe of command line %s: %w", name, err)
	}
	return string(text), nil
}

// Names returns the names of the images, sorted.
func (r Recipes) Names() []string { return slices.Sorted(maps.Keys(r.Images)) }
