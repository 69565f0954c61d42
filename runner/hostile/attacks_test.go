package hostile

import (
	"time"

	"cabra-run/results"
	"cabra-run/runner"
)

// attack is a hostile agent and what it may come to.
type attack struct {
	name    string
	program string // "" is the name
	args    []string
	aim     string // what it attacks
	quick   bool   // one of those that every run of the tests goes through
	want    []end  // any of them
	// inVolume are further ends where the workspace is a volume of the engine.
	inVolume []end
	tried    int // the least that it has to have tried, 1 if 0
	set      func(*runner.Settings)
	define   map[string]any // further fields of its definition
	left     []string       // reasons for which something of its workspace must have been refused
	home     []string       // the same of its home
}

// end is how an attempt ended. No attack solves its task, so an answered one
// has failed.
type end struct {
	outcome results.Outcome
	limit   string
}

var (
	answered = end{outcome: results.Answered}
	noOutput = end{outcome: results.NoOutput}
	agentErr = end{outcome: results.AgentError}
	timedOut = end{outcome: results.Timeout}
	stalled  = end{outcome: results.Stalled}
	memory   = end{results.Limit, runner.LimitMemory}
	pids     = end{results.Limit, runner.LimitPids}
	disk     = end{results.Limit, runner.LimitDisk}
	output   = end{results.Limit, runner.LimitOutput}
	protocol = end{results.Limit, runner.LimitProtocol}
)

func one(e ...end) []end { return e }

// within makes the time short: long enough for the honest one beside it.
func within(s *runner.Settings) { s.Timeout = 30 * time.Second }

func small(s *runner.Settings) { s.Limits.MemoryBytes = 256 << 20 }

// forging is the definition of an agent whose session is read as a CLI's.
func forging(format, folder string) map[string]any {
	return map[string]any{"trace": format, "sessions": []string{folder}, "success": []string{"completed", "exit"}}
}

func attacks() []attack {
	var all []attack
	for _, list := range [][]attack{onFiles(), onTraces(), onProcesses(), onLimits(), onConnection(), hunting()} {
		all = append(all, list...)
	}
	return all
}

func onFiles() []attack {
	list := []attack{
		{name: "links", aim: "workspace replaced by links", quick: true, want: one(noOutput), tried: 15, left: []string{"symbolic link"}},
		{name: "special", aim: "devices, FIFOs, sockets, mounts in the workspace", quick: true, want: one(answered), tried: 600,
			left: []string{"fifo"}},
		{name: "manyfiles", aim: "files without end", want: one(answered, disk, memory, timedOut), tried: 10_000},
		{name: "names", aim: "names with newlines, no UTF-8, options", want: one(answered), tried: 300, left: []string{"bad name"}},
		{name: "modes", aim: "modes 0000 everywhere", want: one(answered), tried: 8},
		{name: "sparse", aim: "sparse files of 5 GB and more", want: one(disk), tried: 90, set: within},
		{name: "deep", args: []string{"stay"}, aim: "100,000 nested folders", want: one(disk), tried: 256, set: within,
			inVolume: one(timedOut)},
		{name: "deep-gone", program: "deep", aim: "100,000 nested folders, left behind", want: one(answered, disk), tried: 256},
		{name: "times", aim: "files of other times, the clock, the host's name", want: one(answered), tried: 20},
		{name: "trees", aim: "deletes all that it can", want: one(noOutput), tried: 50},
	}
	for _, s := range []struct {
		kind, refused string
		want          end
	}{
		{"passwd", "symbolic link", noOutput}, {"relative", "symbolic link", noOutput}, {"hardlink", "hard link", noOutput},
		{"fifo", "fifo", noOutput}, {"directory", "", noOutput}, {"sockets", "socket", noOutput}, {"gone", "", noOutput},
		{"huge", "too large", noOutput}, {"binary", "", answered}, {"nested", "", answered}, {"trap", "", answered},
	} {
		a := attack{name: "solution-" + s.kind, program: "solution", args: []string{s.kind}, aim: "solution.py as " + s.kind,
			want: one(s.want), quick: s.kind == "passwd" || s.kind == "directory"}
		if s.refused != "" {
			a.left = []string{s.refused}
		}
		list = append(list, a)
	}
	return list
}

func onTraces() []attack {
	claude := func(kind string, want ...end) attack {
		return attack{name: "trace-" + kind, program: "trace", args: []string{kind, "{session}"}, aim: "a session that is " + kind,
			want: want, define: forging("claude", ".claude/projects")}
	}
	list := []attack{
		claude("forged", answered), claude("giant", answered, agentErr), claude("deep", answered, agentErr),
		claude("names", answered, agentErr), claude("bomb", answered, agentErr), claude("elsewhere", answered, agentErr),
	}
	list[0].quick = true
	for _, kind := range []string{"store", "broken"} {
		list = append(list, attack{name: "trace-" + kind, program: "trace", args: []string{kind}, aim: "a database that is hostile",
			want: one(answered, agentErr), define: forging("opencode", ".local/share/opencode")})
	}
	return append(list,
		attack{name: "home-full", program: "fill", args: []string{"/home/agent"}, aim: "a home that is full", want: one(answered)})
}

func onProcesses() []attack {
	return []attack{
		{name: "forkbomb", aim: "a fork bomb that stays", want: one(timedOut, pids), set: within},
		{name: "forkbomb-left", program: "forkbomb", args: []string{"leave"}, aim: "a fork bomb that outlives its agent", want: one(agentErr, pids)},
		{name: "threads", program: "forkbomb", args: []string{"threads"}, aim: "threads and processes without end",
			want: one(timedOut, agentErr, pids, memory), set: within},
		{name: "balloon", args: []string{"heap"}, aim: "memory without end", want: one(memory), quick: true, set: small},
		{name: "balloons", program: "balloon", args: []string{"children"}, aim: "memory of children without end", want: one(timedOut, memory),
			set: func(s *runner.Settings) { small(s); within(s) }},
		{name: "balloon-files", program: "balloon", args: []string{"files"}, aim: "memory of files without end",
			want: one(memory, protocol, disk, timedOut), set: func(s *runner.Settings) { small(s); within(s) }},
		{name: "stubborn", aim: "ignores every signal", want: one(timedOut), set: within},
		{name: "stopped", program: "stubborn", args: []string{"stop"}, aim: "stops itself", want: one(stalled),
			set: func(s *runner.Settings) { s.Stall = 15 * time.Second }},
		{name: "silent", program: "stubborn", args: []string{"silent"}, aim: "an endless loop without output", want: one(stalled),
			set: func(s *runner.Settings) { s.Stall = 15 * time.Second }},
		{name: "daemons", aim: "daemons that write after the end", quick: true, want: one(answered, noOutput)},
		{name: "daemons-quiet", program: "daemons", args: []string{"quiet"}, aim: "daemons without an output", want: one(answered, noOutput)},
		{name: "flight", aim: "processes that flee, locks and leases", want: one(answered), tried: 22},
		{name: "holdout", aim: "a child that holds the output open", want: one(answered)},
		{name: "killall", aim: "kills the harness's helpers", want: one(timedOut), set: within},
		{name: "pid1", aim: "PID 1: signals, memory, streams", quick: true, want: one(answered), tried: 500},
		{name: "hog-cpu", program: "hog", args: []string{"cpu"}, aim: "60 busy processes", want: one(answered), tried: 60},
		{name: "hog-disk", program: "hog", args: []string{"disk"}, aim: "writes, syncs and reads all the time", want: one(answered, disk), tried: 6},
	}
}

func onLimits() []attack {
	list := []attack{
		{name: "limits", aim: "its own limits, groups, kernel settings", want: one(answered), tried: 100},
		{name: "exhaust", aim: "all that is counted", want: one(answered, pids, memory), tried: 5000},
		{name: "core", aim: "core dumps", want: one(answered), tried: 24},
		{name: "environment", aim: "huge environments, loaders' variables", want: one(answered), tried: 12},
		{name: "suid", aim: "set-id programs, capabilities, other users", want: one(answered), tried: 5000},
		{name: "rootfs", aim: "the read-only root, the relay", quick: true, want: one(answered), tried: 80},
		{name: "kernel", aim: "calls and sockets that no agent needs", want: one(answered), tried: 250},
		{name: "fill", aim: "/tmp, /dev/shm, home to the last byte", want: one(answered, memory), tried: 3},
		{name: "flood-stdout", program: "flood", args: []string{"stdout"}, aim: "standard output", quick: true, want: one(output)},
		{name: "flood-stderr", program: "flood", args: []string{"stderr"}, aim: "standard error", want: one(output)},
		{name: "flood-both", program: "flood", args: []string{"both"}, aim: "both, from eight processes", want: one(output)},
		{name: "escapes", program: "flood", args: []string{"escapes"}, aim: "terminals and logs", want: one(answered)},
		{name: "trickle", program: "flood", args: []string{"trickle"}, aim: "the stall watch", want: one(timedOut),
			set: func(s *runner.Settings) { within(s); s.Stall = 15 * time.Second }},
	}
	for _, x := range []struct {
		name string
		args []string
		want end
	}{
		{"exit-0", []string{"0"}, agentErr}, {"exit-137", []string{"137", "asked"}, agentErr},
		{"exit-255", []string{"255", "asked"}, agentErr}, {"exit-killed", []string{"-9", "asked"}, agentErr},
		{"exit-126", []string{"126"}, agentErr},
	} {
		list = append(list, attack{name: x.name, program: "exits", args: x.args, aim: "lies with its exit code", want: one(x.want)})
	}
	return list
}

func onConnection() []attack {
	var list []attack
	for _, x := range []struct {
		kind, aim string
		tried     int
		want      []end
	}{
		{"flood", "64 requests without end", 64, one(answered, protocol)},
		{"garbage", "random bytes, halves of requests", 300, one(answered)},
		{"smuggle", "requests in requests, other hosts", 35, one(answered)},
		{"crowd", "thousands of connections", 4500, one(answered)},
		{"slow", "slow requests, slow readers", 60, one(answered)},
		{"gigabyte", "requests of a gigabyte", 3, one(answered, protocol)},
		{"headers", "headers of megabytes", 6, one(answered)},
		{"bodies", "bodies that no parser likes", 10, one(answered)},
		{"requests", "requests without end", 100, one(timedOut)},
		{"churn", "connections without end, one after another", 1000, one(timedOut, protocol)},
	} {
		a := attack{name: "relay-" + x.kind, program: "relay", args: []string{x.kind}, aim: x.aim, tried: x.tried, want: x.want,
			quick: x.kind == "smuggle"}
		if x.kind == "requests" || x.kind == "churn" {
			a.set = within
		}
		list = append(list, a)
	}
	return list
}

func hunting() []attack {
	return []attack{
		{name: "huntkeys", aim: "keys", quick: true, want: one(answered), tried: 100},
		{name: "hunthost", aim: "the host, the world", want: one(answered), tried: 60_000},
		{name: "huntothers", aim: "other attempts", want: one(answered), tried: 5000},
		{name: "huntsolution", aim: "the solution, the task's name", want: one(answered), tried: 5000},
	}
}
