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
var ownMembers = []string{
	"model", "stream", "stream_options", "max_tokens", "max_completion_tokens", "max_output_tokens", "n",
	"tools", "input", "service_tier", "speed",
}

// geminiMembers are those of Gemini, which takes two spellings of each.
var geminiMembers = []string{
	"model", "tools", "generationConfig", "generation_config", "generateContentRequest",
	"service_tier", "serviceTier",
}

// barredMembers are refused: with them some providers and brokers choose
// another model, send the request on to another address or with another key,
// fetch pages of the internet, which the box must not reach, read what other
// requests have left at the provider, or go on working unmetered.
var barredMembers = foldAll(
	"models", "route", "provider", "fallbacks", "context_window_fallbacks", "content_policy_fallbacks",
	"model_list", "engine", "deployment_id", "custom_llm_provider", "mock_response",
	"api_base", "base_url", "api_key", "api_version", "extra_body", "extra_headers", "extra_query",
	"plugins", "web_search", "web_search_options", "search_parameters", "enable_search", "search_options",
	"data_sources", "mcp_servers", "container", "prompt", "conversation", "cached_content",
	"inference_geo", // has a price of its own
)

func foldAll(names ...string) []string {
	for i, name := range names {
		names[i] = fold(name)
	}
	return names
}

// tiers are the classes of service at the listed price or below.
var tiers = []string{"null", `"auto"`, `"default"`, `"standard"`, `"standard_only"`, `"flex"`}

// checkMember refuses what is not the agent's to ask for.
func checkMember(w Wire, m member) error {
	if m.name == "" || len(m.name) > 64 || strings.ContainsFunc(m.name, oddInName) {
		return fmt.Errorf("%w: member name %.40q", errBadBody, m.name)
	}
	folded := fold(m.name)
	own := ownMembers
	if w == WireGemini {
		own = geminiMembers
	}
	spelled := slices.Contains(own, m.name)
	if !spelled && slices.ContainsFunc(own, func(name string) bool { return fold(name) == folded }) {
		return fmt.Errorf("%w: member %q is spelled otherwise", errBadBody, m.name)
	}
	if slices.Contains(barredMembers, folded) {
		return fmt.Errorf("%w: member %q is not allowed here", errBadBody, m.name)
	}
	if slices.Contains(conversationMembers, folded) {
		if err := checkSources(m.value); err != nil {
			return err
		}
	}
	switch folded {
	case "tools":
		return checkTools(w, m.value, 0)
	case "input":
		if w == WireResponses {
			return checkItems(m.value)
		}
	case "background":
		if string(m.value) != "false" && string(m.value) != "null" {
			return fmt.Errorf("%w: requests in the background are not allowed here", errBadBody)
		}
	case "previousresponseid":
		// What was said before would be paid for again, and stands in no body.
		if string(m.value) != "null" {
			return fmt.Errorf("%w: requests that go on from an earlier answer are not allowed here", errBadBody)
		}
	case "servicetier", "speed":
		if !slices.Contains(tiers, strings.ToLower(string(m.value))) {
			return fmt.Errorf("%w: %q %.40s is not allowed here", errBadBody, m.name, m.value)
		}
	}
	return nil
}

// oddInName holds for what no name of an API has. Parsers differ in how they
// read such names: they end one at a zero byte, or drop what they cannot read.
func oddInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.", r)
}

// checkItems looks for tools among the items of a responses request, where
// Codex puts them.
func checkItems(raw []byte) error {
	for item := range elements(raw) { // a text has none
		for m := range membersOf(item) {
			if fold(m.name) != "tools" {
				continue
			}
			if err := checkTools(WireResponses, m.value, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// boxTools are the types of tools, besides plain functions, that run in the
// box or only find other tools. Anthropic's names carry a date behind them.
var boxTools = map[Wire][]string{
	WireChat:      {"function", "custom"},
	WireResponses: {"function", "custom", "namespace", "local_shell", "apply_patch", "tool_search"},
	WireMessages:  {"custom", "bash_", "text_editor_", "memory_", "computer_", "tool_search_tool_"},
}

// maxToolDepth is how deep groups of tools may lie in each other.
const maxToolDepth = 4

// checkTools refuses tools that the provider itself runs, a search of the web
// for one.
func checkTools(w Wire, raw []byte, depth int) error {
	if raw[0] != '[' && string(raw) != "null" || depth > maxToolDepth {
		return fmt.Errorf("%w: \"tools\" is not a list of tools", errBadBody)
	}
	for tool := range elements(raw) {
		members, err := splitValid(tool)
		if err != nil {
			return err
		}
		for _, m := range members {
			if err := checkTool(w, m, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkTool(w Wire, m member, depth int) error {
	folded := fold(m.name)
	switch {
	case w == WireGemini:
		if folded != "functiondeclarations" {
			return fmt.Errorf("%w: a tool of type %.40q is not allowed here", errBadBody, m.name)
		}
	case folded == "tools":
		return checkTools(w, m.value, depth+1)
	case folded == "type":
		var kind string
		if json.Unmarshal(m.value, &kind) != nil || !runsInBox(w, kind) {
			return fmt.Errorf("%w: a tool of type %.40s is not allowed here", errBadBody, m.value)
		}
	}
	return nil
}

func runsInBox(w Wire, kind string) bool {
	return slices.ContainsFunc(boxTools[w], func(name string) bool {
		return kind == name || strings.HasSuffix(name, "_") && strings.HasPrefix(kind, name)
	})
}
