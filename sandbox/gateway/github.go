package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// GitHub's hosts that a CLI with a GitHub login asks.
const (
	githubAPI  = "api.github.com"
	copilotAPI = "api.githubcopilot.com"
)

// githubDomains are the domains that the run's authority may sign for.
var githubDomains = []string{"github.com", "githubcopilot.com"}

// isCopilotHost reports whether a host serves GitHub's models: one for all, and
// one for each kind of plan, such as api.individual.githubcopilot.com.
func isCopilotHost(host string) bool {
	plan, ok := strings.CutSuffix(host, ".githubcopilot.com")
	if !ok {
		return false
	}
	if plan == "api" {
		return true
	}
	plan, ok = strings.CutPrefix(plan, "api.")
	return ok && isLabel(plan)
}

// isLabel reports whether s is one part of a host's name.
func isLabel(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 63
}

// GitHubOptions describe the login at GitHub whose models are asked.
type GitHubOptions struct {
	Token KeySource
	Mask  *Mask // learns every token that is read or told; nil makes an own one
}

// GitHub is an upstream that asks GitHub's models with a user's token.
type GitHub struct{ http *HTTP }

// NewGitHub returns the upstream; nothing is sent yet.
func NewGitHub(o GitHubOptions) (*GitHub, error) {
	up, err := NewHTTP(HTTPOptions{Name: "github-copilot", BaseURL: "https://" + copilotAPI, Key: o.Token, Mask: o.Mask})
	if err != nil {
		return nil, err
	}
	return &GitHub{up}, nil
}

// Name implements Upstream.
func (g *GitHub) Name() string { return g.http.Name() }

// Mask returns the mask that knows every token that was read or told.
func (g *GitHub) Mask() *Mask { return g.http.Mask() }

// Close drops idle connections.
func (g *GitHub) Close() { g.http.Close() }

// RoundTrip implements Upstream. The host is that of the request where it names
// one of GitHub's. A request that is authorized already keeps its token, which
// GitHub itself has told; any other gets the user's.
func (g *GitHub) RoundTrip(r *http.Request) (*http.Response, error) {
	base := &url.URL{Scheme: "https", Host: copilotAPI, Path: "/"}
	if h := r.URL.Host; h == githubAPI || isCopilotHost(h) {
		base.Host = h
	}
	if wire, _ := WireOf(r.URL.Path); wire == WireMessages {
		base.Path = "/v1"
	}
	end := &destination{base: base, auth: AuthBearer}
	if r.Header.Get("Authorization") != "" {
		return g.http.send(r, end, nil)
	}
	return g.http.authorized(r, end)
}

// Check asks GitHub whether the user may ask the model, which costs nothing.
// Errors are a *PreflightError or the context's.
func (g *GitHub) Check(ctx context.Context, model string) error {
	ctx, cancel := context.WithTimeout(ctx, preflightTime)
	defer cancel()
	fail := func(kind PreflightKind, status int, format string, args ...any) error {
		return &PreflightError{Kind: kind, Provider: g.Name(), Model: model, Status: status,
			Message: g.Mask().String(fmt.Sprintf(format, args...))}
	}
	header := http.Header{"Copilot-Integration-Id": {cliIntegration}, "Accept": {"application/json"}}
	resp, body, err := g.fetch(ctx, &url.URL{Host: copilotAPI, Path: modelsPath}, header)
	switch {
	case errors.Is(err, ErrKey):
		return fail(PreflightKey, 0, "the GitHub token cannot be read: %v", err)
	case err != nil && ctx.Err() == nil:
		return fail(PreflightSilent, 0, "GitHub does not answer: %v", err)
	case err != nil:
		return fmt.Errorf("asking GitHub: %w", ctx.Err())
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return fail(PreflightKey, resp.StatusCode,
			"GitHub refuses the token (status %d): %s; it needs to be a user's, with access to Copilot",
			resp.StatusCode, errorMessage(body))
	case resp.StatusCode != http.StatusOK:
		return fail(PreflightBroken, resp.StatusCode, "GitHub does not tell its models (status %d): %s",
			resp.StatusCode, errorMessage(body))
	}
	names := modelNames(body)
	if !slices.Contains(names, model) {
		return fail(PreflightModel, resp.StatusCode, "GitHub offers this user no model %q; there is: %s",
			model, oneLine(strings.Join(names, ", ")))
	}
	return nil
}

// cliIntegration is how the CLI names itself.
const cliIntegration = "copilot-developer-cli"

// modelNames reads a list of models.
func modelNames(body []byte) []string {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	_ = json.Unmarshal(body, &list) // what is no list has no models
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	return names
}

// fetch asks GitHub for something short.
func (g *GitHub) fetch(ctx context.Context, target *url.URL, header http.Header) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	r.URL, r.Header = target, header
	r.GetBody = func() (io.ReadCloser, error) { return http.NoBody, nil }
	resp, err := g.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLookup+1))
	if err == nil && len(body) > maxLookup {
		err = fmt.Errorf("an answer of more than %d bytes", maxLookup)
	}
	return resp, body, err
}
