package results

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// What is longer than the bound is an error, not an end.
func TestBoundedReader(t *testing.T) {
	for text, want := range map[string]error{"": nil, "123456789": nil, "0123456789": nil, "0123456789a": errUnpackedSize} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			got, err := io.ReadAll(&boundedReader{r: r, left: 10})
			if !errors.Is(err, want) || string(got) != text[:min(10, len(text))] {
				t.Errorf("%q: %q, %v", text, got, err)
			}
		}
	}
}
