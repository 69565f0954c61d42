package score

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cabra-run/results"
	"cabra-run/tasks"
)

// The kinds of checks of the published scorer.
const (
	kindCompilation = "compilation"
	kindExistence   = "function_existence"
	kindBehavioral  = "behavioral"
	kindEditPath    = "edit_path"
	kindConstraints = "constraint_structure"
	kindBranches    = "branch_placement"
	kindComments    = "function_comments"
	kindDifferences = "difference_blocks"
)

// official gives the verdict of the published scorer, with its holes, but for
// what cannot be had safely: candidate and reference never share a process,
// what takes too long ends, and objects do not decide what they are equal to.
func (s *Scorer) official(ctx context.Context, e *expectation, sub *submission) (Verdict, error) {
	if e.task.Check.Kind == tasks.RenameKind { // the published scorer has no such tasks
		v, err := s.strict(ctx, e, sub)
		v.Scorer, v.Version = Official, OfficialVersion
		return v, err
	}
	required := requiredKinds(e.task)
	if strings.Trim(sub.source, "\n") == "" && sub.problem == "" {
		sub = &submission{problem: "skipped, the file is empty"}
	}
	if sub.problem != "" {
		return notRun(required, sub.problem), nil
	}
	checks := []results.Check{passed(kindCompilation)}
	if e.task.Check.Kind == tasks.MergeKind {
		behaves, err := s.officialClasses(ctx, e, sub)
		checks = append(checks, behaves, differenceBlocks(len(e.task.Check.Merge.Differences), sub.module))
		return officialVerdict(required, checks), err
	}
	behaves, err := s.officialBehaviour(ctx, e, sub)
	if err != nil {
		return Verdict{}, err
	}
	o := officialPrograms{task: e.task, starter: e.own[0], reference: e.own[1], candidate: sub.module}
	checks = append(checks, o.existence(), behaves, o.editPath())
	if e.task.Check.Comment != "" {
		checks = append(checks, o.branches(), o.comments())
	} else {
		checks = append(checks, o.constraints(), o.branches())
	}
	return officialVerdict(required, checks), nil
}

// notRun is the verdict on code that cannot be run.
func notRun(required []string, problem string) Verdict {
	checks := []results.Check{errored(kindCompilation, "%s", problem)}
	for _, kind := range required {
		checks = append(checks, errored(kind, "not run"))
	}
	return officialVerdict(required, checks)
}

// requiredKinds are those that decide about a task. For the comments that are
// copied nothing is published; they are taken like other instructions.
func requiredKinds(t *tasks.Task) []string {
	kinds := []string{kindBehavioral}
	switch t.Cell.Axis {
	case tasks.Runtime:
		kinds = append(kinds, kindBranches)
	case tasks.Instructions:
		kinds = append(kinds, kindConstraints)
	case tasks.CommentCopy:
		kinds = append(kinds, kindComments)
	case tasks.Merge:
		kinds = append(kinds, kindDifferences)
	}
	if t.Cell.Refactoring == tasks.DeadCode {
		kinds = append(kinds, kindExistence)
	}
	return kinds
}

// officialVerdict is solved when all required kinds pass.
func officialVerdict(required []string, checks []results.Check) Verdict {
	v := Verdict{Scorer: Official, Version: OfficialVersion, Solved: true, Checks: checks}
	for _, c := range checks {
		if slices.Contains(required, c.Name) && !c.Pass && v.Solved {
			v.Solved, v.Reason = false, c.Name+": "+c.Detail
		}
	}
	return v
}

func passed(kind string) results.Check { return results.Check{Name: kind, Pass: true} }

func skipped(kind string) results.Check {
	return results.Check{Name: kind, Pass: true, Detail: "skipped"}
}

func failed(kind, format string, args ...any) results.Check {
	return results.Check{Name: kind, Detail: "fail: " + fmt.Sprintf(format, args...)}
}

func errored(kind, format string, args ...any) results.Check {
	return results.Check{Name: kind, Detail: "error: " + fmt.Sprintf(format, args...)}
}

// unless fails with the problems, if there are any.
func unless(kind string, problems []string) results.Check {
	if len(problems) == 0 {
		return passed(kind)
	}
	slices.Sort(problems)
	if len(problems) > maxProblems {
		problems = append(problems[:maxProblems:maxProblems], fmt.Sprintf("and %d more", len(problems)-maxProblems))
	}
	return failed(kind, "%s", strings.Join(problems, "; "))
}

// officialPrograms are the three programs that the static kinds compare.
type officialPrograms struct {
	task                          *tasks.Task
	starter, reference, candidate *module
}

// existence compares the names of functions; it also wants no variables at
// module level, of those it sees.
func (o officialPrograms) existence() results.Check {
	must, before, have := o.reference.functions(), o.starter.functions(), o.candidate.functions()
	var problems []string
	for name := range must {
		if have[name] == nil {
			problems = append(problems, "missing function "+name)
		}
	}
	for name := range have {
		switch {
		case must[name] != nil:
		case before[name] != nil:
			problems = append(problems, "forbidden function "+name)
		default:
			problems = append(problems, "extra function "+shorten(name, 40))
		}
	}
	if len(problems) == 0 {
		problems = globalVariables(o.candidate)
	}
	return unless(kindExistence, problems)
}

func globalVariables(m *module) []string {
	var problems []string
	for _, s := range m.Statements {
		n := s.node()
		targets := n.nodes("targets")
		if n.class() == "AnnAssign" || n.class() == "AugAssign" {
			targets = []node{n.child("target")}
		}
		for _, target := range targets {
			if target.class() == "Name" {
				problems = append(problems, "global variable "+shorten(target.text("id"), 40))
			}
		}
	}
	return problems
}

// editPath compares which functions were edited. It decides about nothing.
func (o officialPrograms) editPath() results.Check {
	want, got := changed(o.starter, o.reference), changed(o.starter, o.candidate)
	var problems []string
	for name := range want {
		if !got[name] {
			problems = append(problems, "missing edit of "+name)
		}
	}
	for name := range got {
		if !want[name] {
			problems = append(problems, "unexpected edit of "+shorten(name, 40))
		}
	}
	return unless(kindEditPath, problems)
}

// changed returns the names of the functions that differ between two programs.
func changed(a, b *module) map[string]bool {
	before, after := a.functions(), b.functions()
	out := map[string]bool{}
	for name, s := range before {
		if after[name] == nil || !bytes.Equal(after[name].Tree, s.Tree) {
			out[name] = true
		}
	}
	for name := range after {
		if before[name] == nil {
			out[name] = true
		}
	}
	return out
}

// branches compares which blocks of functions were edited, not how.
func (o officialPrograms) branches() results.Check {
	if o.task.Check.Values > 0 { // the published tasks with rules leave it out
		return skipped(kindBranches)
	}
	before, want, got := o.starter.functions(), o.reference.functions(), o.candidate.functions()
	var problems []string
	for name, s := range before {
		if want[name] == nil || got[name] == nil {
			continue
		}
		if bytes.Equal(s.Tree, want[name].Tree) && bytes.Equal(s.Tree, got[name].Tree) {
			continue
		}
		starter := blocksOf(s)
		right, mine := changedBlocks(starter, blocksOf(want[name])), changedBlocks(starter, blocksOf(got[name]))
		for id := range right {
			if !mine[id] {
				problems = append(problems, fmt.Sprintf("%s: block %q was not edited", name, id))
			}
		}
		for id := range mine {
			if !right[id] {
				problems = append(problems, fmt.Sprintf("%s: block %q was edited", name, shorten(id, 60)))
			}
		}
	}
	return unless(kindBranches, problems)
}

// blocksOf returns the texts of a function's blocks by their ids.
func blocksOf(s *statement) map[string]string {
	blocks := map[string]string{}
	addBlocks(blocks, "", s.raw().nodes("body"))
	return blocks
}

func addBlocks(blocks map[string]string, id string, statements []node) {
	var text strings.Builder
	ifs := 0
	for _, n := range statements {
		if n.class() != "If" {
			text.WriteString(treeText(n) + "\n")
			continue
		}
		text.WriteString("if " + treeText(n["test"]) + "\n")
		inner := fmt.Sprintf("%s/if%d", id, ifs)
		addBlocks(blocks, inner+"/body", n.nodes("body"))
		addBlocks(blocks, inner+"/else", n.nodes("orelse"))
		ifs++
	}
	blocks[id] = text.String()
}

func changedBlocks(a, b map[string]string) map[string]bool {
	out := map[string]bool{}
	for id, text := range a {
		if other, ok := b[id]; !ok || other != text {
			out[id] = true
		}
	}
	for id := range b {
		if _, ok := a[id]; !ok {
			out[id] = true
		}
	}
	return out
}

// comments wants the comment in each function where the reference has it.
func (o officialPrograms) comments() results.Check {
	have := o.candidate.functions()
	var problems []string
	for name, s := range o.reference.functions() {
		if !hasComment(o.reference, s, o.task.Check.Comment) {
			continue
		}
		if have[name] == nil || !hasComment(o.candidate, have[name], o.task.Check.Comment) {
			problems = append(problems, "no comment in "+name)
		}
	}
	return unless(kindComments, problems)
}

func hasComment(m *module, s *statement, text string) bool {
	return slices.ContainsFunc(officialComments(m, s), func(c comment) bool { return c.Text == text })
}

// officialComments returns the comments behind a function's first line and not
// behind its last statement.
func officialComments(m *module, s *statement) []comment {
	var out []comment
	for _, c := range m.Comments {
		if c.Line > s.Line && c.Line <= s.Spans.End && c.Column > 0 {
			out = append(out, c)
		}
	}
	return out
}

// sortedNames returns the keys of a set.
func sortedNames(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
