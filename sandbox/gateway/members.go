package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ownMembers are those that the gateway itself reads and writes. Some providers
// read names in any case, so another spelling of these is refused, or an agent
// could put its own model behind ours.
var ownMembers = []string{"model", "stream", "stream_options"}

// barredMembers are refused: with them some providers and brokers choose
// another model, send the request on to another address or with another key,
// or fetch pages of the internet, which the box must not reach.
var barredMembers = []string{
	"models", "route", "provider", "fallbacks", "context_window_fallbacks", "content_policy_fallbacks", "model_list",
	"engine", "deployment_id", "custom_llm_provider", "mock_response",
	"api_base", "base_url", "api_key", "api_version", "extra_body", "extra_headers", "extra_query",
	"plugins", "web_search", "web_search_options", "search_parameters", "enable_search", "search_options", "data_sources",
}

// checkMember refuses what is not the agent's to ask for.
func checkMember(m member) error {
	if m.name == "" || len(m.name) > 64 || strings.ContainsFunc(m.name, oddInName) {
		return fmt.Errorf("%w: member name %.40q", errBadBody, m.name)
	}
	folded := strings.ToLower(m.name)
	if slices.Contains(ownMembers, folded) && folded != m.name {
		return fmt.Errorf("%w: member %q is spelled otherwise", errBadBody, m.name)
	}
	if slices.Contains(barredMembers, folded) {
		return fmt.Errorf("%w: member %q is not allowed here", errBadBody, m.name)
	}
	if folded == "tools" {
		return checkTools(m.value)
	}
	return nil
}

// oddInName holds for what no name of an API has. Parsers differ in how they
// read such names: they end one at a zero byte, or drop what they cannot read.
func oddInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.", r)
}

// checkTools refuses tools that the provider itself runs, a search of the web
// for one.
func checkTools(raw []byte) error {
	var tools []json.RawMessage
	if err := json.Unmarshal(raw, &tools); err != nil {
		return fmt.Errorf("%w: \"tools\" is not a list", errBadBody)
	}
	for _, tool := range tools {
		members, err := splitObject(tool)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(members, func(m member) bool { return strings.EqualFold(m.name, "type") }); i >= 0 {
			var kind string
			if json.Unmarshal(members[i].value, &kind) != nil || kind != "function" && kind != "custom" {
				return fmt.Errorf("%w: a tool of type %.40s is not allowed here", errBadBody, members[i].value)
			}
		}
	}
	return nil
}
