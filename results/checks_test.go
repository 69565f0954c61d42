package results

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzChecks holds the reader of checks against encoding/json.
func FuzzChecks(f *testing.F) {
	for _, list := range [][]Check{nil, {}, {{Name: "compiles", Pass: true}},
		{{Name: "a"}, {Name: "behaviour", Detail: "f(3): expected 41, got 40"}, {Name: "c", Pass: true, Detail: "x"}},
		{{Name: "say \"hi\"", Detail: "a\nb\\ ü <&> \x7f"}, {Name: "{\"name\":\""}}} {
		data, err := json.Marshal(list)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	for _, text := range []string{"", "[", `[{"name":"a","pass":true}`, `[{"name":"a","pass":1}]`, `[{"name":"a","pass":true},]`,
		`[{"name":"a","pass":true,"detail":"\u0041"}]`, `[{"pass":true,"name":"b"}]`, "[{\"name\":\"\xff\",\"pass\":false}]",
		`[{"name":"a","pass":true}]]`, `[{"name":"a","pass":true,"pass":false}]`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want []Check
		wantErr := json.Unmarshal([]byte(text), &want)
		got, err := decodeChecks(text)
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, %v; encoding/json has %#v, %v", text, got, err, want, wantErr)
		}
	})
}

// The usual checks do not take the long way.
func TestPlainChecks(t *testing.T) {
	want := []Check{{Name: "compiles", Pass: true}, {Name: "calls", Detail: "f12(3, -7): expected 41, got 40"}}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := plainChecks(string(data)); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, ok)
	}
}
