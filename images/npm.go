package images

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
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
	maxTarball    = 1 << 30
	maxUnpacked   = 2 << 30
	maxEntries    = 50_000
	maxMetadata   = 1 << 20
	npmStall      = 30 * time.Second
	npmRegistry   = "https://registry.npmjs.org"
	npmVar        = "NPM_CONFIG_REGISTRY"
	npmTarballDir = "package" // the folder that npm's tarballs hold
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
		if integrity, err = r.integrity(ctx, p.Name, version); err != nil {
			return "", err
		}
	}
	want, err := decodeIntegrity(integrity)
	if err != nil {
		return "", fmt.Errorf("package %s: %w", p.Name, err)
	}
	url := fmt.Sprintf("%s/%s/-/%s-%s.tgz", r.base, p.Name, path.Base(p.Name), version)
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
func (r *registry) integrity(ctx context.Context, name, version string) (string, error) {
	var text strings.Builder
	if err := r.get(ctx, r.base+"/"+name+"/"+version, maxMetadata, &text); err != nil {
		return "", err
	}
	var meta struct {
		Dist struct {
			Integrity string `json:"integrity"`
		} `json:"dist"`
	}
	if err := json.Unmarshal([]byte(text.String()), &meta); err != nil {
		return "", fmt.Errorf("reading the registry's answer for %s@%s: %w", name, version, err)
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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("address %q: %w", url, err)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return unreachable(url, err)
	}
	defer resp.Body.Close()
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

// unpack turns an npm tarball into a tar of root-owned, read-only files under
// dir (an absolute path). Anything but plain files under its one folder is refused.
func unpack(dst io.Writer, tgz io.Reader, dir string) error {
	zr, err := gzip.NewReader(tgz)
	if err != nil {
		return fmt.Errorf("reading the package: %w", err)
	}
	u := &unpacker{out: tar.NewWriter(dst), root: strings.Trim(dir, "/"), seen: map[string]byte{}}
	if err := u.folder(u.root); err != nil {
		return err
	}
	in := tar.NewReader(zr)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return u.out.Close()
		}
		if err != nil {
			return fmt.Errorf("reading the package: %w", err)
		}
		if err := u.add(h, in); err != nil {
			return fmt.Errorf("package file %q: %w", h.Name, err)
		}
	}
}

type unpacker struct {
	out     *tar.Writer
	root    string
	seen    map[string]byte // names written, with their type
	bytes   int64
	entries int
}

func (u *unpacker) add(h *tar.Header, body io.Reader) error {
	u.entries++
	u.bytes += h.Size
	if u.entries > maxEntries || u.bytes > maxUnpacked {
		return errors.New("the package is too large")
	}
	rel, ok := strings.CutPrefix(h.Name, npmTarballDir+"/")
	rel = strings.TrimSuffix(rel, "/")
	switch {
	case h.Typeflag == tar.TypeDir && (h.Name == npmTarballDir || h.Name == npmTarballDir+"/"):
		return nil
	case !ok || !filepath.IsLocal(rel) || rel != path.Clean(rel) || strings.ContainsAny(rel, "\\\x00"):
		return errors.New("the name leads out of the package")
	case h.Typeflag == tar.TypeDir:
		return u.folder(path.Join(u.root, rel))
	case h.Typeflag != tar.TypeReg:
		return errors.New("neither a file nor a folder")
	}
	name := path.Join(u.root, rel)
	if u.seen[name] != 0 {
		return errors.New("the name comes twice")
	}
	if err := u.folder(path.Dir(name)); err != nil {
		return err
	}
	u.seen[name] = tar.TypeReg
	mode := int64(0o644)
	if h.Mode&0o111 != 0 {
		mode = 0o755
	}
	if err := u.out.WriteHeader(fileHeader(name, mode, h.Size)); err != nil {
		return err
	}
	_, err := io.Copy(u.out, body)
	return err
}

// folder writes a folder and those above it, each once.
func (u *unpacker) folder(name string) error {
	switch {
	case name == "." || u.seen[name] == tar.TypeDir:
		return nil
	case u.seen[name] != 0:
		return errors.New("a file is used as a folder")
	}
	if err := u.folder(path.Dir(name)); err != nil {
		return err
	}
	u.seen[name] = tar.TypeDir
	return u.out.WriteHeader(folderHeader(name))
}

func fileHeader(name string, mode, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: size, ModTime: fixedTime}
}

func folderHeader(name string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: fixedTime}
}
