package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"cabra-run/results/trace"
)

func TestMain(m *testing.M) {
	if trace.ChildMain(os.Args[1:]) {
		return
	}
	if os.Getenv(programVar) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){
		"cabra-run": func() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// Each script reads as a user's session that needs no engine.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("CABRA_STATE_DIR", env.WorkDir+"/state")
			env.Setenv("DOCKER_HOST", "unix://"+env.WorkDir+"/no-engine.sock")
			return os.CopyFS(env.WorkDir, os.DirFS("testdata/agents"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit": exitCode, "judge": judgeTrial, "oldrun": makeOldRun, "usedrun": makeUsedRun,
		},
	})
}

// exitCode runs a command and compares its exit code: exit 2 cabra-run ….
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND [ARG…]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		got = itoa(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}
