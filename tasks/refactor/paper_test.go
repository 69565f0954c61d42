package refactor

import (
	"os"
	"path/filepath"
	"testing"

	"cabra-run/tasks"
	"cabra-run/tasks/callgraph"
)

// paperSample is the example printed in the paper: the 11th sample with five
// init and five edit functions.
func paperSample(t *testing.T) *callgraph.Sample {
	t.Helper()
	sampler, err := callgraph.NewSampler(DefaultSeed, 5, 5)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := sampler.Next(); err != nil {
			t.Fatal(err)
		}
	}
	sample, err := sampler.Next()
	if err != nil {
		t.Fatal(err)
	}
	if want := "0a8076ec-e558-2e16-bd29-ede9cab4923b"; sample.ID != want {
		t.Fatalf("sample %s, want %s", sample.ID, want)
	}
	return sample
}

// The golden files were not written by this package: see testdata/python.
func TestProgramsOfThePaperSample(t *testing.T) {
	sample := paperSample(t)
	for _, code := range tasks.CodeTypes() {
		b := newBase(code)
		for _, r := range tasks.Refactorings() {
			t.Run(string(r)+" "+string(code), func(t *testing.T) {
				got := b.generate(r, sample)
				golden(t, string(r)+"-"+string(code)+"-starter.py", got.starter)
				golden(t, string(r)+"-"+string(code)+"-reference.py", got.reference)
			})
		}
	}
}

func newBase(code tasks.CodeType) *base {
	return &base{language: languageOf(code), seed: DefaultSeed, draws: newDrawCache(DefaultSeed)}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", "paper", file))
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}
