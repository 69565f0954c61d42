package images_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"

	"cabra-run/images"
	"cabra-run/images/imagestest"
	"cabra-run/sandbox/docker"
)

// testTime bounds what a test does with finished images.
const testTime = 5 * time.Minute

// engine returns a client for the real engine; imagestest.Ensure has decided
// before whether there is one.
func engine(t *testing.T) (context.Context, *client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	t.Cleanup(cancel)
	api, _, err := docker.Connect(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	return ctx, api
}

// contents is what a test wants to know of an image's file system.
type contents struct {
	headers map[string]*tar.Header
	bodies  map[string]string // of the files asked for
	setID   []string
	foreign []string // files that hold one of the host's own certificates
}

// read exports an image's file system and looks through all of it.
func read(t *testing.T, id string, files ...string) contents {
	t.Helper()
	ctx, api := engine(t)
	made, err := api.ContainerCreate(ctx, &container.Config{Image: id, Cmd: []string{"/bin/true"}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := api.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	}()
	body, err := api.ContainerExport(ctx, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	marks := hostCertificates(t)
	c := contents{headers: map[string]*tar.Header{}, bodies: map[string]string{}}
	in := tar.NewReader(body)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return c
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Trim(h.Name, "/")
		c.headers[name] = h
		if slices.Contains(files, name) {
			c.bodies[name] = string(data)
		}
		if h.Mode&0o6000 != 0 || len(h.PAXRecords["SCHILY.xattr.security.capability"]) > 0 {
			c.setID = append(c.setID, name)
		}
		for _, m := range marks {
			if bytes.Contains(data, m) {
				c.foreign = append(c.foreign, name)
			}
		}
	}
}

// hostCertificates returns a line of each certificate that this host trusts beside Debian's.
func hostCertificates(t *testing.T) [][]byte {
	t.Helper()
	files, err := filepath.Glob("/usr/local/share/ca-certificates/*.crt")
	if err != nil {
		t.Fatal(err)
	}
	var marks [][]byte
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			continue // not ours to read
		}
		lines := bufio.NewScanner(f)
		for i := 0; lines.Scan(); i++ {
			if i == 5 { // within the base64 text
				marks = append(marks, []byte(lines.Text()))
			}
		}
		f.Close()
	}
	return marks
}

// guestRun runs a command as a box does: a guest, no network, read-only root.
func guestRun(t *testing.T, id string, uid string, args ...string) (stdout string, code int64) {
	t.Helper()
	ctx, api := engine(t)
	made, err := api.ContainerCreate(ctx, &container.Config{
		Image: id, Cmd: args, User: uid + ":" + uid,
		Env: []string{"HOME=/home/agent", "COPILOT_CLI_DIST_DIR=/opt/copilot", "COPILOT_OFFLINE=true"},
	}, &container.HostConfig{
		NetworkMode: "none", ReadonlyRootfs: true, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		Tmpfs: map[string]string{"/tmp": "", "/home/agent": "mode=0700,uid=" + uid},
	}, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := api.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	}()
	conn, err := api.ContainerAttach(ctx, made.ID, container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ended, failed := api.ContainerWait(ctx, made.ID, container.WaitConditionNextExit)
	if err := api.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if _, err := stdcopy.StdCopy(&out, &errs, conn.Reader); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		t.Fatal(err)
	case end := <-ended:
		code = end.StatusCode
	}
	if errs.Len() > 0 {
		t.Logf("stderr: %s", errs.String())
	}
	return out.String(), code
}

func TestRealAgentImages(t *testing.T) {
	base, copilot := imagestest.Ensure(t, "base"), imagestest.Ensure(t, "copilot")
	for _, img := range []images.Image{base, copilot} {
		t.Run(img.Name, func(t *testing.T) {
			t.Logf("%s: %d MB, %d packages, %s", img.Tag, img.Bytes/1e6, len(img.Packages), img.How)
			c := read(t, img.ID, "etc/passwd", "etc/group", "opt/cabra/relay", "etc/hostname", "etc/resolv.conf")
			checkCommon(t, c)
			relay, err := images.RelayBinary("amd64")
			if err != nil {
				t.Fatal(err)
			}
			h := c.headers["opt/cabra/relay"]
			if h == nil || h.Mode&0o7777 != 0o755 || h.Uid != 0 || c.bodies["opt/cabra/relay"] != string(relay) {
				t.Errorf("the relay is %+v", h)
			}
			for _, line := range []string{"agent0:x:20000:20000::/home/agent:/bin/bash", "agent255:x:20255:20255::/home/agent:/bin/bash"} {
				if strings.Count(c.bodies["etc/passwd"], line+"\n") != 1 {
					t.Errorf("passwd has not exactly one %q", line)
				}
			}
			for _, name := range []string{"usr/bin/rg", "usr/bin/gcc", "usr/bin/jq", "usr/bin/python3", "usr/bin/tree"} {
				if c.headers[name] == nil {
					t.Errorf("%s is missing", name)
				}
			}
			if c.headers["usr/bin/git"] != nil {
				t.Error("git is there, which the paper's image has not")
			}
		})
	}
	if !slices.ContainsFunc(copilot.Packages, func(p string) bool { return p == "npm:@github/copilot-linux-x64=1.0.81" }) {
		t.Error("the packages of copilot do not name the command line")
	}
	if !slices.ContainsFunc(base.Packages, func(p string) bool { return strings.HasPrefix(p, "python3.11=3.11.") }) {
		t.Error("the packages of base do not name Python 3.11")
	}
}

// checkCommon asserts what holds for every image.
func checkCommon(t *testing.T, c contents) {
	t.Helper()
	if len(c.setID) > 0 {
		t.Errorf("setuid, setgid or capabilities: %v", c.setID)
	}
	if len(c.foreign) > 0 {
		t.Errorf("certificates of this host: %v", c.foreign)
	}
	if c.headers["home/agent"] != nil {
		t.Error("/home/agent exists")
	}
	if h := c.headers["workspace"]; h == nil || h.Typeflag != tar.TypeDir || h.Mode&0o7777 != 0o755 || h.Uid != 0 {
		t.Errorf("/workspace is %+v", h)
	}
	if strings.Count(c.bodies["etc/passwd"], "cabra:x:10000:10000:") != 1 {
		t.Error("passwd has no cabra")
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if c.bodies["etc/hostname"] != "" || c.bodies["etc/resolv.conf"] != "" {
		t.Errorf("settings of the host %s are left: %q, %q", host, c.bodies["etc/hostname"], c.bodies["etc/resolv.conf"])
	}
	for name := range c.headers {
		for _, dir := range []string{"tmp/", "var/log/", "var/lib/apt/lists/", "usr/share/doc/", "var/cache/apt/"} {
			if strings.HasPrefix(name, dir) {
				t.Errorf("%s is left", name)
			}
		}
	}
}

func TestRealCopilotRuns(t *testing.T) {
	img := imagestest.Ensure(t, "copilot")
	out, code := guestRun(t, img.ID, "20003", "/opt/copilot/copilot", "--version")
	if code != 0 || !strings.Contains(out, "1.0.81") {
		t.Errorf("copilot --version prints %q and ends with %d", out, code)
	}
	out, code = guestRun(t, img.ID, "20003", "/bin/sh", "-c",
		"id -un; date +%Z; touch /opt/copilot/x /x /workspace/x 2>/dev/null; ls -A $HOME; test -w /opt/copilot || echo read-only")
	if code != 0 || out != "agent3\nUTC\nread-only\n" {
		t.Errorf("as a guest: %q, code %d", out, code)
	}
}

func TestRealScorerImage(t *testing.T) {
	img := imagestest.Ensure(t, "scorer")
	t.Logf("%s: %d MB, %d packages, %s", img.Tag, img.Bytes/1e6, len(img.Packages), img.How)
	c := read(t, img.ID, "etc/passwd", "etc/hostname", "etc/resolv.conf")
	checkCommon(t, c)
	if c.headers["opt/cabra/relay"] != nil || strings.Contains(c.bodies["etc/passwd"], "agent0:") {
		t.Error("the scorer has the relay, or guests")
	}
	const script = "import sys, numpy; print(*sys.version_info[:2]); print(numpy.__version__.rpartition('.')[0]); print(numpy.arange(4).sum())"
	out, code := guestRun(t, img.ID, "10000", "python3", "-I", "-c", script)
	if code != 0 || out != "3 13\n2.2\n6\n" {
		t.Errorf("python prints %q and ends with %d", out, code)
	}
}

// TestRealWarm asks for images that are there: nothing is built or pulled.
func TestRealWarm(t *testing.T) {
	first := imagestest.Ensure(t, "scorer")
	var lines []string
	b, err := images.New(images.Options{Log: func(line string) { lines = append(lines, line) }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, _ := engine(t)
	start := time.Now()
	again, err := b.Ensure(ctx, "scorer")
	t.Logf("warm: %v", time.Since(start))
	if err != nil || again.ID != first.ID || len(lines) != 0 {
		t.Errorf("asked again: %s, %v, %q; want %s without a word", again.ID, err, lines, first.ID)
	}
	list, err := b.List(ctx)
	if err != nil || !slices.ContainsFunc(list, func(i images.Image) bool { return i.ID == first.ID && i.Current && i.Name == "scorer" }) {
		t.Errorf("the list has no current scorer: %v, %v", list, err)
	}
}
