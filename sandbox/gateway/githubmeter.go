package gateway

import (
	"bytes"
	"net/http"
	"strings"
)

// charge is what GitHub tells in its answers about their price, beside the
// wire's own members.
type charge struct {
	Usage *struct {
		Nano *figure `json:"total_nano_aiu"`
	} `json:"copilot_usage"`
	Response *struct {
		Usage *struct {
			Nano *figure `json:"total_nano_aiu"`
		} `json:"copilot_usage"`
	} `json:"response"`
}

// withCharge reads GitHub's charge beside what the wire's own reader does.
func withCharge(read reader) reader {
	var nano *int64
	return func(m *meter, data []byte) {
		read(m, data)
		var c charge
		if bytes.Contains(data, []byte(`"copilot_usage"`)) && decode(data, &c) {
			if c.Response != nil && c.Response.Usage != nil {
				nano = tokens(c.Response.Usage.Nano)
			}
			if c.Usage != nil {
				nano = tokens(c.Usage.Nano)
			}
		}
		m.usage.NanoAIU = nano
	}
}

// quotaPrefix begins the headers in which GitHub tells what is left of the
// user's quotas, premium requests among them.
const quotaPrefix = "X-Quota-Snapshot-"

const maxQuotas = 16

// noteQuota keeps those headers for the recording.
func (s *Session) noteQuota(x *exchange, h http.Header) {
	noted := 0
	for name, values := range h {
		if strings.HasPrefix(name, quotaPrefix) && noted < maxQuotas && len(values) > 0 {
			x.headers[name] = oneLine(s.maskString(values[0]))
			noted++
		}
	}
}
