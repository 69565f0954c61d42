package images

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

//go:embed relay
var relayFiles embed.FS

// RelayBinary returns the relay's program for a GOARCH ("amd64", "arm64"), which
// the build put into this one.
func RelayBinary(arch string) ([]byte, error) {
	data, err := relayFiles.ReadFile("relay/relay-linux-" + arch)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{
			What: fmt.Sprintf("this program was built without the relay for %s", arch),
			Hint: "run `make build`, which builds the relay first",
		}
	}
	return data, err
}
