package score

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cabra-run/results"
	"cabra-run/sandbox"
	"cabra-run/tasks"
)

// The names and versions of the verdicts that this package gives. A version
// changes whenever the same code could get another verdict.
const (
	Strict          = "strict"
	StrictVersion   = "strict/2"
	Official        = "official"
	OfficialVersion = "official/2"
)

// Verdict is the score of a candidate.
type Verdict = results.Verdict

// Options say where and how to score. Engine and Image are required.
type Options struct {
	Engine  sandbox.Engine
	Image   string // ID of the scorer image
	Workers int    // boxes of each role at most; 0 means 2
	Limits  Limits // zero fields mean DefaultLimits
	Labels  sandbox.Labels
	// OfficialTests and OfficialMergeTests are how often the official verdict
	// runs each function, and both classes; 0 means 5 and 20, as published.
	OfficialTests      int
	OfficialMergeTests int
}

// Limits bound what one candidate may use.
type Limits struct {
	CPU         time.Duration // of one call
	Wall        time.Duration // of one call
	Total       time.Duration // of one candidate's process
	MemoryBytes int64         // address space of that process
	AnswerBytes int64         // all its outputs together
	SourceBytes int           // of its file
	Failures    int           // stop after so many failing calls
}

// DefaultLimits returns the limits of the strict verdict.
func DefaultLimits() Limits {
	return Limits{
		CPU: 2 * time.Second, Wall: 10 * time.Second, Total: 300 * time.Second,
		MemoryBytes: 1 << 30, AnswerBytes: 16 << 20, SourceBytes: 1 << 20, Failures: 3,
	}
}

func (l Limits) orDefaults() Limits {
	d := DefaultLimits()
	l.CPU, l.Wall, l.Total = or(l.CPU, d.CPU), or(l.Wall, d.Wall), or(l.Total, d.Total)
	l.MemoryBytes, l.AnswerBytes = or(l.MemoryBytes, d.MemoryBytes), or(l.AnswerBytes, d.AnswerBytes)
	l.SourceBytes, l.Failures = or(l.SourceBytes, d.SourceBytes), or(l.Failures, d.Failures)
	return l
}

func or[T int | int64 | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

func (l Limits) wire() wireLimits {
	return wireLimits{
		CPU: l.CPU.Seconds(), Wall: l.Wall.Seconds(), Total: l.Total.Seconds(),
		Memory: l.MemoryBytes, Answer: l.AnswerBytes,
	}
}

// parseLimits give a large file more time than a call.
func (l Limits) parseLimits() wireLimits {
	w := l.wire()
	w.CPU, w.Wall, w.Total, w.Answer = 20, 60, 60, maxBody
	return w
}

// Scorer scores candidates. It may be used from several goroutines.
type Scorer struct {
	limits  Limits
	pools   map[role]*pool
	cache   *cache
	rounds  int // official tests of a function
	vectors int // official tests of classes
	usage   usage
}

// New returns a scorer. Boxes are made when they are needed.
func New(o Options) (*Scorer, error) {
	if o.Engine == nil || o.Image == "" {
		return nil, errors.New("a scorer needs an engine and an image")
	}
	if o.Workers <= 0 {
		o.Workers = 2
	}
	o.Limits = o.Limits.orDefaults()
	s := &Scorer{limits: o.Limits, pools: map[role]*pool{}, cache: newCache()}
	s.rounds, s.vectors = or(o.OfficialTests, 5), or(o.OfficialMergeTests, 20)
	for _, r := range []role{roleReference, roleCandidate, roleParser} {
		s.pools[r] = newPool(o.Workers, r.start(o))
	}
	return s, nil
}

// Close removes all boxes. No call of Score may be under way.
func (s *Scorer) Close(context.Context) error {
	var errs []error
	for _, p := range s.pools {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// Score gives the strict verdict on a candidate. An error is a failure of ours
// (the engine, a *TaskDefect), never the candidate's.
func (s *Scorer) Score(ctx context.Context, t *tasks.Task, candidate tasks.Files) (Verdict, error) {
	verdicts, err := s.score(ctx, t, candidate, s.strict)
	if err != nil {
		return Verdict{}, err
	}
	return verdicts[0], nil
}

// ScoreAll gives both verdicts on a candidate: strict, official. With an error
// it returns those that could be given all the same.
func (s *Scorer) ScoreAll(ctx context.Context, t *tasks.Task, candidate tasks.Files) ([]Verdict, error) {
	return s.ScoreBy(ctx, t, candidate, Verdicts()...)
}

// Verdicts names the verdicts that there are; the first is the one to report
// where none is asked for.
func Verdicts() []string { return []string{Strict, Official} }

// ScoreBy is ScoreAll for the named verdicts alone, in their order.
func (s *Scorer) ScoreBy(
	ctx context.Context, t *tasks.Task, candidate tasks.Files, names ...string,
) ([]Verdict, error) {
	var readers []reader
	for _, name := range names {
		switch name {
		case Strict:
			readers = append(readers, s.strict)
		case Official:
			readers = append(readers, s.official)
		default:
			return nil, fmt.Errorf("scoring %s: there is no verdict %q", t.ID, name)
		}
	}
	return s.score(ctx, t, candidate, readers...)
}

// reader gives one verdict on a candidate's file.
type reader func(context.Context, *expectation, *submission) (Verdict, error)

// score gives the verdicts that can be given: a failure at one of them costs
// no other.
func (s *Scorer) score(
	ctx context.Context, t *tasks.Task, candidate tasks.Files, readers ...reader,
) ([]Verdict, error) {
	e, err := s.cache.get(ctx, t.Digest(), func(ctx context.Context) (*expectation, error) {
		return s.expect(ctx, t)
	})
	if err != nil {
		return nil, fmt.Errorf("scoring %s: %w", t.ID, err)
	}
	sub, err := s.read(ctx, e, candidate)
	if err != nil {
		return nil, fmt.Errorf("scoring %s: %w", t.ID, err)
	}
	var verdicts []Verdict
	var errs []error
	for _, give := range readers {
		v, err := give(ctx, e, sub)
		if err != nil {
			errs = append(errs, fmt.Errorf("scoring %s: %w", t.ID, err))
			continue
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, errors.Join(errs...)
}

// submission is a candidate's file. problem says why it cannot be run.
type submission struct {
	source  string
	module  *module
	problem string
}

// read takes a candidate's file and parses it.
func (s *Scorer) read(ctx context.Context, e *expectation, candidate tasks.Files) (*submission, error) {
	source, ok := candidate[tasks.SolutionFile]
	sub := &submission{source: source}
	switch {
	case !ok:
		sub.problem = tasks.SolutionFile + " is missing"
		return sub, nil
	case len(source) > s.limits.SourceBytes:
		sub.problem = fmt.Sprintf("%s is larger than %d bytes", tasks.SolutionFile, s.limits.SourceBytes)
		return sub, nil
	}
	m, err := s.parseCandidate(ctx, e, source)
	switch {
	case errors.Is(err, errLost):
		sub.problem = "killed the executor (" + lostText(err) + ")"
	case err != nil:
		return nil, err
	case m.Problem != "":
		sub.problem = "does not compile: " + shorten(m.Problem, 200)
	}
	if m != nil && m != e.own[0] && m != e.own[1] {
		m.share(e.own...)
	}
	sub.module = m
	return sub, nil
}

// strict applies all checks. Later ones run even where earlier ones failed, so
// that a verdict tells all that is wrong; only code that does not compile ends it.
func (s *Scorer) strict(ctx context.Context, e *expectation, sub *submission) (Verdict, error) {
	if sub.problem != "" {
		return verdict(check("compiles", sub.problem)), nil
	}
	found, err := s.run(ctx, e, sub.module.Program)
	if err != nil {
		return Verdict{}, err
	}
	behaves := check("behaviour", found.problem)
	if behaves.Pass {
		behaves.Detail = found.note
	}
	checks := append([]results.Check{check("compiles", "")}, e.rules.judge(sub.module)...)
	checks = append(checks, behaves)
	if e.library {
		checks = append(checks, check("calls", found.calls))
	}
	return verdict(checks...), nil
}

// parseCandidate parses, unless the text is one that was parsed already.
func (s *Scorer) parseCandidate(ctx context.Context, e *expectation, source string) (*module, error) {
	for _, known := range e.own {
		if source == known.Source {
			return known, nil
		}
	}
	names := slices.AppendSeq([]string{}, maps.Keys(e.own[1].functions()))
	parsed, err := s.parse(ctx, parseJob{Layout: e.layout, Programs: 1, Names: names}, source)
	if err != nil {
		return nil, err
	}
	return parsed[0], nil
}

// parse has source texts parsed in a box that runs no candidate code.
func (s *Scorer) parse(ctx context.Context, job parseJob, sources ...string) ([]*module, error) {
	job.Op = "parse"
	for _, source := range sources {
		job.Sources = append(job.Sources, []byte(source))
	}
	reply, err := s.ask(ctx, roleParser, job, s.limits.parseLimits())
	if err != nil {
		return nil, err
	}
	modules, err := readModules(reply.body, len(sources))
	for i, source := range sources {
		if err != nil { // the parser died of it
			modules = append(modules, &module{Problem: "the parser " + endText(reply.replyHeader, s.limits)})
		}
		modules[i].Source = source
	}
	return modules, nil
}

// maxProblems is how many problems of one check are kept.
const maxProblems = 5

// check makes a check that passes when there is no problem.
func check(name string, problems ...string) results.Check {
	var real []string
	for _, p := range problems {
		if p != "" {
			real = append(real, p)
		}
	}
	if len(real) > maxProblems {
		real = append(real[:maxProblems], fmt.Sprintf("and %d more", len(real)-maxProblems))
	}
	return results.Check{Name: name, Pass: len(real) == 0, Detail: strings.Join(real, "; ")}
}

// verdict is solved when every check passes; its reason is the first that
// does not.
func verdict(checks ...results.Check) Verdict {
	v := Verdict{Scorer: Strict, Version: StrictVersion, Solved: true, Checks: checks}
	for _, c := range checks {
		if !c.Pass && v.Solved {
			v.Solved, v.Reason = false, c.Name+": "+c.Detail
		}
	}
	return v
}
