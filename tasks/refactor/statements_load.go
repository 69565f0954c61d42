package refactor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"cabra-run/tasks"
)

// maxStatement bounds one statement file, in bytes.
const maxStatement = 1 << 20

// statementSuffix ends the names of statement files.
const statementSuffix = ".md"

// LoadStatements reads statements that replace our own from a folder. The file
// of a base text is named "<refactoring>.<code type>.md", for example
// "add-parameter.math.md"; those of the axes runtime, instructions and
// comment-copy lie in folders with the axes' names. Those of the given cells
// have to exist; without cells all base texts have to, and others are read
// where there are any. Other files are ignored. Each is a regular file (no
// link) of UTF-8 text and at most 1 MiB. A text for instructions has one line
// "{{RULES}}", one for comment-copy a line "{{COMMENT}}".
func LoadStatements(dir string, cells ...tasks.Cell) (Statements, error) {
	names, optional, err := statementNames(cells)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of statements: %w", err)
	}
	defer root.Close()
	all, missing := Statements{}, []string(nil)
	for _, name := range append(slices.Clip(names), optional...) {
		file := name + statementSuffix
		text, err := readStatement(root, file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if slices.Contains(names, name) {
				missing = append(missing, file)
			}
		case err != nil:
			return nil, fmt.Errorf("reading statement %q in %q: %w", file, dir, err)
		default:
			all[name] = text
		}
	}
	if len(missing) > 0 {
		example := baseName(tasks.AddParameter, tasks.Math) + statementSuffix
		return nil, fmt.Errorf("%d of %d statements are missing in %q (files are named like %s): %s",
			len(missing), len(names), dir, example, strings.Join(missing, ", "))
	}
	return all, nil
}

// statementNames returns the names that the cells need, without repeats, and
// those that may be missing.
func statementNames(cells []tasks.Cell) (needed, optional []string, err error) {
	if len(cells) == 0 {
		sets := statementSets()
		for _, set := range sets[1:] {
			optional = append(optional, set.names()...)
		}
		return sets[0].names(), optional, nil
	}
	for _, c := range cells {
		name, err := statementName(c)
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(needed, name) {
			needed = append(needed, name)
		}
	}
	return needed, nil, nil
}

// readStatement looks before it opens, so that it neither follows a link nor
// waits for the other end of a pipe, and looks again at what it has opened.
func readStatement(root *os.Root, name string) (string, error) {
	if folder, _, nested := strings.Cut(name, "/"); nested {
		if info, err := root.Lstat(folder); err == nil && !info.IsDir() {
			return "", fmt.Errorf("%q is not a folder", folder)
		}
	}
	before, err := root.Lstat(name)
	if err != nil {
		return "", err
	}
	if !before.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !os.SameFile(before, opened) {
		return "", errors.New("the file was replaced while it was opened")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxStatement+1))
	if err != nil {
		return "", err
	}
	if err := checkStatement(text); err != nil {
		return "", err
	}
	return string(text), checkPlaceholder(string(text), placeholderOf(name))
}

func checkStatement(text []byte) error {
	switch {
	case len(text) > maxStatement:
		return errors.New("larger than 1 MiB")
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return errors.New("not a UTF-8 text")
	case len(bytes.TrimSpace(text)) == 0:
		return errors.New("empty")
	}
	return nil
}

// WriteStatements writes statements into a folder in the form that
// LoadStatements reads, as a starting point for other texts, and returns the
// names of the files written. It overwrites nothing.
func WriteStatements(root *os.Root, all Statements) ([]string, error) {
	var written []string
	for _, set := range statementSets() {
		for _, name := range set.names() {
			text, ok := all[name]
			if !ok {
				continue
			}
			if err := writeIn(root, set.folder, name+statementSuffix, text); err != nil {
				return written, fmt.Errorf("writing statement: %w", err)
			}
			written = append(written, name+statementSuffix)
		}
	}
	return written, nil
}

func writeIn(root *os.Root, folder, name, text string) error {
	if folder != "" {
		if err := root.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return writeNew(root, name, text)
}

func writeNew(root *os.Root, name, text string) (err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.WriteString(f, text)
	return err
}
