package score

import (
	"cabra-run/tasks"
	"encoding/json"
	"slices"
)

// testCalls lists the reference's functions with their parameters, callees
// before callers, so that the first difference that shows is the one that
// causes the others. It returns the keys of all values as well.
func testCalls(t *tasks.Task, r *ruleset) (calls []testCall, keys []string, err error) {
	for _, name := range order(r) {
		call := testCall{Name: name}
		types, err := parameterTypes(t, r.kept[name])
		if err != nil {
			return nil, nil, err
		}
		params, ok := parameters(r.kept[name].node())
		if !ok || len(params) != len(types) {
			return nil, nil, defect(t, "function %s has parameters that are not plain ones", name)
		}
		for i, p := range params {
			key := valueKey(types[i], i)
			call.Params = append(call.Params, param{Name: p.Name, Key: key})
			keys = append(keys, key)
		}
		calls = append(calls, call)
	}
	if len(calls) == 0 {
		return nil, nil, defect(t, "its reference has no functions")
	}
	slices.Sort(keys)
	return calls, slices.Compact(keys), nil
}

// parameterTypes reads the annotations, which canonical trees do not have.
func parameterTypes(t *tasks.Task, s *statement) ([]string, error) {
	var raw struct {
		Args struct {
			Args []struct {
				Annotation struct {
					ID   string `json:"id"`
					Attr string `json:"attr"`
				} `json:"annotation"`
			} `json:"args"`
		} `json:"args"`
	}
	if err := json.Unmarshal(s.Tree, &raw); err != nil {
		return nil, err
	}
	var types []string
	for _, arg := range raw.Args.Args {
		switch typ := arg.Annotation.ID + arg.Annotation.Attr; typ {
		case "float", "str", "int", "bool":
			types = append(types, typ)
		case "ndarray":
			types = append(types, "array")
		default:
			return nil, defect(t, "function %s has a parameter of the type %q", s.Def, typ)
		}
	}
	return types, nil
}

// callees returns the functions of the reference that each of them names.
func (r *ruleset) callees() map[string][]string {
	out := map[string][]string{}
	for name, s := range r.kept {
		for _, statement := range r.running(s.node()) {
			walk(statement, func(n node) {
				if id := n.text("id"); n.class() == "Name" && r.kept[id] != nil {
					out[name] = append(out[name], id)
				}
			})
		}
	}
	return out
}

// order returns the reference's functions, callees first, else as in the file.
func order(r *ruleset) []string {
	callees := r.callees()
	var out []string
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, c := range callees[name] {
			visit(c)
		}
		out = append(out, name)
	}
	for _, s := range r.reference.Statements {
		if s.Def != "" {
			visit(s.Def)
		}
	}
	return out
}

// evaluations counts the function calls that one call of each function leads
// to when nothing is remembered; it stops counting beyond what is ever run.
func evaluations(r *ruleset) map[string]int {
	callees := r.callees()
	counted := map[string]int{}
	for _, f := range order(r) { // callees come first
		n := 1
		for _, c := range callees[f] {
			n = min(n+counted[c], maxPlainCalls+1)
		}
		counted[f] = n
	}
	return counted
}
