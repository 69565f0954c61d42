package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"cabra-run/results/trace"
)

// Copilot drives GitHub's Copilot CLI with the flags of the paper (appendix
// A.8) and a model endpoint of its own, offline.
type Copilot struct{}

// copilotDir is where the image has the unpacked npm package of the native
// program. Started from there with COPILOT_CLI_DIST_DIR it extracts nothing.
const copilotDir = "/opt/copilot"

// Name implements Agent.
func (Copilot) Name() string { return "copilot" }

// Version implements Agent.
func (Copilot) Version() string { return "1.0.81" }

// Recipe implements Agent.
func (Copilot) Recipe() string { return "copilot" }

// Launch implements Agent.
func (Copilot) Launch(j Job) (Launch, error) {
	if j.Model == "" || j.BaseURL == "" || j.SessionID == "" {
		return Launch{}, fmt.Errorf("copilot: model, endpoint and session id are needed")
	}
	return Launch{
		Args: []string{
			copilotDir + "/copilot",
			"--model=" + j.Model,
			"-C", j.Workspace,
			"--mode", "autopilot",
			"--silent",
			"--allow-all-tools",
			"--excluded-tools=session_store_sql",
			"--deny-tool=session_store_sql",
			"--session-id=" + j.SessionID,
			"--no-ask-user",
			"--no-remote",
			"--no-remote-export",
			// Not among the paper's flags: an AGENTS.md in the workspace must not change the run.
			"--no-custom-instructions",
		},
		Env: []string{
			"HOME=" + j.Home,
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"LANG=C.UTF-8",
			"TZ=UTC",
			"TERM=dumb",
			"COPILOT_CLI_DIST_DIR=" + copilotDir,
			"COPILOT_OFFLINE=true",
			"COPILOT_AUTO_UPDATE=false",
			"COPILOT_PROVIDER_BASE_URL=" + j.BaseURL,
			"COPILOT_PROVIDER_TYPE=openai",
			"COPILOT_PROVIDER_WIRE_API=completions",
		},
		Stdin:    j.Prompt,
		Signal:   "TERM",
		Sessions: []string{".copilot"},
	}, nil
}

// ReadTrace implements Agent.
func (Copilot) ReadTrace(home *os.Root, j Job) (*trace.Trace, error) {
	name := path.Join(".copilot/session-state", j.SessionID, "events.jsonl")
	f, err := home.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading trace %q: %w", name, err)
	}
	defer f.Close()
	return trace.ReadCopilot(f), nil
}
