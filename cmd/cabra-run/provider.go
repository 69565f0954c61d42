package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"cabra-run/results"
	"cabra-run/runner"
	"cabra-run/runner/agent"
	"cabra-run/sandbox/gateway"
	"cabra-run/sandbox/gateway/price"
	"cabra-run/sandbox/gateway/provider"
)

// providerOptions say where the model's answers come from. Keys are read on
// this machine at every use and never enter a box.
type providerOptions struct {
	providers string // file of definitions that add to the built-in ones
	prices    string // file of prices that add to the built-in ones

	// An endpoint without a definition.
	baseURL    string
	wires      []string
	apiKey     string
	apiKeyEnv  string
	apiKeyFile string

	noPreflight bool

	loginOptions
}

func (o *providerOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.providers, "providers", "", "file of provider definitions (default: providers.toml in the configuration folder)")
	f.StringVar(&o.prices, "prices", "", "file of prices that override the built-in table")
	f.StringVar(&o.baseURL, "base-url", os.Getenv("CABRA_BASE_URL"), "endpoint without a definition, ending in /v1 (or CABRA_BASE_URL)")
	f.StringSliceVar(&o.wires, "wire", nil, "wire formats of --base-url: chat (the default), responses, messages, gemini")
	f.StringVar(&o.apiKeyEnv, "api-key-env", "", "environment variable that holds the key of --base-url (default CABRA_API_KEY)")
	f.StringVar(&o.apiKeyFile, "api-key-file", "", "file that holds it")
	f.StringVar(&o.apiKey, "api-key", "", "the key itself; others can see it in the process list")
	o.loginOptions.addFlags(f)
	f.BoolVar(&o.noPreflight, "no-preflight", false, "do not ask the model for one tiny answer before anything else")
}

// scriptedModel is what the CLI is told when the scripted upstream plays the model.
const scriptedModel = "scripted-1"

// parseModel turns the model's name and the provider flags into an upstream.
func parseModel(name string, o providerOptions) (runner.Model, results.Provider, error) {
	if behaviour, ok := scriptedBehaviour(name); ok {
		return scripted(name, behaviour)
	}
	if err := agent.CheckModel(name); err != nil {
		return runner.Model{}, results.Provider{}, usagef("--model: %w", err)
	}
	if o.baseURL != "" {
		return o.endpointModel(name)
	}
	return o.definedModel(name)
}

func scripted(name, behaviour string) (runner.Model, results.Provider, error) {
	up, err := gateway.NewScripted(behaviour)
	if behaviour == "" { // a name that says less than it seems to
		err = &gateway.BehaviourError{Why: "none given"}
	}
	if err != nil {
		return runner.Model{}, results.Provider{}, usagef("--model %q: %w", name, err)
	}
	return runner.Model{Name: name, Agent: scriptedModel, Wire: scriptedModel, Upstream: up,
			Wires: wireNames(gateway.Wires()...)},
		results.Provider{Description: "scripted policy, no model", Scripted: true}, nil
}

func scriptedBehaviour(model string) (string, bool) {
	if model == "scripted" {
		return "solve", true
	}
	return strings.CutPrefix(model, "scripted:")
}

// checkEndpointFlags refuses flags of an endpoint that would say nothing: who
// gives them means another key than the one that would be used.
func (o providerOptions) checkEndpointFlags() error {
	if len(o.wires) > 0 || o.apiKey != "" || o.apiKeyEnv != "" || o.apiKeyFile != "" {
		return usagef("--wire, --api-key, --api-key-env and --api-key-file are for --base-url; " +
			"a provider's definition says its own (--providers FILE changes it)")
	}
	return nil
}

// definedModel is a model of a provider that has a definition.
func (o providerOptions) definedModel(name string) (runner.Model, results.Provider, error) {
	var m runner.Model
	if err := o.checkEndpointFlags(); err != nil {
		return m, results.Provider{}, err
	}
	registry, err := provider.Load(o.providers)
	if err != nil {
		return m, results.Provider{}, &codedError{err: err, code: exitUsage}
	}
	def, own, err := registry.Resolve(name)
	if err != nil {
		return m, results.Provider{}, &codedError{err: fmt.Errorf("--model: %w", err), code: exitUsage, hint: o.choices(err)}
	}
	up, err := def.Upstream(nil)
	if err != nil {
		return m, results.Provider{}, hinted(fmt.Errorf("provider %s: %w", def.Name, err), "its key is read from: "+def.Key.String())
	}
	m = runner.Model{Name: name, Agent: own, Wire: own, Upstream: up, Wires: wireNames(def.Wires...)}
	lock := results.Provider{Name: def.Name, Description: fmt.Sprintf("%s (%s)", def.About, addresses(def))}
	lock.Prices, err = o.priced(&m, def.Name)
	return m, lock, err
}

// choices is what can be written where a model names no known provider.
func (o providerOptions) choices(err error) string {
	hint := "or give an endpoint of your own by --base-url; without any key there is: --model scripted"
	var adv advisor
	if errors.As(err, &adv) && adv.Hint() != "" {
		hint = adv.Hint() + "\n" + hint
	}
	return hint
}

// addresses are the base URLs of a provider, each once.
func addresses(def *provider.Definition) string {
	var list []string
	for _, w := range def.Wires {
		end, err := def.Endpoint(w)
		if err == nil && !strings.Contains(strings.Join(list, " "), end.BaseURL) {
			list = append(list, end.BaseURL)
		}
	}
	return strings.Join(list, ", ")
}

// ownEndpoint begins what a lock says of an endpoint without a definition.
const ownEndpoint = "own endpoint "

// endpointModel is a model of an endpoint that has no definition.
func (o providerOptions) endpointModel(name string) (runner.Model, results.Provider, error) {
	u, err := url.Parse(o.baseURL)
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return runner.Model{}, results.Provider{}, usagef(
			"--base-url: want an http(s) endpoint such as https://api.example.com/v1")
	}
	wires, ends, err := o.endpoints()
	if err != nil {
		return runner.Model{}, results.Provider{}, err
	}
	key, err := o.key()
	if err != nil {
		return runner.Model{}, results.Provider{}, err
	}
	up, err := gateway.NewHTTP(gateway.HTTPOptions{Endpoints: ends, Key: key})
	if err != nil {
		return runner.Model{}, results.Provider{}, &codedError{err: err, code: exitUsage}
	}
	m := runner.Model{Name: name, Agent: name, Wire: name, Upstream: up, Wires: wires}
	lock := results.Provider{Name: up.Name(), Description: ownEndpoint + u.Scheme + "://" + u.Host + u.Path}
	lock.Prices, err = o.priced(&m, up.Name())
	return m, lock, err
}

// endpoints are the wire formats of --base-url at their addresses.
func (o providerOptions) endpoints() ([]string, map[gateway.Wire]gateway.Endpoint, error) {
	wires := o.wires
	if len(wires) == 0 {
		wires = wireNames(gateway.WireChat)
	}
	auth := map[gateway.Wire]gateway.Auth{gateway.WireMessages: gateway.AuthXKey, gateway.WireGemini: gateway.AuthGoogle}
	ends := map[gateway.Wire]gateway.Endpoint{}
	for _, name := range wires {
		w := gateway.Wire(name)
		switch w {
		case gateway.WireChat, gateway.WireResponses, gateway.WireMessages, gateway.WireGemini:
			ends[w] = gateway.Endpoint{BaseURL: o.baseURL, Auth: auth[w]}
			if w == gateway.WireMessages {
				end := ends[w]
				end.Headers = map[string]string{"anthropic-version": "2023-06-01"}
				ends[w] = end
			}
		default:
			return nil, nil, usagef("--wire %q; there is: %s", name, strings.Join(wireNames(gateway.Wires()...), ", "))
		}
	}
	return wires, ends, nil
}

// priced looks the model's price up, and says where it comes from.
func (o providerOptions) priced(m *runner.Model, name string) (string, error) {
	var files []string
	if o.prices != "" {
		files = append(files, o.prices)
	}
	table, err := price.Load(files...)
	if err != nil {
		return "", &codedError{err: err, code: exitUsage}
	}
	p, ok := table.Lookup(name, m.Wire)
	if !ok {
		return "unknown", nil
	}
	m.Price = &p
	return fmt.Sprintf("per million tokens: input $%g, cached $%g, output $%g; %s: %s",
		p.Input, p.Cached, p.Output, p.Date, p.Source), nil
}

// key says where the key is, and reads it once so that a missing one shows
// before anything is made.
func (o providerOptions) key() (gateway.KeySource, error) {
	k := gateway.KeySource{Value: o.apiKey, Env: o.apiKeyEnv, File: o.apiKeyFile}
	if k == (gateway.KeySource{}) && os.Getenv("CABRA_API_KEY") != "" {
		k.Env = "CABRA_API_KEY"
	}
	if k == (gateway.KeySource{}) {
		return k, hinted(fmt.Errorf("no key for the model's endpoint"),
			"give one by --api-key-env NAME, --api-key-file FILE or CABRA_API_KEY (any text, if the endpoint needs none)")
	}
	if _, err := k.Read(); err != nil {
		return k, hinted(err, "check --api-key-env, --api-key-file or CABRA_API_KEY")
	}
	return k, nil
}

// preflightTime is how long one tiny answer may take.
const preflightTime = 2 * time.Minute

// preflight asks the model for one tiny answer, so that a rejected key or an
// unknown model shows before anything is made or paid for.
func (a *app) preflight(ctx context.Context, o providerOptions, m runner.Model, wire string) error {
	if _, free := m.Upstream.(*gateway.Scripted); free || o.noPreflight || wire == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, preflightTime)
	defer cancel()
	a.say(fmt.Sprintf("asking %s for one tiny answer …", m.Name))
	if err := preflightOf(ctx, m, wire); err != nil {
		return &codedError{err: fmt.Errorf("preflight: %w", err), code: exitPaused,
			hint: "nothing was run; mend it and call again (--no-preflight leaves this out)"}
	}
	return nil
}

// preflightOf asks GitHub, where the agent has a login, only whether the user
// may have the model: that costs nothing.
func preflightOf(ctx context.Context, m runner.Model, wire string) error {
	if up, ok := m.Upstream.(*gateway.GitHub); ok {
		return up.Check(ctx, m.Wire)
	}
	return gateway.Preflight(ctx, m.Upstream, gateway.Wire(wire), m.Wire)
}
