package agent

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"cabra-run/tasks"
)

const oddModel = "vend or/näme:$(touch /x)`\"'{session}\\%s"

func job(wire string) Job {
	return Job{
		Model: "m-1", Prompt: "- do \"this\" — ünd 'that'", Root: "http://127.0.0.1:8017/tok", BaseURL: "http://127.0.0.1:8017/tok/v1",
		Wire: wire, SessionID: "0b8d1c3e-0000-4000-8000-000000000001", Workspace: "/workspace", Home: "/home/agent",
	}
}

// The flags of the paper's appendix A.8 and the variables of spec section 3.1.
func TestCopilotLaunch(t *testing.T) {
	a, err := Find("copilot")
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Launch(job("chat"))
	if err != nil {
		t.Fatal(err)
	}
	wantArgs := []string{"/opt/copilot/copilot", "--model=m-1", "-C", "/workspace", "--mode", "autopilot", "--silent",
		"--allow-all-tools", "--excluded-tools=session_store_sql", "--deny-tool=session_store_sql",
		"--session-id=0b8d1c3e-0000-4000-8000-000000000001", "--no-ask-user", "--no-remote", "--no-remote-export",
		"--no-custom-instructions"}
	if !slices.Equal(l.Args, wantArgs) {
		t.Errorf("arguments\n%q, want\n%q", l.Args, wantArgs)
	}
	wantEnv := []string{"COPILOT_AUTO_UPDATE=false", "COPILOT_CLI_DIST_DIR=/opt/copilot", "COPILOT_OFFLINE=true",
		"COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:8017/tok/v1", "COPILOT_PROVIDER_TYPE=openai",
		"COPILOT_PROVIDER_WIRE_API=completions", "HOME=/home/agent", "LANG=C.UTF-8",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=dumb", "TZ=UTC"}
	if !slices.Equal(l.Env, wantEnv) {
		t.Errorf("environment\n%q, want\n%q", l.Env, wantEnv)
	}
	if l.Stdin != job("chat").Prompt || len(l.Files) != 0 || l.Signal != "TERM" || !slices.Equal(l.Sessions, []string{".copilot"}) {
		t.Errorf("%+v", l)
	}
	j := job("responses")
	j.Effort, j.Instructions = "high", true
	if l, err = a.Launch(j); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(l.Env, "COPILOT_PROVIDER_WIRE_API=responses") || l.Args[len(l.Args)-1] != "--effort=high" ||
		slices.Contains(l.Args, "--no-custom-instructions") {
		t.Errorf("%+v", l)
	}
}

// With a login the CLI is pointed at the proxy and asks its own hosts; only
// where the gateway ends TLS it is told to trust the run's certificate.
func TestCopilotLogin(t *testing.T) {
	a, err := Find("copilot")
	if err != nil {
		t.Fatal(err)
	}
	j := job(WireLogin)
	if _, err := a.Launch(j); err == nil {
		t.Error("started without proxy and token")
	}
	for _, ca := range []string{"-----BEGIN", ""} {
		j.Login = Login{Proxy: "http://box:tok@127.0.0.1:8017", CA: ca, Token: "gho_dummy"}
		l, err := a.Launch(j)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"HTTPS_PROXY=" + j.Login.Proxy, "https_proxy=" + j.Login.Proxy,
			"COPILOT_GITHUB_TOKEN=gho_dummy", "NO_PROXY=127.0.0.1,localhost"} {
			if !slices.Contains(l.Env, want) {
				t.Errorf("no %s in %q", want, l.Env)
			}
		}
		trusts := slices.Contains(l.Env, "SSL_CERT_FILE=/home/agent/.cabra-run/ca.pem") &&
			slices.Contains(l.Env, "NODE_EXTRA_CA_CERTS=/home/agent/.cabra-run/ca.pem") && l.Files[".cabra-run/ca.pem"] == ca
		if trusts != (ca != "") || strings.Contains(strings.Join(l.Env, " "), "COPILOT_PROVIDER") {
			t.Errorf("CA %q: %q, files %q", ca, l.Env, l.Files)
		}
	}
}

func TestCodexConfiguration(t *testing.T) {
	a, err := Find("codex")
	if err != nil {
		t.Fatal(err)
	}
	j := job("responses")
	j.Model, j.Effort = oddModel, "high"
	l, err := a.Launch(j)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Model     string
		Providers map[string]struct {
			BaseURL string `toml:"base_url"`
		} `toml:"model_providers"`
	}
	if err := toml.Unmarshal([]byte(l.Files[".codex/config.toml"]), &config); err != nil {
		t.Fatal(err)
	}
	if config.Model != oddModel || config.Providers["box"].BaseURL != j.BaseURL {
		t.Errorf("the CLI would read %+v", config)
	}
	tail := l.Args[slices.Index(l.Args, "-C"):]
	want := []string{"-C", "/workspace", "-c", `model_reasoning_effort="high"`, "-c", "project_doc_max_bytes=0", "-"}
	if !slices.Equal(tail, want) {
		t.Errorf("arguments end in %q, want %q", tail, want)
	}
}

// Every built-in agent takes what an attempt may bring, as one argument, one
// variable or one quoted text, or refuses it with a reason.
func TestBuiltInsTakeOddJobs(t *testing.T) {
	for _, a := range All() {
		wires := a.Traits().Wires
		if len(wires) == 0 {
			continue
		}
		for _, wire := range wires {
			j := job(wire)
			j.Prompt = strings.Repeat("long prompt ", 200<<10/12)
			j.Login = Login{Proxy: "http://box:tok@127.0.0.1:8017", CA: "PEM", Token: "gho_dummy"}
			l, err := a.Launch(j)
			if err != nil {
				t.Errorf("%s with a prompt of 200 KB: %v", a.Name(), err)
				continue
			}
			if a.Traits().Bare == "" && l.Stdin != j.Prompt && l.Files[promptFile] != j.Prompt {
				t.Errorf("%s does not get its prompt", a.Name())
			}
			j.Model = oddModel
			if l, err = a.Launch(j); err != nil {
				if !strings.Contains(err.Error(), "model name") {
					t.Errorf("%s with an odd model name: %v", a.Name(), err)
				}
				continue
			}
			for name, text := range l.Files {
				if strings.HasSuffix(name, ".json") && !json.Valid([]byte(text)) {
					t.Errorf("%s: %s is no JSON:\n%s", a.Name(), name, text)
				}
			}
		}
		if _, err := a.Launch(job("carrier pigeon")); err == nil {
			t.Errorf("%s speaks any wire format", a.Name())
		}
	}
}

func TestJobsThatCannotWork(t *testing.T) {
	text := goodText(t)
	tests := map[string]struct {
		change func(string) string
		job    func(*Job)
		want   string
	}{
		"no model":             {nil, func(j *Job) { j.Model = "" }, "a model name is needed"},
		"model with a newline": {nil, func(j *Job) { j.Model = "a\nb" }, "cannot be printed"},
		"model with a space":   {nil, func(j *Job) { j.Model = " a" }, "begins or ends in a space"},
		"model as an option":   {nil, func(j *Job) { j.Model = "--help" }, "taken for an option"},
		"model too long":       {nil, func(j *Job) { j.Model = strings.Repeat("m", 201) }, "201 bytes; at most 200"},
		"model of a wrong form": {replaced(`prompt  = "stdin"`, "prompt = \"stdin\"\nmodels = '[a-z]+|x1'"),
			func(j *Job) { j.Model = "x12" }, "only be told names of the form [a-z]+|x1"},
		"effort it does not know": {nil, func(j *Job) { j.Effort = "huge" }, `no effort "huge"; there is: low, high`},
		"effort it cannot be told": {replaced("efforts = [\"low\", \"high\"]\n", "", "[[when]]\nis = \"effort\"\nargs = [\"--effort={effort}\"]\n", ""),
			func(j *Job) { j.Effort = "low" }, "cannot be told a reasoning effort"},
		"other wire": {nil, func(j *Job) { j.Wire = "gemini" }, `wire format "gemini"; it speaks: chat`},
		"argument of more than 128 KiB": {asArgument("{prompt}"), func(j *Job) { j.Prompt = strings.Repeat("x", 128<<10) },
			"an argument of 131072 bytes; the system takes at most 131071"},
		"argument that looks like an option": {asArgument("{prompt}"), func(j *Job) { j.Prompt = "-v" }, `begins with "-"`},
		"zero byte":                          {asArgument("{prompt}"), func(j *Job) { j.Prompt = "a\x00b" }, "zero byte"},
		"no address":                         {nil, func(j *Job) { j.Root = "" }, "address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := text
			if tt.change != nil {
				s = tt.change(s)
			}
			a, err := own("good.toml", s)
			if err != nil {
				t.Fatal(err)
			}
			j := job("chat")
			tt.job(&j)
			if _, err = a.Launch(j); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want something about %q", err, tt.want)
			}
		})
	}
}

func TestPromptsArrive(t *testing.T) {
	long := strings.Repeat("p", 128<<10-1)
	for name, tt := range map[string]struct {
		change func(string) string
		prompt string
		got    func(Launch) string
	}{
		"stdin":              {nil, "-x {model} \x00", func(l Launch) string { return l.Stdin }},
		"longest argument":   {asArgument("{prompt}"), long, func(l Launch) string { return l.Args[1] }},
		"behind an option":   {asArgument("-p={prompt}"), "-x {model}", func(l Launch) string { return l.Args[1][3:] }},
		"behind a separator": {asArgument(`--", "{prompt}`), "-x 'y' \"z\"", func(l Launch) string { return l.Args[2] }},
		"file": {replaced(`prompt  = "stdin"`, `prompt = "file"`, `"/opt/good/good"`, `"/opt/good/good", "@{prompt_file}"`),
			"-x ü\n{home}", func(l Launch) string {
				if l.Args[1] != "@/home/agent/prompt.txt" {
					return l.Args[1]
				}
				return l.Files["prompt.txt"]
			}},
	} {
		t.Run(name, func(t *testing.T) {
			s := goodText(t)
			if tt.change != nil {
				s = tt.change(s)
			}
			a, err := own("good.toml", s)
			if err != nil {
				t.Fatal(err)
			}
			j := job("chat")
			j.Prompt = tt.prompt
			l, err := a.Launch(j)
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.got(l); got != tt.prompt {
				t.Errorf("arrives as %.80q", got)
			}
		})
	}
}

func TestReferenceAndNop(t *testing.T) {
	ref, nothing := reference{}, nop{}
	if _, err := ref.Launch(Job{}); err == nil {
		t.Error("a reference without a solution")
	}
	l, err := ref.Launch(Job{Solution: tasks.Files{"solution.py": "x = 1\n"}})
	if err != nil || l.Workspace["solution.py"] != "x = 1\n" || !slices.Equal(l.Args, []string{"/bin/true"}) {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err = nothing.Launch(Job{}); err != nil || len(l.Workspace) != 0 || !slices.Equal(l.Args, []string{"/bin/true"}) {
		t.Errorf("%+v, %v", l, err)
	}
	if ref.Traits().AsksModel() || nothing.Traits().AsksModel() || !ref.Traits().Solution || nothing.Traits().Solution {
		t.Error("one asks a model, or the wrong one gets the solution")
	}
}

// goodText is a definition that uses everything.
func goodText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/good.toml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// replaced returns a function that replaces texts, each of which has to be there.
func replaced(pairs ...string) func(string) string {
	return func(s string) string {
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(s, pairs[i]) {
				panic("no " + pairs[i])
			}
			s = strings.Replace(s, pairs[i], pairs[i+1], 1)
		}
		return s
	}
}

// asArgument makes the prompt an argument of the good definition.
func asArgument(arg string) func(string) string {
	return replaced(`prompt  = "stdin"`, `prompt = "argument"`, `"/opt/good/good"`, `"/opt/good/good", "`+arg+`"`)
}
