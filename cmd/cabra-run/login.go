package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/gateway"
)

// loginOptions say with whose login an agent asks its maker's own hosts.
type loginOptions struct {
	tokenFile string
	tls       string
}

// The words of --tls.
const (
	tlsEnd         = "end"
	tlsPassthrough = "passthrough"
)

func (o *loginOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.tokenFile, "github-token-file", "", "file that holds a GitHub token, for --agent copilot with "+
		"GitHub's models (default: COPILOT_GITHUB_TOKEN, GH_TOKEN, GITHUB_TOKEN or gh auth token)")
	f.StringVar(&o.tls, "tls", tlsEnd, "who ends the encryption to GitHub: end (the gateway, which keeps the token "+
		"and records), or passthrough (the box, which then holds the token)")
}

// loginHint names everything that can be asked without a provider's definition.
const loginHint = "choose one:\n" +
	"  GitHub's models with a login: set COPILOT_GITHUB_TOKEN (or GH_TOKEN, GITHUB_TOKEN), " +
	"give --github-token-file FILE, or call: gh auth login\n" +
	"  a provider with a key: --model PROVIDER/NAME\n" +
	"  an endpoint of your own: --base-url URL\n" +
	"  no key at all: --model scripted"

// asksLogin reports whether a model is one of the agent's maker: a name alone,
// without provider or endpoint, for an agent that can have a login.
func asksLogin(ag agent.Agent, name string, o providerOptions) bool {
	_, scripted := scriptedBehaviour(name)
	return slices.Contains(ag.Traits().Wires, agent.WireLogin) && !scripted && !strings.Contains(name, "/") && o.baseURL == ""
}

// loginModel is a model that the agent asks of its maker's own hosts.
func loginModel(ag agent.Agent, name string, o providerOptions) (runner.Model, results.Provider, error) {
	if err := agent.CheckModel(name); err != nil {
		return runner.Model{}, results.Provider{}, usagef("--model: %w", err)
	}
	if o.tls != tlsEnd && o.tls != tlsPassthrough {
		return runner.Model{}, results.Provider{}, usagef("--tls %q; there is: %s, %s", o.tls, tlsEnd, tlsPassthrough)
	}
	key, err := o.githubToken(name)
	if err != nil {
		return runner.Model{}, results.Provider{}, err
	}
	up, err := gateway.NewGitHub(gateway.GitHubOptions{Token: key})
	if err != nil {
		return runner.Model{}, results.Provider{}, err
	}
	login, err := gateway.NewLogin(gateway.LoginOptions{GitHub: up, Passthrough: o.tls == tlsPassthrough,
		Hosts: ag.Traits().Hosts})
	if err != nil {
		return runner.Model{}, results.Provider{}, err
	}
	m := runner.Model{Name: name, Agent: name, Wire: name, Upstream: up, Wires: []string{agent.WireLogin}, Login: login}
	lock := results.Provider{Name: up.Name(), Description: "GitHub's models with a user's login", TLS: o.tls}
	if login.Passthrough() {
		lock.Losses = passthroughLosses
		lock.Prices = "unknown"
		return m, lock, nil
	}
	lock.Prices, err = o.priced(&m, up.Name())
	return m, lock, err
}

// passthroughLosses is what --tls passthrough gives up.
var passthroughLosses = []string{
	"the box held the real GitHub token: the agent and every command in it could read it, and it may stand in its files",
	"requests and answers of the model are not recorded, only the sizes of connections; no replay",
	"tokens and costs are not metered; budgets did not hold",
	"429 and 5xx of GitHub reached the agent and may have been blamed on it",
	"GitHub's other services at the allowed hosts, its MCP tools among them, were open to the agent",
}

// githubToken finds a login, in the order in which the CLI itself looks.
func (o loginOptions) githubToken(model string) (gateway.KeySource, error) {
	var k gateway.KeySource
	switch env := loginVariable(); {
	case o.tokenFile != "":
		k.File = o.tokenFile
	case env != "":
		k.Env = env
	default:
		gh, err := exec.LookPath("gh")
		if err != nil {
			return k, &codedError{err: fmt.Errorf("--model %s names no provider, and there is no GitHub login", model),
				code: exitUsage, hint: loginHint}
		}
		k.Command = &gateway.KeyCommand{Args: []string{gh, "auth", "token"}}
	}
	if _, err := k.Read(); err != nil {
		return k, &codedError{err: fmt.Errorf("--model %s names no provider, and the GitHub login cannot be read: %w", model, err),
			code: exitUsage, hint: loginHint}
	}
	return k, nil
}

// loginVariable is the first variable that holds a token.
func loginVariable() string {
	for _, name := range []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"} {
		if os.Getenv(name) != "" {
			return name
		}
	}
	return ""
}
