package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/docker/client"

	"cabra-run/sandbox"
)

// probeTimeout bounds the first answer of one endpoint.
const probeTimeout = 5 * time.Second

// Connect finds an engine and returns a client for it with the endpoint that
// answered. With host "" it tries DOCKER_HOST alone when that is set, else the
// default socket and then Podman's sockets. When none answers, the error is a
// Fault of kind FaultUnreachable that lists every endpoint with its reason.
func Connect(ctx context.Context, host string) (*client.Client, string, error) {
	var reasons []error
	for _, endpoint := range endpoints(host) {
		cli, err := probe(ctx, endpoint)
		if err == nil {
			return cli, endpoint, nil
		}
		if ctx.Err() != nil {
			return nil, "", &contextError{op: "connecting to engine", cause: ctx.Err()}
		}
		reasons = append(reasons, fmt.Errorf("%s: %w", endpoint, err))
	}
	return nil, "", &sandbox.Fault{
		Op: "connecting to engine", Kind: sandbox.FaultUnreachable, Err: &triedError{reasons},
	}
}

// triedError lists what was tried, in one line.
type triedError struct{ reasons []error }

func (e *triedError) Error() string {
	texts := make([]string, len(e.reasons))
	for i, r := range e.reasons {
		texts[i] = strings.ReplaceAll(r.Error(), "\n", " ")
	}
	return strings.Join(texts, "; ")
}

func (e *triedError) Unwrap() []error { return e.reasons }

// endpoints lists where an engine may listen, in the order of trying.
func endpoints(host string) []string {
	if host != "" {
		return []string{host}
	}
	if host = os.Getenv(client.EnvOverrideHost); host != "" {
		return []string{host}
	}
	list := []string{client.DefaultDockerHost}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		list = append(list,
			"unix://"+filepath.Join(dir, "docker.sock"),
			"unix://"+filepath.Join(dir, "podman", "podman.sock"))
	}
	return append(list, "unix:///run/podman/podman.sock")
}

// probe makes a client for one endpoint and asks it for a sign of life.
func probe(ctx context.Context, endpoint string) (*client.Client, error) {
	opts := []client.Opt{client.WithHost(endpoint), client.WithAPIVersionNegotiation()}
	if strings.HasPrefix(endpoint, "tcp://") {
		opts = append(opts, client.WithTLSClientConfigFromEnv())
	} else {
		opts = append(opts, client.WithDialContext(dialer(endpoint)))
	}
	cli, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if _, err := cli.Ping(ctx); err != nil {
		cli.Close()
		return nil, plainReason(endpoint, err)
	}
	return cli, nil
}

// dialer connects to a local socket and lays the context's deadline on the
// connection. The client's attach calls have no deadline of their own once
// they are connected; the caller lifts this one when the call has succeeded.
func dialer(endpoint string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	path := strings.TrimPrefix(endpoint, "unix://")
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		if deadline, ok := ctx.Deadline(); ok {
			if err := conn.SetDeadline(deadline); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
		}
		return conn, nil
	}
}

// plainReason replaces the client's guess ("is the daemon running?") by what
// the socket itself says, where it says something.
func plainReason(endpoint string, err error) error {
	path, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok {
		return err
	}
	if _, serr := os.Stat(path); errors.Is(serr, os.ErrNotExist) {
		return errors.New("no such socket")
	} else if errors.Is(serr, os.ErrPermission) {
		return errors.New("permission denied")
	}
	conn, derr := net.DialTimeout("unix", path, time.Second)
	if derr != nil {
		var op *net.OpError
		if errors.As(derr, &op) {
			return op.Err
		}
		return derr
	}
	conn.Close()
	return err
}
