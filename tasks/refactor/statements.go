package refactor

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/template"

	"cabra-run/tasks"
)

//go:embed statements
var statementFiles embed.FS

// Statements maps the name of a problem statement to its text. The axes
// traversal, search and combined share the base texts, "<refactoring>.<code
// type>"; those of the axes runtime, instructions and comment-copy have the
// axis and a slash in front. The texts of the last two hold a placeholder, on a
// line of its own, for what is different in each task. The nil map stands for
// our own texts.
type Statements map[string]string

const (
	rulesPlaceholder   = "{{RULES}}"
	commentPlaceholder = "{{COMMENT}}"
)

// statementSet is a group of statements, one for each of its refactorings and
// every code type.
type statementSet struct {
	folder       string // of names and files, "" for the base texts
	refactorings []tasks.Refactoring
	placeholder  string
	// templates holds the files that are joined, with * for the refactoring;
	// later ones replace parts of earlier ones.
	templates []string
}

// statementSets returns all sets, the base texts first.
func statementSets() []statementSet {
	all, base := tasks.Refactorings(), []string{"layout", "*"}
	adding := slices.DeleteFunc(tasks.Refactorings(),
		func(r tasks.Refactoring) bool { return r == tasks.DeadCode })
	guarded := append(slices.Clip(base), "runtime/layout", "runtime/*")
	listed := append(slices.Clip(base), "instructions/layout", "instructions/*")
	return []statementSet{
		{"", all, "", base},
		{string(tasks.Runtime), all, "", guarded},
		{string(tasks.Instructions), adding, rulesPlaceholder, listed},
		{string(tasks.CommentCopy), adding, commentPlaceholder, append(slices.Clip(listed),
			"comment-copy/layout")},
	}
}

// setOf returns the set that an axis takes its statements from.
func setOf(a tasks.Axis) (statementSet, error) {
	folder := string(a)
	switch a {
	case tasks.Traversal, tasks.Search, tasks.Combined:
		folder = ""
	case "":
		return statementSet{}, errors.New("no statement without an axis")
	}
	for _, set := range statementSets() {
		if set.folder == folder {
			return set, nil
		}
	}
	return statementSet{}, fmt.Errorf("no statement for axis %q", a)
}

func (s statementSet) name(r tasks.Refactoring, code tasks.CodeType) string {
	if s.folder == "" {
		return baseName(r, code)
	}
	return s.folder + "/" + baseName(r, code)
}

// names returns the names of the set, refactoring by refactoring.
func (s statementSet) names() []string {
	var names []string
	for _, r := range s.refactorings {
		for _, code := range tasks.CodeTypes() {
			names = append(names, s.name(r, code))
		}
	}
	return names
}

// placeholderOf returns the placeholder that a statement has to hold, or "".
func placeholderOf(name string) string {
	folder, _, nested := strings.Cut(name, "/")
	for _, set := range statementSets() {
		if nested && folder == set.folder {
			return set.placeholder
		}
	}
	return ""
}

func baseName(r tasks.Refactoring, code tasks.CodeType) string {
	return string(r) + "." + string(code)
}

// statementName is the key of a cell's statement. It refuses cells of axes that
// have no statements and words that do not exist.
func statementName(c tasks.Cell) (string, error) {
	set, err := setOf(c.Axis)
	if err != nil {
		return "", err
	}
	if !slices.Contains(set.refactorings, c.Refactoring) || !slices.Contains(tasks.CodeTypes(), c.Code) {
		return "", fmt.Errorf("no statement for refactoring %q in code type %q on axis %q", c.Refactoring,
			c.Code, c.Axis)
	}
	return set.name(c.Refactoring, c.Code), nil
}

// Statement returns our own statement of a cell's tasks, as Statements.For does.
func Statement(c tasks.Cell) (string, error) { return Statements(nil).For(c) }

// For returns the statement of a cell's tasks, if they all have the same one:
// those of the axes instructions and comment-copy are got with Render and
// RenderComment.
func (s Statements) For(c tasks.Cell) (string, error) {
	text, set, err := s.text(c)
	if err != nil {
		return "", err
	}
	if set.placeholder != "" {
		return "", fmt.Errorf("every task on axis %q has a statement of its own", c.Axis)
	}
	return text, nil
}

// Check reports whether there is a statement for the tasks of a cell.
func (s Statements) Check(c tasks.Cell) error {
	_, _, err := s.text(c)
	return err
}

// text returns the text for a cell with its placeholder, if it has one.
func (s Statements) text(c tasks.Cell) (string, statementSet, error) {
	name, err := statementName(c)
	if err != nil {
		return "", statementSet{}, err
	}
	set, err := setOf(c.Axis)
	if err != nil {
		return "", statementSet{}, err
	}
	if s == nil {
		if s, err = ownStatements(); err != nil {
			return "", statementSet{}, err
		}
	}
	text, ok := s[name]
	if !ok {
		return "", statementSet{}, fmt.Errorf("no statement %q", name)
	}
	if err := checkPlaceholder(text, set.placeholder); err != nil {
		return "", statementSet{}, fmt.Errorf("statement %q: %w", name, err)
	}
	return text, set, nil
}

// checkPlaceholder reports whether exactly one line of the text is the
// placeholder, if there has to be one.
func checkPlaceholder(text, placeholder string) error {
	if placeholder == "" {
		return nil
	}
	found := 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == placeholder {
			found++
		}
	}
	if found != 1 {
		return fmt.Errorf("%d lines are %s, want 1", found, placeholder)
	}
	return nil
}

// fill replaces the line with the placeholder.
func fill(text, placeholder, content string) string {
	var filled strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == placeholder {
			line = strings.Replace(line, placeholder, content, 1)
		}
		filled.WriteString(line)
	}
	return filled.String()
}

// OwnStatements returns all of our own statements. The caller may change the map.
func OwnStatements() (Statements, error) { return renderStatements() }

// ownStatements renders the embedded texts once, as every task needs one.
var ownStatements = sync.OnceValues(renderStatements)

func renderStatements() (Statements, error) {
	all := Statements{}
	for _, set := range statementSets() {
		for _, r := range set.refactorings {
			t, err := set.template(r)
			if err != nil {
				return nil, err
			}
			for _, code := range tasks.CodeTypes() {
				var text strings.Builder
				if err := t.ExecuteTemplate(&text, "statement", wordsOf(r, code)); err != nil {
					return nil, fmt.Errorf("rendering statement %q: %w", set.name(r, code), err)
				}
				all[set.name(r, code)] = text.String()
			}
		}
	}
	return all, nil
}

// template joins the templates of a refactoring.
func (s statementSet) template(r tasks.Refactoring) (*template.Template, error) {
	joined := template.New("")
	for _, pattern := range s.templates {
		file := "statements/" + strings.Replace(pattern, "*", string(r), 1) + ".tmpl"
		text, err := statementFiles.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading statement template: %w", err)
		}
		if _, err := joined.Parse(string(text)); err != nil {
			return nil, fmt.Errorf("parsing statement template %q: %w", file, err)
		}
	}
	return joined, nil
}
