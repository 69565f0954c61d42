"""Checks tasks: one JSON object per input line, one line per problem found.

The last line says how many tasks were checked.
"""
import ast
import json
import sys
import types

from expected import CODES, Guarded, Numbered, Writer, inserted_lines
from numpy import array

INPUTS = {
    "math": [0.37, -0.81, 1.0],
    "string": ["7", "0123456789", "31415", "aB9z"],
    "array": [array([0.5, -0.25, 0.75]), array([-0.9])],
}
# The library's value where it has no effect, and one where it has.
NEUTRAL = {"math": 1, "string": "", "array": 1}
OTHER = {"math": 0.21, "string": "34", "array": -0.42}


class Loaded:
    """A program that runs with a library of ours, each call remembered."""

    def __init__(self, text, **library):
        self.calls = []
        module = types.ModuleType("mylibrary")
        for name, function in library.items():
            setattr(module, name, self.counting(name, function))
        sys.modules["mylibrary"] = module
        self.names = {"__name__": "solution", "print": lambda text: None}
        exec(compile(text, "solution.py", "exec"), self.names)
        for name, value in list(self.names.items()):
            if isinstance(value, types.FunctionType) and value.__globals__ is self.names:
                self.names[name] = self.remembering(value)

    def counting(self, name, function):
        def call(*args):
            self.calls.append(name)
            return function(*args)
        return call

    def remembering(self, function):
        results = {}

        def call(*args, **named):
            key = repr((args, named))
            if key not in results:
                results[key] = function(*args, **named)
            return results[key]
        return call

    def __call__(self, name, *args, **named):
        return self.names[name](*args, **named)


def functions(text, tree):
    """The text of each function by its name."""
    rows = text.split("\n")
    return {f.name: rows[f.lineno - 1:f.end_lineno] for f in tree.body if isinstance(f, ast.FunctionDef)}


def lines(text):
    return [line for line in text.split("\n") if line]


class Task:
    def __init__(self, record):
        self.__dict__.update(record)
        self.graph = {name: callees for name, callees in self.graph}
        self.writer = self.new_writer(self.graph, self.edited, self.refactoring, self.code, self.seed)
        self.init = [name for name in self.graph if name not in self.edited]
        self.problems = []

    def new_writer(self, *args):
        return Writer(*args)

    def expect(self, what, got, want):
        if repr(got) != repr(want):
            self.problems.append(f"{self.id}: {what}: {got!r}, want {want!r}")

    def check(self):
        self.texts()
        getattr(self, self.refactoring.replace("-", "_"))()
        return self.problems

    def texts(self):
        self.expect("starter", self.starter, self.writer.program(False))
        self.expect("reference", self.reference, self.writer.program(True))
        trees = ast.parse(self.starter), ast.parse(self.reference)
        before, after = functions(self.starter, trees[0]), functions(self.reference, trees[1])
        normal = ast.unparse(trees[0])
        if self.refactoring == "dead-code":
            self.expect("removed", sorted(set(before) - set(after)), sorted(self.edited))
            self.dead_code_changes(before, after)
            differing = [(a, b) for a, b in zip(lines(self.starter), lines(normal)) if a != b]
            self.expect("raw lines", differing, [(f"    return ({c})", f"    return {c}")
                                                 for c in [f"{self.init[-1]}(val)"]])
        else:
            self.expect("functions", list(after), list(before))
            changed = {name for name in after if before[name] != after[name]}
            self.expect("changed", sorted(changed), sorted(self.edited))
            self.expect("starter as Python prints it", lines(self.starter), lines(normal))
        normal = ast.unparse(trees[1])
        code = [line for line in lines(self.reference) if not line.lstrip().startswith("#")]
        self.expect("reference as Python prints it", code, lines(normal))

    def dead_code_changes(self, before, after):
        changed = [name for name in after if before[name] != after[name]]
        self.expect("changed", changed, ["main"])  # its brackets, see below

    def equal(self, names, starter, reference, first=lambda result: result):
        for name in names:
            for val in INPUTS[self.code]:
                self.expect(f"{name}({val!r})", first(reference(name, val)), starter(name, val))

    def applied(self, value, result):
        return value + result if CODES[self.code]["op"] == "+" else value * result

    def dead_code(self):
        self.equal(self.init + ["main"], Loaded(self.starter), Loaded(self.reference))

    def add_parameter(self):
        # With a default that has no effect nothing changes.
        neutral = dict(default=lambda: NEUTRAL[self.code])
        starter = Loaded(self.starter, **neutral)
        self.equal(list(self.graph) + ["main"], starter, Loaded(self.reference, **neutral))
        # A given value reaches all sinks, and nothing else applies it.
        reference, value = Loaded(self.reference, **neutral), OTHER[self.code]
        for name in self.writer.sinks:
            sink = starter.names[name]
            starter.names[name] = lambda val, sink=sink: self.applied(value, sink(val))
        fresh = Loaded(self.starter, **neutral)
        for name in self.writer.sinks:
            fresh.names[name] = starter.names[name]
        for val in INPUTS[self.code]:
            named = {CODES[self.code]["V"]: value}
            self.expect("root with a value", reference(self.edited[-1], val, **named), fresh(self.edited[-1], val))

    def add_return(self):
        starter = Loaded(self.starter, external=lambda x: x)
        reference = Loaded(self.reference, external=lambda x: (x, "goat"))
        self.equal(self.init, starter, reference)
        for name in self.edited:
            for val in INPUTS[self.code]:
                self.expect(f"{name}({val!r})", reference(name, val), (starter(name, val), "goat"))

    def cache_function(self):
        value = OTHER[self.code]
        starter = Loaded(self.starter, slow=lambda: value)
        reference = Loaded(self.reference, slow=lambda: value)
        root = self.edited[-1]
        self.expect("calls of slow by the root", (reference(root, INPUTS[self.code][0]), reference.calls)[1], ["slow"])
        self.equal(self.init + [root, "main"], starter, reference)
        for name in self.edited[:-1]:
            for val in INPUTS[self.code]:
                self.expect(f"{name}({val!r})", reference(name, val, value), starter(name, val))

    def dont_repeat(self):
        getter = CODES[self.code]["G"]
        # Any function of the argument will do that gives another value for each.
        library = {getter: lambda x: x if self.code == "string" else (x if self.code == "math" else sum(x.items)) + 0.01}
        starter, reference = Loaded(self.starter, **library), Loaded(self.reference, **library)
        tops = sorted(self.writer.roots)
        for top in tops:
            reference(top, INPUTS[self.code][0])
        self.expect("calls of the getter by all tops", reference.calls, [getter])
        self.equal(self.init + tops + ["main"], starter, reference)
        for name in set(self.edited) - set(tops):
            for val in INPUTS[self.code]:
                self.expect(f"{name}({val!r})", reference(name, val), (starter(name, val), library[getter](val)))


class GuardedTask(Task):
    def new_writer(self, *args):
        return Guarded(self.steps, *args)

    def texts(self):
        super().texts()
        self.expect("live branches", self.live, dict(sorted(self.writer.live.items())))
        branches = [self.branches(text) for text in (self.starter, self.reference)]
        for name, (guard, live, other) in branches[1].items():
            before = branches[0][name]
            self.expect(f"guard of {name}", guard, before[0])
            if self.refactoring == "dead-code" or name not in self.edited:
                self.expect(f"live branch of {name}", live, before[1])
            if self.refactoring != "dead-code":
                self.expect(f"other branch of {name}", other, before[2])
        if self.refactoring == "dead-code":
            self.dead_code_calls(branches[0])
        elif self.refactoring != "add-return":
            self.same_branches(branches[0])

    def branches(self, text):
        """Guard, live and other branch of each function; the guard is evaluated."""
        tree = ast.parse(text)
        found = {}
        for f in tree.body:
            if not isinstance(f, ast.FunctionDef) or f.name in ("main", "check"):
                continue
            self.expect(f"body of {f.name}", [type(x).__name__ for x in f.body], ["If"])
            guard, then, other = f.body[0].test, f.body[0].body, f.body[0].orelse
            x, a, b, target = (n.value for n in guard.args)
            steps = {k.arg: k.value.value for k in guard.keywords}
            self.expect(f"steps of {f.name}", steps, {"num_steps": self.steps})
            self.expect(f"arguments of {f.name}", [1 <= x <= 100, a in range(1, 10, 2), b in range(1, 10, 2), target in (0, 1)],
                        [True] * 4)
            for _ in range(self.steps):
                x = a * x + b if x % 2 else x // 2
            truth = x % 2 == target
            self.expect(f"truth of {f.name}", truth, self.live[f.name])
            live, dead = (then, other) if truth else (other, then)
            found[f.name] = ast.unparse(guard), "\n".join(map(ast.unparse, live)), "\n".join(map(ast.unparse, dead))
        return found

    def same_branches(self, starter):
        for name, (_, live, other) in starter.items():
            self.expect(f"branches of {name}", other, live)

    def dead_code_changes(self, before, after):
        for name in set(after) - {"main", "check"}:
            text = "\n".join(before[name])
            for dead in self.edited:
                text = text.replace(f" = {dead}(val)", " = val")
            self.expect(f"{name} without dead functions", after[name], text.split("\n"))
        self.expect("check", after["check"], before["check"])

    def dead_code_calls(self, starter):
        """Dead functions are called in branches that do not run, and only there."""
        for name, (_, live, other) in starter.items():
            dead = name in self.edited
            called = {n.func.id for n in ast.walk(ast.parse(other)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
            same_side = called & set(self.edited if dead else self.init)
            # Only where the other side has nobody, it is what the running branch calls.
            self.expect(f"calls in the other branch of {name}", same_side - set(self.graph[name]), set())
            if not dead:
                self.expect(f"dead calls of {name}", [d for d in self.edited if f"{d}(val)" in live.split()], [])
            self.expect(f"branches of {name} differ", live != other, True)


class NumberedTask(Task):
    """Ten values, with rules or with a comment."""

    def new_writer(self, *args):
        stem = {"add-return": "key", "cache-function": "slow"}.get(self.refactoring, CODES[self.code]["V"])
        numbers = self.code != "string" and self.refactoring != "add-return"
        if self.comment:
            rules, inserted = [], [self.comment]
        else:
            rules, inserted = inserted_lines(self.seed, self.sample, stem, numbers, self.count, self.prefixes, self.suffixes)
        self.expected = rules, inserted
        return Numbered(inserted, self.comment, *args)

    def texts(self):
        super().texts()
        rules, inserted = self.expected
        self.expect("rules", [(r["kind"], r["line"], r["phrasing"]) for r in self.rules or []], rules)
        self.expect("inserted lines", self.inserted, inserted)
        tree = ast.parse(self.reference)
        for name, rows in functions(self.reference, tree).items():
            comments = [row.strip() for row in rows if row.lstrip().startswith("#")]
            want = [line for line in inserted if line.startswith("#")] if name in self.edited else []
            self.expect(f"comments of {name}", comments, want)

    def number(self, i):
        """A value that all assertions hold for."""
        return str(i % 10) if self.code == "string" else 0.9 + i / 50

    def add_parameter(self):
        starter, reference = (Loaded(text, default=self.number) for text in (self.starter, self.reference))
        values = [self.number(i) for i in range(1, 11)]
        for name in self.writer.sinks:
            sink = starter.names[name]
            starter.names[name] = lambda val, sink=sink: self.chain(values, sink(val))
        self.equal(list(self.graph) + ["main"], starter, reference)

    def chain(self, values, result):
        """v1 * v2 * … * result, from the left."""
        applied = values[0]
        for value in values[1:]:
            applied = self.applied(applied, value)
        return self.applied(applied, result)

    def add_return(self):
        keys = [str((i * 7) % 10) for i in range(10)]
        starter, reference = (Loaded(text, external=lambda n: keys[:n]) for text in (self.starter, self.reference))
        self.equal(self.init, starter, reference)
        for name in self.edited:
            for val in INPUTS[self.code]:
                self.expect(f"{name}({val!r})", reference(name, val), (starter(name, val), *keys))

    def cache_function(self):
        starter, reference = (Loaded(text, slow=self.number) for text in (self.starter, self.reference))
        root = self.edited[-1]
        self.expect("calls of slow by the root", (reference(root, INPUTS[self.code][0]), reference.calls)[1], ["slow"] * 10)
        self.equal(self.init + [root, "main"], starter, reference)
        given = {f"slow{i}": self.number(i) for i in range(1, 11)}
        for name in self.edited[:-1]:
            for val in INPUTS[self.code]:
                self.expect(f"{name}({val!r})", reference(name, val, **given), starter(name, val))

    def computed(self, val, i):
        if self.code == "string":
            return str((len(val) + i) % 10)
        return self.number(i) + (val if self.code == "math" else sum(val.items)) / 10

    def dont_repeat(self):
        getter = CODES[self.code]["G"]
        starter, reference = (Loaded(text, **{getter: self.computed}) for text in (self.starter, self.reference))
        tops = sorted(self.writer.roots)
        for top in tops:
            reference(top, INPUTS[self.code][0])
        self.expect("calls of the getter by all tops", reference.calls, [getter] * 10)
        self.equal(self.init + tops + ["main"], starter, reference)
        for name in set(self.edited) - set(tops):
            for val in INPUTS[self.code]:
                values = [self.computed(val, i) for i in range(1, 11)]
                self.expect(f"{name}({val!r})", reference(name, val), (starter(name, val), *values))


def task_of(record):
    if record.get("steps"):
        return GuardedTask(record)
    if record.get("inserted"):
        return NumberedTask(record)
    return Task(record)


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    checked = 0
    for line in sys.stdin:
        for problem in task_of(json.loads(line)).check()[:3]:
            print(problem)
        checked += 1
    print(f"checked {checked}")
