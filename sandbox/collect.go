package sandbox

// CollectLimits bound the reading of a hostile tree. Zero fields mean the
// defaults of DefaultCollectLimits.
type CollectLimits struct {
	Files     int   // regular files kept
	Entries   int   // directory entries looked at
	FileBytes int64 // largest single file
	Bytes     int64 // all files together
	Depth     int   // nested folders
	// First lists paths that are kept before all others, whatever their
	// place in the tree: a swollen folder beside them must not crowd them
	// out. Engines put the files of Spec.Workspace here when it is nil.
	First []string
}

// DefaultCollectLimits returns the limits used for a workspace.
func DefaultCollectLimits() CollectLimits {
	return CollectLimits{Files: 2000, Entries: 20000, FileBytes: 16 << 20, Bytes: 64 << 20, Depth: 32}
}

// Collection says what was read from a tree and what was refused.
type Collection struct {
	Files   []CollectedFile `json:"files"`
	Refused []Refused       `json:"refused"`
	// Dropped counts refusals beyond those listed (at most MaxRefused are).
	Dropped int `json:"dropped"`
	// Truncated is set when reading ended early, by a limit or a broken stream.
	Truncated bool `json:"truncated"`
}

// MaxRefused is the longest list of refusals that is kept.
const MaxRefused = 200

// CollectedFile is a regular file that was copied.
type CollectedFile struct {
	Path  string `json:"path"` // relative, slashes
	Bytes int64  `json:"bytes"`
	Mode  uint32 `json:"mode"` // permission bits it had in the box
}

// Refused is an entry that was not copied.
type Refused struct {
	Path   string `json:"path"` // quoted with %q when it is not plain text
	Reason string `json:"reason"`
}

// The reasons of a refusal.
const (
	RefusedLink     = "symbolic link"
	RefusedHardLink = "hard link"
	RefusedFIFO     = "fifo"
	RefusedSocket   = "socket"
	RefusedDevice   = "device"
	RefusedTooLarge = "too large"
	RefusedTooMany  = "too many files"
	RefusedTooDeep  = "too deep"
	RefusedName     = "bad name"
	RefusedUnread   = "not readable"
)
