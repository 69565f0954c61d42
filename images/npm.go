package images

import (
	"bufio"
	"context"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Bounds on what a package of the registry may be.
const (
	maxTarball  = 1 << 30
	maxUnpacked = 2 << 30
	maxEntries  = 50_000
	maxMetadata = 1 << 20
	npmStall    = 30 * time.Second
	npmRegistry = "https://registry.npmjs.org"
	npmVar      = "NPM_CONFIG_REGISTRY"
)

// fixedTime stamps the files that we put into images, so that layers do not
// depend on when they were made.
var fixedTime = time.Unix(1_735_689_600, 0)

// registry is an npm registry.
type registry struct {
	base  string // without a slash at its end
	http  *http.Client
	stall time.Duration // how long nothing may come
}

// newRegistry talks to base, trusting what the host trusts and the CA bundle.
func newRegistry(base, bundle string) (*registry, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = npmStall
	if bundle != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		pem, err := os.ReadFile(bundle)
		if err != nil {
			return nil, &Error{What: "reading the CA bundle", Hint: "name a readable PEM file", Err: err}
		}
		pool.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &registry{strings.TrimRight(base, "/"), &http.Client{Transport: transport}, npmStall}, nil
}

// npmBase returns the registry's address: the environment's, the user's npm
// configuration's, or npm's own.
func npmBase(getenv func(string) string) string {
	for _, name := range []string{npmVar, "npm_config_registry"} {
		if v := getenv(name); v != "" {
			return v
		}
	}
	file := getenv("NPM_CONFIG_USERCONFIG")
	if file == "" {
		file = filepath.Join(getenv("HOME"), ".npmrc")
	}
	f, err := os.Open(file)
	if err != nil {
		return npmRegistry
	}
	defer f.Close()
	return npmrcRegistry(f)
}

func npmrcRegistry(r io.Reader) string {
	lines := bufio.NewScanner(io.LimitReader(r, maxMetadata))
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), "=")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		if ok && strings.TrimSpace(key) == "registry" && value != "" {
			return value
		}
	}
	return npmRegistry
}

// fetch downloads a package into a file in dir and checks it. The caller removes the file.
func (r *registry) fetch(ctx context.Context, p Package, version, dir string) (file string, err error) {
	integrity := p.Integrity
	if integrity == "" {
		if integrity, err = r.integrity(ctx, p, version); err != nil {
			return "", err
		}
	}
	want, err := decodeIntegrity(integrity)
	if err != nil {
		return "", fmt.Errorf("package %s: %w", p.Name, err)
	}
	url := fmt.Sprintf("%s/%s/-/%s-%s.tgz", r.base, p.Name, path.Base(p.Name), version+p.Suffix)
	f, err := os.CreateTemp(dir, "npm-*.tgz")
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	sum := sha512.New()
	if err := r.get(ctx, url, maxTarball, io.MultiWriter(f, sum)); err != nil {
		return "", err
	}
	if got := sum.Sum(nil); string(got) != string(want) {
		return "", &Error{
			What: fmt.Sprintf("%s is not the package that the recipe names: its sha512 is %s, not %s",
				url, base64.StdEncoding.EncodeToString(got), base64.StdEncoding.EncodeToString(want)),
			Hint: "try again; if it stays so, do not use this registry",
		}
	}
	return f.Name(), nil
}

// integrity asks the registry what the package's checksum is.
func (r *registry) integrity(ctx context.Context, p Package, version string) (string, error) {
	var text strings.Builder
	err := r.get(ctx, r.base+"/"+p.Name+"/"+version+p.Suffix, maxMetadata, &text)
	if errors.Is(err, errNotThere) {
		return "", r.noVersion(ctx, p, version)
	}
	if err != nil {
		return "", err
	}
	var meta struct {
		Dist struct {
			Integrity string `json:"integrity"`
		} `json:"dist"`
	}
	if err := json.Unmarshal([]byte(text.String()), &meta); err != nil {
		return "", fmt.Errorf("reading the registry's answer for %s@%s: %w", p.Name, version, err)
	}
	return meta.Dist.Integrity, nil
}

func decodeIntegrity(s string) ([]byte, error) {
	b64, ok := strings.CutPrefix(s, "sha512-")
	sum, err := base64.StdEncoding.DecodeString(b64)
	if !ok || err != nil || len(sum) != sha512.Size {
		return nil, fmt.Errorf("integrity %q is not a sha512 sum", s)
	}
	return sum, nil
}

// get copies an answer's body to w; more than limit bytes are an error, and so is
// a body that stops coming.
func (r *registry) get(ctx context.Context, url string, limit int64, w io.Writer) error {
	return r.getAs(ctx, url, "", limit, w)
}

// getAs is get with a media type that is asked for, or "".
func (r *registry) getAs(ctx context.Context, url, accept string, limit int64, w io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("address %q: %w", url, err)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return unreachable(url, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return unreachable(url, errNotThere)
	}
	if resp.StatusCode != http.StatusOK {
		return unreachable(url, errors.New("the registry answers "+resp.Status))
	}
	stalled := time.AfterFunc(r.stall, func() { cancel(fmt.Errorf("nothing came for %v", r.stall)) })
	defer stalled.Stop()
	body := io.TeeReader(io.LimitReader(resp.Body, limit+1), progress(func() { stalled.Reset(r.stall) }))
	n, err := io.Copy(w, body)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return unreachable(url, err)
	}
	if n > limit {
		return fmt.Errorf("%s is larger than %d bytes", url, limit)
	}
	return nil
}

// errNotThere is a registry's word that it does not have something.
var errNotThere = errors.New("the registry answers 404 Not Found")

// progress is a writer that only tells that something came.
type progress func()

func (p progress) Write(b []byte) (int, error) { p(); return len(b), nil }

func unreachable(url string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("fetching %s: %w", url, err)
	}
	return &Error{
		What: "fetching " + url,
		Hint: "check the network, or set " + npmVar + " to a registry that answers",
		Err:  err,
	}
}
