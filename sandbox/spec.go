package sandbox

import (
	"errors"
	"fmt"
	"regexp"
)

var imageID = regexp.MustCompile(`^(sha256:)?[0-9a-f]{64}$`)

// Check finds what can never work in a spec, whatever the engine.
func (s Spec) Check() error {
	switch {
	case !imageID.MatchString(s.Image):
		return fmt.Errorf("image %q is not an image ID", s.Image)
	case len(s.Command) == 0 || s.Command[0] == "":
		return errors.New("no command")
	case s.NoScratch && (s.Home || s.Workspace != nil):
		return errors.New("nothing may be writable, but a home or a workspace is asked for")
	}
	switch s.Network {
	case "", NetworkNone, NetworkBridge:
	default:
		return fmt.Errorf("unknown network %q", s.Network)
	}
	for name := range s.Workspace {
		if !ValidPath(name) {
			return fmt.Errorf("bad workspace path %q", name)
		}
	}
	return nil
}
