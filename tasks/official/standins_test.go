package official

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"cabra-run/tasks"
)

func TestBlockCounts(t *testing.T) {
	for _, numbered := range []bool{false, true} {
		for code, want := range map[tasks.CodeType]int{tasks.Math: 625, tasks.Array: 625, tasks.String: 375} {
			blocks := prefixBlocks(code, numbered)
			different := map[string]bool{}
			for _, b := range blocks {
				different[b] = true
			}
			if len(blocks) != want || len(different) != want {
				t.Errorf("%s %v: %d blocks, %d different, want %d", code, numbered, len(blocks), len(different), want)
			}
		}
	}
}

// probe is an expression in a block and its value as Python prints it.
type probe struct {
	code     tasks.CodeType
	numbered bool
	block    int // the last of four indices counts fastest
	expr     string
	want     string
}

// The blocks do in Python what the benchmark's description says.
func TestBlocksInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine")
	}
	at := func(external, fixed, helper, slow int) int { return ((external*5+fixed)*5+helper)*5 + slow }
	text := func(external, fixed, helper, slow int) int { return ((external*5+fixed)*3+helper)*5 + slow }
	probes := []probe{
		{tasks.Math, false, at(0, 0, 0, 0), "(external(2), default(), get_multiplier(-3), slow())", "((2, 'cabra'), 0.21, -1.0, 0.21)"},
		{tasks.Math, false, at(4, 1, 1, 4), "(external(2), default(), get_multiplier(-3), slow())", "((2, 'geit'), -0.42, 0.5, 1.02)"},
		{tasks.Math, false, at(1, 4, 3, 3), "(external(2), default(), get_multiplier(7), slow())", "((2, 'goat'), 1.02, 0.21, -0.84)"},
		{tasks.Math, false, at(0, 0, 4, 0), "get_multiplier(2)", "2.01"},
		{tasks.Math, true, at(4, 0, 2, 2), "(external(2), default(10), get_multiplier(1.0, 2), slow())", "(('5000', '5001'), 0.44999999999999996, 1.062, 0.63)"},
		{tasks.String, false, text(1, 3, 0, 4), "(external('a'), default(), get_key('aBz!'), slow())", "(('a', '200'), '3', '015', '4')"},
		{tasks.String, false, text(0, 0, 1, 0), "(get_key('aB'), get_key('42'))", "('34', '0')"},
		{tasks.String, false, text(0, 0, 2, 0), "get_key('a')", "'6'"},
		{tasks.String, true, text(0, 2, 0, 1), "(external(3), default(7), get_key('b', 2), slow(4))", "(('1000', '1001', '1002'), '27', '12', '14')"},
		{tasks.String, false, 0, "[strops.rot13('aZ9é'), strops.reverse('abc'), strops.swap_case('aB'), strops.char_rotate('zZ9'), strops.char_rotate_by_3('xA'), strops.mirror('aYb1')]",
			"['nM9é', 'cba', 'Ab', 'aA9', 'aD', 'zBy1']"},
		{tasks.String, false, 0, "[strops.interleave('abcd', 'efgh'), strops.swap_halves('abcd', 'efgh'), strops.zip_chars('abcd', 'ef'), strops.alternate_chars('abcd', 'efgh'), strops.xor_chars('ab', 'bd')]",
			"['aecf', 'cdef', 'af', 'acfh', 'dg']"},
		{tasks.String, false, 0, "[strops.interleave('', 'ab'), strops.alternate_chars('', 'ab'), strops.char_rotate('')]", "['', 'b', '']"},
	}
	type job struct{ Block, Expr string }
	var jobs []job
	for _, p := range probes {
		jobs = append(jobs, job{prefixBlocks(p.code, p.numbered)[p.block], p.expr})
	}
	in, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	const script = `
import json, sys
for job in json.load(sys.stdin):
    space = {}
    exec(job["Block"], space)
    print(ascii(eval(job["Expr"], space)))
`
	cmd := exec.CommandContext(t.Context(), python, "-c", script)
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, p := range probes {
		if want := strings.ReplaceAll(p.want, "é", `\xe9`); i >= len(lines) || lines[i] != want {
			t.Errorf("%s %v %s: %v, want %s", p.code, p.numbered, p.expr, lines, want)
		}
	}
}
