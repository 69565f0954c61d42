package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// shape is a model request by its structure, with the texts apart. Two requests
// fit when their heads, tools and lines are equal, whatever the texts are.
type shape struct {
	head  string   // method, address, wire, model and form of the answer
	tools []string // their names, in alphabetical order
	items []shapeItem
}

// shapeItem is one part of what a request says.
type shapeItem struct {
	kind TextKind
	line string // its structure; "" for what is a text alone
	text string
}

// TextKind says which part of a request a text is.
type TextKind string

// The kinds of texts.
const (
	TextSystem    TextKind = "system prompt"
	TextUser      TextKind = "user message"
	TextAssistant TextKind = "assistant text"
	TextCall      TextKind = "tool call"
	TextResult    TextKind = "tool result"
	TextTool      TextKind = "tool definition"
	TextSettings  TextKind = "settings"
)

// maxShapeItems is far beyond the parts of a real request.
const maxShapeItems = 50_000

var errManyItems = fmt.Errorf("request has more than %d parts", maxShapeItems)

// key is equal for requests that fit.
func (s *shape) key() [sha256.Size]byte {
	return sha256.Sum256([]byte(strings.Join(s.lines(), "\n")))
}

// lines are the structure, for comparing and for people.
func (s *shape) lines() []string {
	lines := []string{s.head}
	for _, name := range s.tools {
		lines = append(lines, "tool offered: "+name)
	}
	for _, item := range s.items {
		if item.line != "" {
			lines = append(lines, item.line)
		}
	}
	return lines
}

// readShape reads a request as an upstream gets it, or as it was recorded. The
// model is that which the provider is asked for.
func readShape(at *url.URL, model string, body []byte) (*shape, error) {
	c, ok := callOf(at.Path)
	if !ok {
		return nil, fmt.Errorf("no wire has the path %.80q", at.Path)
	}
	members, err := splitObject(body)
	if err != nil {
		return nil, err
	}
	r := &shapeReader{wire: c.wire, calls: map[string]int{}}
	stream := c.stream
	for _, m := range members {
		r.member(m, &stream)
	}
	r.s.head = fmt.Sprintf("POST %s, wire %s, model %s, stream %t", addressOf(at, c), c.wire, shortName(model), stream)
	r.close()
	if len(r.s.items) > maxShapeItems {
		return nil, errManyItems
	}
	return &r.s, nil
}

// modelOf is the model that a request names, in its address or in its body.
func modelOf(at *url.URL, body []byte) string {
	if name, ok := strings.CutPrefix(at.Path, modelsPath+"/"); ok {
		return name[:max(0, strings.LastIndexByte(name, ':'))]
	}
	var doc struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(body, &doc) // what is no text is no model
	return doc.Model
}

// shapeReader gathers a shape from a valid JSON text.
type shapeReader struct {
	wire  Wire
	s     shape
	calls map[string]int // numbers of tool calls, by the order of their first mention

	definitions []shapeItem // of the tools
	settings    []string
	nested      bool // a request within the request was read
}

// addressOf is where a request goes without the model's name, with the part of
// the query that chooses the form of the answer.
func addressOf(at *url.URL, c modelCall) string {
	address := at.Path
	if c.wire == WireGemini {
		address = modelsPath + "/…:" + c.method
	}
	if at.RawQuery != "" {
		address += "?" + shortName(at.RawQuery)
	}
	return shortName(at.Host) + address
}

// close puts what belongs to no place of the conversation behind it, in an
// order of its own: tools by their names, and all settings as one text.
func (r *shapeReader) close() {
	slices.Sort(r.s.tools)
	slices.SortFunc(r.definitions, func(a, b shapeItem) int { return strings.Compare(a.text, b.text) })
	r.s.items = append(r.s.items, r.definitions...)
	slices.Sort(r.settings)
	r.add(TextSettings, "", strings.Join(r.settings, "\n"))
}

func (r *shapeReader) add(kind TextKind, line, text string) {
	if len(r.s.items) <= maxShapeItems { // one more, by which it is told
		r.s.items = append(r.s.items, shapeItem{kind, line, text})
	}
}

// member reads one of the request's own members.
func (r *shapeReader) member(m member, stream *bool) {
	switch folded := fold(m.name); {
	case folded == "model" || folded == "streamoptions":
	case folded == "stream" && r.wire != WireGemini:
		*stream = string(m.value) == "true"
	case folded == "tools":
		r.tools(m.value, 0)
	case folded == "system" || folded == "instructions" || folded == "systeminstruction":
		r.content(voice{TextSystem, "system"}, m.value)
	case folded == "messages" || folded == "contents" || folded == "input":
		r.conversation(m.value)
	case folded == "generatecontentrequest" && !r.nested:
		r.nested = true // once: there is no end to how deep one could lie
		for inner := range membersOf(m.value) {
			r.member(inner, stream)
		}
	default:
		r.settings = append(r.settings, m.name+": "+canonical(m.value))
	}
}

// tools reads what the agent offers, names in groups behind those of the group.
func (r *shapeReader) tools(raw []byte, depth int) {
	for tool := range elements(raw) {
		f := fieldsOf(tool)
		group := oneOf(f, "functionDeclarations", "function_declarations", "tools")
		switch inner := oneOf(f, "function", "custom"); {
		case group != nil && depth < maxToolDepth:
			r.tools(group, depth+1)
		case inner != nil && inner[0] == '{':
			r.tool(textOf(fieldsOf(inner)["name"]), tool)
		case f["name"] != nil:
			r.tool(textOf(f["name"]), tool)
		default:
			r.tool(textOf(f["type"]), tool)
		}
	}
}

func (r *shapeReader) tool(title string, definition []byte) {
	if len(r.s.tools) <= maxShapeItems {
		r.s.tools = append(r.s.tools, shortName(title))
		r.definitions = append(r.definitions, shapeItem{TextTool, "", shortName(title) + " " + canonical(definition)})
	}
}

// conversation reads a list of messages or items; a text alone is the user's.
func (r *shapeReader) conversation(raw []byte) {
	if raw[0] == '"' {
		r.add(TextUser, "user: text", textOf(raw))
		return
	}
	for item := range elements(raw) {
		r.item(fieldsOf(item), item)
	}
}

// item reads a message, or an item of a responses request.
func (r *shapeReader) item(f map[string][]byte, raw []byte) {
	kind := textOf(f["type"])
	if f["role"] == nil || kind != "" && kind != "message" {
		r.part(voice{TextAssistant, "item"}, f, raw)
		return
	}
	by := speakerOf(textOf(f["role"]))
	if id := f["tool_call_id"]; id != nil {
		by = voice{TextResult, fmt.Sprintf("%s: result #%d", by.who, r.call(id))}
	}
	for _, member := range []string{"reasoning_content", "reasoning", "reasoning_details"} {
		if v := f[member]; v != nil && string(v) != "null" {
			r.add(by.kind, by.who+": reasoning", plain(v))
		}
	}
	for _, member := range []string{"content", "parts"} {
		if v := f[member]; v != nil {
			r.content(by, v)
		}
	}
	for call := range elements(orNull(f["tool_calls"])) {
		r.part(by, fieldsOf(call), call)
	}
}

// voice is who says something, and of which kind it is therefore.
type voice struct {
	kind TextKind
	who  string
}

func speakerOf(role string) voice {
	switch role {
	case "system", "developer":
		return voice{TextSystem, role}
	case "assistant", "model":
		return voice{TextAssistant, role}
	case "tool", "function":
		return voice{TextResult, role}
	}
	return voice{TextUser, shortName(role)}
}

// content reads a text, a list of parts, or an object that has such a list.
func (r *shapeReader) content(by voice, raw []byte) {
	switch raw[0] {
	case '"':
		r.add(by.kind, by.who+": text", textOf(raw))
	case '[':
		for part := range elements(raw) {
			r.part(by, fieldsOf(part), part)
		}
	case '{':
		f := fieldsOf(raw)
		if parts := f["parts"]; parts != nil && parts[0] != '{' {
			r.content(by, parts)
			return
		}
		r.part(by, f, raw)
	}
}

// part reads one part of a message, of any wire: what calls a tool, what a tool
// answered, a text, or anything else by the name of its kind.
func (r *shapeReader) part(by voice, f map[string][]byte, raw []byte) {
	if raw[0] == '"' {
		r.add(by.kind, by.who+": text", textOf(raw))
		return
	}
	kind := textOf(f["type"])
	switch inner := oneOf(f, "functionCall", "functionResponse", "function", "custom"); {
	case f["functionResponse"] != nil:
		r.result(by, fieldsOf(inner), plain(fieldsOf(inner)["response"]))
	case inner != nil && inner[0] == '{':
		r.called(by, f, fieldsOf(inner))
	case kind == "tool_result" || strings.HasSuffix(kind, "_output"):
		r.result(by, f, r.resultText(f))
	case kind == "tool_use" || strings.HasSuffix(kind, "_call"):
		r.called(by, f, f)
	case f["text"] != nil && (kind == "" || strings.HasSuffix(kind, "text")):
		what := "text"
		if string(f["thought"]) == "true" {
			what = "thinking"
		}
		r.add(by.kind, by.who+": "+what, plain(f["text"]))
	case f["tools"] != nil:
		r.tools(f["tools"], 0)
	default:
		r.other(by, f, kind, raw)
	}
}

// other is a part of any other kind: thinking, a picture, a reference.
func (r *shapeReader) other(by voice, f map[string][]byte, kind string, raw []byte) {
	for _, member := range []string{"inlineData", "fileData", "thinking", "role"} {
		if kind == "" && f[member] != nil {
			kind = member
		}
	}
	r.add(by.kind, by.who+": "+shortName(kind), string(raw))
}

// called notes a call of a tool; its name and place are structure.
func (r *shapeReader) called(by voice, outer, f map[string][]byte) {
	id := oneOf(f, "call_id", "id")
	if id == nil {
		id = outer["id"]
	}
	args := oneOf(f, "arguments", "input", "args", "action", "operation")
	r.add(TextCall, fmt.Sprintf("%s: call %s #%d", by.who, shortName(textOf(f["name"])), r.call(id)), plain(args))
}

func (r *shapeReader) result(by voice, f map[string][]byte, text string) {
	id := oneOf(f, "tool_use_id", "call_id", "id")
	line := fmt.Sprintf("%s: result #%d", by.who, r.call(id))
	if title := textOf(f["name"]); title != "" {
		line += " of " + shortName(title)
	}
	r.add(TextResult, line, text)
}

// resultText is what a tool answered, with whether it says that it failed.
func (r *shapeReader) resultText(f map[string][]byte) string {
	var b strings.Builder
	if string(f["is_error"]) == "true" {
		b.WriteString("[error] ")
	}
	content := oneOf(f, "content", "output")
	if content == nil || content[0] != '[' {
		return b.String() + plain(content)
	}
	for part := range elements(content) {
		if text := fieldsOf(part)["text"]; text != nil {
			b.WriteString(plain(text))
		} else {
			b.Write(part)
		}
	}
	return b.String()
}

// call is the number of a tool call: ids are drawn anew in every run.
func (r *shapeReader) call(id []byte) int {
	text := plain(id)
	if text == "" {
		return 0
	}
	n, ok := r.calls[text]
	if !ok {
		n = len(r.calls) + 1
		r.calls[text] = n
	}
	return n
}

// fieldsOf are the members of an object in valid JSON; of a name that stands
// twice the last one counts.
func fieldsOf(raw []byte) map[string][]byte {
	f := map[string][]byte{}
	for m := range membersOf(raw) {
		if len(f) < maxMembers {
			f[m.name] = m.value
		}
	}
	return f
}

func oneOf(f map[string][]byte, names ...string) []byte {
	for _, n := range names {
		if v := f[n]; v != nil {
			return v
		}
	}
	return nil
}

func orNull(raw []byte) []byte {
	if raw == nil {
		return []byte("null")
	}
	return raw
}

// textOf is a text value, "" for any other.
func textOf(raw []byte) string {
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// plain is a text value, and any other as it stands there.
func plain(raw []byte) string {
	if len(raw) > 0 && raw[0] == '"' {
		return textOf(raw)
	}
	return string(raw)
}

// canonical is a value with the members of objects in alphabetical order: some
// programs write them in an order that is drawn anew each time.
func canonical(raw []byte) string {
	const enough = 256 << 10 // of a value that is worth its memory
	if len(raw) > enough || raw[0] != '{' && raw[0] != '[' {
		return string(raw)
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if dec.Decode(&v) != nil || enc.Encode(v) != nil {
		return string(raw)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// shortName makes a name of a foreign origin fit for a line of a structure.
func shortName(s string) string {
	const enough = 120
	if len(s) > enough {
		s = strings.ToValidUTF8(s[:enough], "") + "…"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return strconv.Quote(s)
	}
	return s
}

// recordedAddress reads the address of a record: the path below the provider's
// base, behind a host where the request went through the proxy.
func recordedAddress(path string) (*url.URL, error) {
	host := ""
	if i := strings.IndexByte(path, '/'); i > 0 {
		host, path = path[:i], path[i:]
	}
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, errors.New("the recorded address cannot be read")
	}
	u.Host = host
	return u, nil
}
