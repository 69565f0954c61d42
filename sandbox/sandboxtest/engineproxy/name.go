package engineproxy

import "strings"

// Name is the plain name of an engine call, the same that docker.Options.Observe
// uses ("create", "exec attach"); one that has none there is named by its method and
// path.
func Name(method, path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) > 0 && strings.HasPrefix(parts[0], "v1.") {
		parts = parts[1:]
	}
	for i, p := range parts {
		// What stands behind a collection's name and is no verb is an ID.
		if i == 1 && !verbs[p] {
			parts[i] = "ID"
		}
	}
	call := method + " " + strings.Join(parts, "/")
	if name, ok := names[call]; ok {
		return name
	}
	return call
}

var verbs = map[string]bool{"json": true, "create": true, "load": true, "get": true, "prune": true}

var names = map[string]string{
	"HEAD _ping": "ping", "GET _ping": "ping", "GET info": "info", "GET version": "version", "GET events": "events",
	"GET images/ID/json":        "image inspect",
	"POST containers/create":    "create",
	"GET containers/json":       "list",
	"POST containers/ID/attach": "attach",
	"POST containers/ID/start":  "start",
	"POST containers/ID/wait":   "wait",
	"POST containers/ID/kill":   "kill",
	"DELETE containers/ID":      "remove",
	"GET containers/ID/json":    "inspect",
	"POST containers/ID/update": "update",
	"GET containers/ID/stats":   "stats",
	"POST containers/ID/exec":   "exec create",
	"POST exec/ID/start":        "exec attach",
	"GET exec/ID/json":          "exec inspect",
	"POST exec/ID/resize":       "exec resize",
	"PUT containers/ID/archive": "archive put",
	"GET containers/ID/archive": "archive get",
	"POST volumes/create":       "volume create",
	"DELETE volumes/ID":         "volume remove",
	"GET volumes":               "volume list",
}
