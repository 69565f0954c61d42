package githubtest

import (
	"context"
	"net"
)

// endpoints are those of a user with a plan of their own.
func endpoints() map[string]any {
	return map[string]any{
		"api": "https://" + Plan, "proxy": "https://proxy.individual.githubcopilot.com",
		"origin-tracker": "https://origin-tracker.individual.githubcopilot.com",
		"telemetry":      "https://telemetry.individual.githubcopilot.com",
	}
}

// user is the answer to who the user is.
func user() map[string]any {
	quota := func(name string, unlimited bool) map[string]any {
		return map[string]any{"quota_id": name, "unlimited": unlimited, "entitlement": 300, "remaining": 290,
			"quota_remaining": 290.0, "percent_remaining": 96.6, "overage_count": 0, "overage_permitted": false}
	}
	return map[string]any{
		"login": "someone", "id": 1, "access_type_sku": "copilot_standalone_seat_quota", "copilot_plan": "individual",
		"analytics_tracking_id": "0", "assigned_date": nil, "can_signup_for_limited": false, "chat_enabled": true,
		"organization_login_list": []any{}, "organization_list": []any{}, "endpoints": endpoints(),
		"quota_reset_date": "2027-01-01", "quota_snapshots": map[string]any{
			"premium_interactions": quota("premium_interactions", false),
			"chat":                 quota("chat", true), "completions": quota("completions", true),
		},
	}
}

// list is the answer to which models there are.
func (g *GitHub) list() map[string]any {
	data := []any{}
	for _, m := range g.models {
		data = append(data, map[string]any{
			"id": m.Name, "name": m.Name, "object": "model", "vendor": "stand-in", "version": m.Name, "preview": false,
			"model_picker_enabled": true, "model_picker_category": "versatile",
			"policy":              map[string]any{"state": "enabled", "terms": ""},
			"billing":             map[string]any{"is_premium": true, "multiplier": 1},
			"supported_endpoints": m.Endpoints,
			"capabilities": map[string]any{
				"family": m.Name, "type": "chat", "object": "model_capabilities", "tokenizer": "o200k_base",
				"limits":   map[string]any{"max_context_window_tokens": 200000, "max_output_tokens": 32000, "max_prompt_tokens": 128000},
				"supports": map[string]any{"parallel_tool_calls": true, "streaming": true, "tool_calls": true, "structured_outputs": true},
			},
		})
	}
	return map[string]any{"object": "list", "data": data}
}

// hostDialer connects to one place whatever is asked for.
type hostDialer struct{ address string }

func (d *hostDialer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, d.address)
}
