package score

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
)

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestParseValue(t *testing.T) {
	for text, want := range map[string]string{
		"N": "None", "T": "True", "F": "False", "i-ff;": "-255", "i0;": "0",
		"f3ff8000000000000": "1.5", "f4000000000000000": "2.0", "f7ff0000000000000": "+Inf",
		"s3:a:b": `"a:b"`, "u4:c3a9": `"é"`, "s0:": `""`,
		"(N)": "(None,)", "(NT)": "(None, True)", "[]": "[]", "[(i1;)F]": "[(1,), False]",
		"{s1:aN}": "a dict of 1", "a<f8|1|000000000000f03f;": "array([1.0])",
		"a|b1|2|0100;": "array(|b1, shape [2])", "a<f8||000000000000f03f;": "array(<f8, shape [])",
	} {
		v, err := parseValue(text)
		if err != nil || v.String() != want {
			t.Errorf("%s = %s, %v; want %s", text, v, err, want)
		}
	}
	for _, text := range []string{
		"", "Z", "NN", "i;", "iff", "f3ff", "fzzzzzzzzzzzzzzzz", "s5:abc", "s-1:", "sx:", "u1:c", "u2:zz",
		"(", "(N", "[N)", "{N}", "{s1:a}", "{NN}", "a<f8|2|00;", "a<f8|-1|;", "a<f8;", "a<f9|1|00;", "a|f8|1;",
		"a<f8|99999999999999999999|;", "a<i4|1073741824,1073741824|00000000;", strings.Repeat("[", 1000),
	} {
		if v, err := parseValue(text); err == nil {
			t.Errorf("%q is %v", text, v)
		}
	}
}

func FuzzParseValue(f *testing.F) {
	for _, seed := range []string{"N", "i-ff;", floatTag(math.Pi), "s3:abc", "u4:c3a9", "(N[T{s1:aF}])", arrayTag([]float64{1, 2}), "a|b1|2,1|0100;"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		v, err := parseValue(a)
		if err != nil {
			return
		}
		_ = v.String()
		_ = v.finite()
		if !(comparison{}).outcomes("="+a, "="+a) {
			t.Errorf("%q does not equal itself", a)
		}
		if (comparison{}).outcomes("="+a, "="+b) != (newComparison(nil)).outcomes("="+a, "="+b) {
			t.Errorf("comparing %q and %q is not settled", a, b)
		}
	})
}

func FuzzReadRun(f *testing.F) {
	f.Add([]byte(`{"t":0,"d":"","v":["=N"],"c":[[0,"slow","=((){})"]]}` + "\n{\"p\":[]}\n.\n"))
	f.Add([]byte("{\"error\":\"x\"}\n.\n"))
	job := &runJob{Calls: make([]testCall, 2), Trials: make([]trial, 3)}
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := readRun(job, body)
		if err != nil {
			return
		}
		if len(answer.Trials) > len(job.Trials) {
			t.Errorf("%d trials", len(answer.Trials))
		}
		for _, a := range answer.Trials {
			if len(a.Outcomes) > len(job.Calls) {
				t.Errorf("%d outcomes", len(a.Outcomes))
			}
		}
	})
}

func TestReadRunRefusesForgeries(t *testing.T) {
	job := &runJob{Calls: make([]testCall, 1), Trials: make([]trial, 2)}
	const good = `{"t":0,"d":"","v":["=N"],"c":[]}` + "\n"
	for name, body := range map[string]string{
		"text before":         "forged" + good,
		"not JSON":            "[\n",
		"trials out of order": strings.Replace(good, `"t":0`, `"t":1`, 1),
		"a trial twice":       good + good,
		"no number":           `{"d":"","v":[]}` + "\n",
		"too many outcomes":   strings.Replace(good, `"=N"`, `"=N","=N"`, 1),
		"more after the end":  good + ".\n" + good,
		"a broken note":       strings.Replace(good, `"c":[]`, `"c":[[0]]`, 1),
	} {
		if _, err := readRun(job, []byte(body)); !errors.Is(err, errGarbled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if a, err := readRun(job, []byte(good)); err != nil || a.Complete || len(a.Trials) != 1 {
		t.Errorf("a cut answer: %+v, %v", a, err)
	}
}

func FuzzReadFrame(f *testing.F) {
	var frame bytes.Buffer
	if err := writeFrame(&frame, replyHeader{Job: "1", End: "ended", At: 2, Body: 3}, []byte("abc")); err != nil {
		f.Fatal(err)
	}
	f.Add(frame.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, '{'})
	f.Fuzz(func(t *testing.T, data []byte) {
		reply, err := readFrame(bytes.NewReader(data), 1<<10)
		if err == nil && (len(reply.body) != reply.Body || len(reply.body) > 1<<10) {
			t.Errorf("body of %d bytes, announced %d", len(reply.body), reply.Body)
		}
	})
}

func FuzzReadModule(f *testing.F) {
	f.Add([]byte(`{"line":1,"def":"f","tree":{"t":"FunctionDef","name":"f","args":{"t":"arguments"},"body":[{"t":"Pass"}]}}` + "\n" + `{"end":true}` + "\n.\n"))
	f.Add([]byte(`{"line":1,"def":"","tree":{"t":"Import","names":[{"t":"alias","name":"a"}]}}` + "\n" + `{"end":true,"direct":true}` + "\n.\n"))
	f.Add([]byte(`{"error":"x"}` + "\n" + `{"end":true}` + "\n.\n"))
	f.Add([]byte("."))
	task := tinyTask()
	f.Fuzz(func(t *testing.T, body []byte) {
		parsed, err := readModules(body, 1)
		if err != nil {
			return
		}
		m := parsed[0]
		r := newRuleset(task, m, m)
		if problems := r.structure(m); m.functions()["f"] != nil && len(r.kept) == 0 {
			t.Errorf("functions are lost: %v", problems)
		}
		_ = r.functions(m)
	})
}

func TestReadFrameIsBounded(t *testing.T) {
	var frame bytes.Buffer
	if err := writeFrame(&frame, replyHeader{Body: 2000}, make([]byte, 2000)); err != nil {
		t.Fatal(err)
	}
	if _, err := readFrame(&frame, 1999); !errors.Is(err, errFrame) {
		t.Errorf("a body beyond the limit: %v", err)
	}
	if _, err := readFrame(strings.NewReader("\x7f\xff\xff\xff"), 10); !errors.Is(err, errFrame) {
		t.Errorf("a header of 2 GiB: %v", err)
	}
}

func TestCachePreparesOnce(t *testing.T) {
	c := newCache()
	made := 0
	release := make(chan struct{})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			e, err := c.get(context.Background(), "a", func(context.Context) (*expectation, error) {
				<-release
				made++
				return &expectation{bytes: 1}, nil
			})
			if err != nil || e == nil {
				t.Errorf("%v, %v", e, err)
			}
		})
	}
	close(release)
	wait.Wait()
	if made != 1 {
		t.Errorf("made %d times", made)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := newCache()
	made := map[string]int{}
	get := func(key string) {
		_, err := c.get(context.Background(), key, func(context.Context) (*expectation, error) {
			made[key]++
			return &expectation{bytes: maxCacheBytes / 3}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"a", "b", "c", "a", "d", "a", "b"} {
		get(key)
	}
	// When d came, b was the one not used for longest.
	if made["a"] != 1 || made["b"] != 2 || made["d"] != 1 {
		t.Errorf("made %v", made)
	}
	if c.bytes > maxCacheBytes || c.order.Len() != len(c.byKey) {
		t.Errorf("%d bytes in %d entries, %d keys", c.bytes, c.order.Len(), len(c.byKey))
	}
}

func TestCacheKeepsNoFailures(t *testing.T) {
	c := newCache()
	for range 2 {
		_, err := c.get(context.Background(), "a", func(context.Context) (*expectation, error) { return nil, errLost })
		if !errors.Is(err, errLost) {
			t.Errorf("error %v", err)
		}
	}
	if len(c.byKey) != 0 || c.bytes != 0 {
		t.Errorf("%d entries, %d bytes are left", len(c.byKey), c.bytes)
	}
}
