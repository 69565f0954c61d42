package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// Upstream answers the requests of sessions. RoundTrip is that of
// [http.RoundTripper] with a request whose URL holds only the path below the
// provider's base, such as "/chat/completions"; it may be called from several
// goroutines, follows no redirect, and ends when the request's context does.
type Upstream interface {
	// Name tells providers apart: sessions whose upstreams share a name
	// share one back-off.
	Name() string
	RoundTrip(*http.Request) (*http.Response, error)
}

// masked is an upstream that has secrets to hide from what is stored.
type masked interface{ Mask() *Mask }

// perAttempt is an upstream whose answers depend on the attempt.
type perAttempt interface{ For(Script) Upstream }

// KeySource says where a provider's key is read, at every use, so that a
// renewed key is picked up. The first field that is set counts; with none set
// there is no key. The key itself stands in no error.
type KeySource struct {
	Value string
	Env   string // name of an environment variable
	File  string // path of a file that holds the key and white space
	// Command prints the key; its last answer is kept for a while.
	Command *KeyCommand
}

// ErrKey is wrapped by every error about a key that cannot be read or used.
var ErrKey = errors.New("no usable key")

// maxKey is far beyond the keys of any provider, web tokens included.
const maxKey = 16 << 10

// Read returns the key, nil when no source is set.
func (k KeySource) Read() ([]byte, error) { return k.read(context.Background()) }

// Forget says that a key was refused: a command is asked again at the next use.
func (k KeySource) Forget(key []byte) {
	if k.Command != nil {
		k.Command.forget(key)
	}
}

func (k KeySource) read(ctx context.Context) ([]byte, error) {
	switch {
	case k.Value != "":
		return cleanKey([]byte(k.Value), "given value")
	case k.Env != "":
		return cleanKey([]byte(os.Getenv(k.Env)), "environment variable "+k.Env)
	case k.File != "":
		return k.readFile()
	case k.Command != nil:
		return k.Command.Read(ctx)
	}
	return nil, nil
}

func (k KeySource) readFile() ([]byte, error) {
	f, err := os.Open(k.File)
	if err != nil {
		return nil, fmt.Errorf("%w: opening key file: %w", ErrKey, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return nil, fmt.Errorf("%w: reading key file: %w", ErrKey, err)
	}
	return cleanKey(text, fmt.Sprintf("key file %q", k.File))
}

// cleanKey refuses what would not survive as a header value, without showing it.
func cleanKey(text []byte, origin string) ([]byte, error) {
	key := bytes.TrimSpace(text)
	if len(key) == 0 {
		return nil, fmt.Errorf("%w: %s is empty", ErrKey, origin)
	}
	if len(key) > maxKey {
		return nil, fmt.Errorf("%w: %s is longer than %d bytes", ErrKey, origin, maxKey)
	}
	for _, c := range key {
		if c <= ' ' || c > '~' {
			return nil, fmt.Errorf("%w: %s holds white space or characters outside of ASCII", ErrKey, origin)
		}
	}
	return key, nil
}
