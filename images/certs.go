package images

import (
	"os"
	"path/filepath"
)

// Places where Debian keeps certificates.
const (
	systemBundle = "/etc/ssl/certs/ca-certificates.crt"
	localCAs     = "/usr/local/share/ca-certificates/*.crt"
)

// hostBundle returns the CA bundle that builds should trust: the one that the
// environment names, or the system's when the host has certificates of its own
// in it; "" when Debian's own certificates will do.
func hostBundle(getenv func(string) string) string {
	for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"} {
		if file := getenv(name); file != "" && isFile(file) {
			return file
		}
	}
	if own, err := filepath.Glob(localCAs); err == nil && len(own) > 0 && isFile(systemBundle) {
		return systemBundle
	}
	return ""
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
