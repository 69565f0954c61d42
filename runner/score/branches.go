package score

import "reflect"

// guard returns the if/else that a guarded function consists of, and the names
// of the fields of its running and its other branch; ok is false where the
// function is not one.
func (r *ruleset) guard(function node) (guard node, running, other string, ok bool) {
	first, guarded := r.live[function.text("name")]
	body := function.nodes("body")
	if !guarded || len(body) != 1 || body[0].class() != "If" {
		return nil, "", "", false
	}
	if first {
		return body[0], "body", "orelse", true
	}
	return body[0], "orelse", "body", true
}

// running returns the statements of a function that run.
func (r *ruleset) running(function node) []any {
	if guard, running, _, ok := r.guard(function); ok {
		return guard.list(running)
	}
	return function.list("body")
}

// branch returns what is wrong with a guarded function beside the branch that
// runs: condition and other branch are those of the reference.
func (r *ruleset) branch(mine, reference node) []string {
	want, _, other, guarded := r.guard(reference)
	if !guarded {
		return nil
	}
	got, _, _, ok := r.guard(mine)
	switch {
	case !ok:
		return []string{"is not one if/else any more"}
	case !reflect.DeepEqual(got["test"], want["test"]):
		return []string{"has another condition"}
	case !reflect.DeepEqual(got[other], want[other]):
		return []string{"has another branch that does not run"}
	}
	return nil
}
