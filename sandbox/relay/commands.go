package relay

import (
	"strconv"
	"time"

	"cabra-run/sandbox/relay/internal/wire"
)

// Path is where images hold the program.
const Path = "/opt/cabra/relay"

// ServeOptions are the settings of the relay as PID 1.
type ServeOptions struct {
	Port     int           // 0 is Port
	Deadline time.Duration // the relay ends itself after this; 0 is never
}

// ServeCommand is the argv of a box's PID 1.
func ServeCommand(o ServeOptions) []string {
	argv := []string{Path, "serve"}
	if o.Port != 0 {
		argv = append(argv, "--port", strconv.Itoa(o.Port))
	}
	if o.Deadline > 0 {
		seconds := int64((o.Deadline + time.Second - 1) / time.Second)
		argv = append(argv, "--deadline", strconv.FormatInt(seconds, 10))
	}
	return argv
}

// GuestCommand wraps the argv of an agent. The program limits itself to that
// many processes and threads of its uid, offers itself to the kernel as the
// first to be killed when memory runs out, and becomes argv. The limit
// cannot be raised again from inside and does not hold for other commands of
// the same uid: with some room between it and the box's own limit, a
// KillCommand can start beside a fork bomb.
func GuestCommand(processes int64, argv []string) []string {
	wrapper := []string{Path, "guest", "--processes", strconv.FormatInt(processes, 10), "--"}
	return append(wrapper, argv...)
}

// SignalCommand signals every other process of the uid that runs it. The
// signal is named as in "TERM".
func SignalCommand(sig string) []string { return []string{Path, "signal", sig} }

// KillCommand kills every other process of the uid that runs it, and exits
// with 0 when none is left, with 1 when some still are after ten seconds, and
// with something else when it could not start. The shell comes first because
// it needs no thread: where a fork bomb has taken all processes, the engine can
// still start one program, but the relay's runtime could not start.
func KillCommand() []string {
	return []string{"/bin/sh", "-c", "kill -KILL -1 2>/dev/null; exec " + Path + " kill"}
}

// ArchiveBounds limit what ArchiveCommand writes. A zero field means the
// program's default.
type ArchiveBounds struct {
	Files     int   // regular files
	Entries   int   // directory entries looked at
	Bytes     int64 // contents of all files together
	FileBytes int64 // of one file
	Depth     int   // nested folders
	// Only names the files and folders to archive, relative to the folder,
	// with slashes; nil means everything. One that does not exist is left out.
	Only []string
}

// ArchiveCommand writes a tar stream of the regular files below dir to
// standard output, in the order of their names. No link is followed. What was
// left out follows as header-only entries: links, FIFOs and devices with their
// own type, anything else with the type RefusedType and the reason in the PAX
// record RefusedRecord. If not everything was looked at, the last entry is
// named "." and has this type and record, too.
func ArchiveCommand(dir string, b ArchiveBounds) []string {
	argv := []string{Path, "archive"}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"--files", int64(b.Files)}, {"--entries", int64(b.Entries)}, {"--bytes", b.Bytes},
		{"--file-bytes", b.FileBytes}, {"--depth", int64(b.Depth)},
	} {
		if f.value != 0 {
			argv = append(argv, f.name, strconv.FormatInt(f.value, 10))
		}
	}
	for _, path := range b.Only {
		argv = append(argv, "--only", path)
	}
	return append(argv, "--", dir)
}

// How ArchiveCommand marks what tar has no type for.
const (
	RefusedType   = wire.RefusedType
	RefusedRecord = wire.RefusedRecord
)

// UnpackCommand writes the regular files and folders of a tar stream on its
// standard input below dir, which exists. Nothing is written through a link or
// outside of dir; at most 2,000 entries and 64 MiB are taken. A file that is
// there already is an error, unless replace is set.
func UnpackCommand(dir string, replace bool) []string {
	argv := []string{Path, "unpack"}
	if replace {
		argv = append(argv, "--replace", "1")
	}
	return append(argv, "--", dir)
}

// UsageCommand prints "<bytes> <files>\n": the larger of its length and the
// space it takes, of each entry of the tree below dir added up, and the number
// of entries. It exits with 3 when it stopped counting at 200,000 entries or
// could not look into a folder.
func UsageCommand(dir string) []string { return []string{Path, "usage", "--", dir} }

// ClearCommand removes everything below dir, as its owner and whatever its depth
// and modes. It exits with 0 when dir is empty.
func ClearCommand(dir string) []string { return []string{Path, "clear", "--", dir} }
