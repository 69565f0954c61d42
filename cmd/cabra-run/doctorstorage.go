package main

import (
	"fmt"

	"cabra-run/results"
)

// checkStorage says what the file system of the runs folder is good for. What
// makes runs there slower is said; without locks there can be none.
func (a *app) checkStorage() error {
	f, err := results.StorageCheck(existing(a.runsDir))
	if err != nil {
		return hinted(fmt.Errorf("folder %q: %w", a.runsDir, err), "choose another by --runs, or change the permissions")
	}
	if !f.Locks {
		return hinted(fmt.Errorf("folder %q: %s", a.runsDir, f.Problem), f.Hint())
	}
	line := fmt.Sprintf("storage  %s for %s: locks and write-ahead log work", f.Type, a.runsDir)
	if f.Problem != "" {
		line = fmt.Sprintf("storage  %s for %s: %s; %s", f.Type, a.runsDir, f.Problem, f.Hint())
	}
	a.say(line)
	return nil
}
