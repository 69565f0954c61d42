package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// PrivateDir makes a folder that only this user can enter, or makes sure that
// the one which is there is such. In a folder that somebody else has made or
// can write to, locks and workspaces could be exchanged behind our back.
func PrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: dir, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%q is not a folder, or a link to one", dir)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("folder %q belongs to uid %d, not to this user", dir, st.Uid)
	case st.Mode&0o077 != 0:
		return fmt.Errorf("folder %q is open to others (mode %04o, not 0700)", dir, st.Mode&0o7777)
	}
	parent := filepath.Dir(dir)
	if err := unix.Stat(parent, &st); err != nil {
		return &os.PathError{Op: "stat", Path: parent, Err: err}
	}
	if st.Mode&0o002 != 0 && st.Mode&unix.S_ISVTX == 0 {
		return fmt.Errorf("folder %q can be written to by everybody (mode %04o)", parent, st.Mode&0o7777)
	}
	return nil
}
