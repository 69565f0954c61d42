package images

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	pythonIndex = "https://pypi.org/simple"
	pipVar      = "PIP_INDEX_URL"
)

// pipIndex returns the address of the index of Python packages: the
// environment's, pip's configuration's, or pip's own.
func pipIndex(getenv func(string) string) string {
	if v := getenv(pipVar); v != "" {
		return v
	}
	home := getenv("HOME")
	for _, file := range []string{
		getenv("PIP_CONFIG_FILE"), filepath.Join(home, ".config/pip/pip.conf"), filepath.Join(home, ".pip/pip.conf"),
		"/etc/pip.conf",
	} {
		if v := pipConfIndex(file); v != "" {
			return v
		}
	}
	return pythonIndex
}

// pipConfIndex reads a configuration file of pip's, if it is there.
func pipConfIndex(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxMetadata))
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), "=")
		if ok && strings.TrimSpace(key) == "index-url" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// publishedPython asks an index of Python packages for a version.
func (r *registry) publishedPython(ctx context.Context, name, version string) error {
	var text strings.Builder
	// The form in JSON (PEP 691) names the versions (PEP 700).
	err := r.getAs(ctx, r.base+"/"+name+"/", "application/vnd.pypi.simple.v1+json", maxVersions, &text)
	if errors.Is(err, errNotThere) {
		return &Error{What: "the index of Python packages has no " + name, Hint: "check the name", Err: err}
	}
	if err != nil {
		return err
	}
	var meta struct {
		Versions []string `json:"versions"`
	}
	if json.Unmarshal([]byte(text.String()), &meta) != nil || len(meta.Versions) == 0 {
		return nil // an index that only speaks HTML: pip will tell
	}
	if slices.Contains(meta.Versions, version) {
		return nil
	}
	return &Error{
		What: fmt.Sprintf("the index of Python packages has no version %s of %s", version, name),
		Hint: "near it there are " + strings.Join(near(meta.Versions, version), ", "),
	}
}
