package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cabra-run/tasks"
	"cabra-run/tasks/refactor"
)

// taskOptions select tasks in the tasks commands.
type taskOptions struct {
	grid string
	generation
}

func (o *taskOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.grid, "grid", "", "preset, task id or expression (default: full)")
	o.generation.addFlags(f)
}

func (o *taskOptions) source() (tasks.Source, error) {
	if o.grid == "" && o.files == "" {
		o.grid = "full"
	}
	grid, err := o.parseGrid(o.grid)
	if err != nil {
		return nil, err
	}
	return source(grid, o.generation)
}

func newTasks(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "list, show, write and validate tasks",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTasksList(a), newTasksShow(a), newTasksWrite(a), newTasksValidate(a))
	return cmd
}

// gridHelp is the part of a help text that lists what grids there are.
func gridHelp() string {
	var b strings.Builder
	b.WriteString("Presets:\n")
	for _, p := range tasks.Presets() {
		fmt.Fprintf(&b, "  %-12s %5d tasks  %s\n", p.Name, p.Grid.Len(), p.Description)
	}
	b.WriteString(`
Several presets are joined by commas: traversal,search
A task id selects that task: traversal/add-parameter/math/n050/07
An expression gives keys, each with a list or range; a key that is left out means all:
  axis=search,traversal; size=5..50; code=math; task=add-parameter; instances=5
`)
	return b.String()
}

func newTasksList(a *app) *cobra.Command {
	o := &taskOptions{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "print one line per task, beginning with its id",
		Long:  "Prints one line per task: id, sample id, lines of the starter, functions to be edited, digest.\n\n" + gridHelp(),
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return listTasks(cmd.Context(), a, o) },
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON lines")
	return cmd
}

// taskLine is what a listing says of a task.
type taskLine struct {
	ID       tasks.ID   `json:"id"`
	Cell     tasks.Cell `json:"cell"`
	Instance int        `json:"instance"`
	SampleID string     `json:"sample_id"`
	Lines    int        `json:"starter_lines"`
	Edited   int        `json:"edited_functions"`
	Digest   string     `json:"digest"`
}

func listTasks(ctx context.Context, a *app, o *taskOptions) error {
	src, err := o.source()
	if err != nil {
		return err
	}
	a.sayOddities(src)
	enc := json.NewEncoder(a.stdout)
	for t, err := range src.Tasks(ctx) {
		if err != nil {
			return err
		}
		l := taskLine{t.ID, t.Cell, t.Instance, t.SampleID,
			strings.Count(t.Starter[tasks.SolutionFile], "\n") + 1, len(t.Check.Edited), t.Digest()}
		if a.json {
			err = enc.Encode(l)
		} else {
			_, err = fmt.Fprintf(a.stdout, "%-42s %s %5d lines %4d functions %s\n", l.ID, l.SampleID, l.Lines, l.Edited, l.Digest[:19])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newTasksShow(a *app) *cobra.Command {
	o := &taskOptions{}
	part := "all"
	cmd := &cobra.Command{
		Use:   "show TASK",
		Short: "print a task: statement, starter and reference",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.grid = args[0]
			return showTask(cmd.Context(), a, o, part)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().Lookup("grid").Hidden = true
	cmd.Flags().StringVar(&part, "part", "all", "statement, starter, reference or all")
	cmd.Flags().BoolVar(&a.json, "json", false, "print the whole task as JSON")
	return cmd
}

func showTask(ctx context.Context, a *app, o *taskOptions, part string) error {
	if id := tasks.ID(o.grid); !id.Valid() || !strings.Contains(o.grid, "/") {
		return usagef("%q is not a task id such as traversal/add-parameter/math/n050/07; see: cabra-run tasks list", o.grid)
	}
	id := tasks.ID(o.grid)
	if o.files != "" {
		o.grid = wholeTree // files can have tasks that no grid has
	}
	src, err := o.source()
	if err != nil {
		return err
	}
	for t, err := range src.Tasks(ctx) {
		if err != nil {
			return err
		}
		if t.ID == id {
			return printTask(a, &t, part)
		}
	}
	return usagef("no task %q; see: cabra-run tasks list", id)
}

func printTask(a *app, t *tasks.Task, part string) error {
	if a.json {
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(t)
	}
	starter, reference := t.Starter[tasks.SolutionFile], t.Reference[tasks.SolutionFile]
	switch part {
	case "statement":
		fmt.Fprintln(a.stdout, t.Statement)
	case "starter":
		fmt.Fprintln(a.stdout, starter)
	case "reference":
		fmt.Fprintln(a.stdout, reference)
	case "all":
		fmt.Fprintf(a.stdout, "task      %s\nsample    %s\ndigest    %s\nedited    %s\n", t.ID, t.SampleID, t.Digest(), strings.Join(t.Check.Edited, " "))
		fmt.Fprintf(a.stdout, "\n--- statement ---\n%s\n\n--- starter ---\n%s\n\n--- reference ---\n%s\n", t.Statement, starter, reference)
	default:
		return usagef("--part %q; there is: statement, starter, reference, all", part)
	}
	return nil
}

func newTasksWrite(a *app) *cobra.Command {
	o := &taskOptions{}
	var format string
	var noTestCases bool
	cmd := &cobra.Command{
		Use:   "write DIR",
		Short: "write tasks into a new folder",
		Long: `Writes DIR/<task id>/ with statement.md, starter/, reference/ and task.json for each
task, and DIR/prompts/ with the statements in the form that --prompts reads.
With --format official it writes the tree that the official tools read: DIR/dag/,
DIR/tasks/ and DIR/test_cases/. The test cases are large, about 10 MB per cell.
DIR must not exist or be empty.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch format {
			case "folders":
				return writeTasks(cmd.Context(), a, o, args[0])
			case "official":
				return writeOfficial(cmd.Context(), a, o, args[0], noTestCases)
			}
			return usagef("--format %q; there is: folders, official", format)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().StringVar(&format, "format", "folders", "folders, or official for the files that the official tools read")
	cmd.Flags().BoolVar(&noTestCases, "no-test-cases", false, "leave the test cases out of official files")
	return cmd
}

func writeTasks(ctx context.Context, a *app, o *taskOptions, dir string) error {
	src, err := o.source()
	if err != nil {
		return err
	}
	root, err := newFolder(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	n := 0
	for t, err := range src.Tasks(ctx) {
		if err == nil {
			err = writeTask(root, &t)
		}
		if err != nil {
			return fmt.Errorf("after %d tasks in %q: %w", n, dir, err)
		}
		n++
	}
	if err := writePrompts(root); err != nil {
		return err
	}
	a.say(fmt.Sprintf("%d tasks in %s", n, dir))
	return nil
}

func writeTask(root *os.Root, t *tasks.Task) error {
	dir := filepath.FromSlash(string(t.ID))
	write := func(name, text string) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		return errors.Join(root.MkdirAll(filepath.Dir(path), 0o755), root.WriteFile(path, []byte(text), 0o644))
	}
	record, err := json.MarshalIndent(struct {
		tasks.Task
		// The texts stand in files of their own.
		Statement, Starter, Reference *struct{} `json:",omitempty"`
		Digest                        string    `json:"digest"`
	}{Task: *t, Digest: t.Digest()}, "", "  ")
	if err != nil {
		return err
	}
	errs := []error{write("statement.md", t.Statement+"\n"), write("task.json", string(record)+"\n")}
	for p, text := range t.Starter {
		errs = append(errs, write("starter/"+p, text))
	}
	for p, text := range t.Reference {
		errs = append(errs, write("reference/"+p, text))
	}
	return errors.Join(errs...)
}

func writePrompts(root *os.Root) error {
	if err := root.Mkdir("prompts", 0o755); err != nil {
		return err
	}
	sub, err := root.OpenRoot("prompts")
	if err != nil {
		return err
	}
	defer sub.Close()
	own, err := refactor.OwnStatements()
	if err != nil {
		return err
	}
	_, err = refactor.WriteStatements(sub, own)
	return err
}
