package results

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// TrialKey is the identity of a trial: a hash over task id and digest, agent
// and version, model, repetition and settings, and over nothing else.
func TrialKey(t Trial) string {
	text := make([]byte, 0, 512)
	for _, s := range []string{"cabra-trial-1", string(t.TaskID), t.TaskDigest, t.Agent, t.Version, t.Model,
		strconv.Itoa(t.Repetition), t.Settings} {
		text = append(strconv.AppendInt(text, int64(len(s)), 10), ':') // so that no two lists hash alike
		text = append(text, s...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// ArtefactPath is the folder of a trial's n-th attempt in a run that has one
// agent and model: relative to the run folder, with slashes. Where a run has
// several, the store puts a folder for agent and model in between; the path
// that holds is always that of the recorded Attempt.
func ArtefactPath(t Trial, n int) string { return attemptPath(trialFolder(t, false), n) }

func attemptPath(folder string, n int) string { return path.Join(folder, fmt.Sprintf("attempt-%d", n)) }

func trialFolder(t Trial, shared bool) string {
	folder := path.Join("trials", string(t.TaskID), fmt.Sprint(t.Repetition))
	if shared {
		folder = path.Join(folder, slug(t.Agent+"@"+t.Version)+"+"+slug(t.Model))
	}
	return folder
}

// slug makes a name that is safe as part of a folder name. A name that had to
// be changed gets a piece of its hash, so that no two names meet.
func slug(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == '-', r == '@':
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if len(safe) > 80 {
		safe = safe[:80]
	}
	if safe == name {
		return safe
	}
	return safe + "-" + textDigest(name)[:8]
}

// textDigest is the start of the hash of a text, short enough to be read.
func textDigest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
