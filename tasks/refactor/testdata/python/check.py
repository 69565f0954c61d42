"""Checks tasks: one JSON object per input line, one line per problem found.

The last line says how many tasks were checked.
"""
import ast
import json
import sys
import types

from expected import CODES, Writer
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
        self.names = {"__name__": "solution"}
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
        self.writer = Writer(self.graph, self.edited, self.refactoring, self.code, self.seed)
        self.init = [name for name in self.graph if name not in self.edited]
        self.problems = []

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
            changed = [name for name in after if before.get(name) != after[name]]
            self.expect("changed", changed, ["main"])  # its brackets, see below
            differing = [(a, b) for a, b in zip(lines(self.starter), lines(normal)) if a != b]
            self.expect("raw lines", differing, [(f"    return ({c})", f"    return {c}")
                                                 for c in [f"{self.init[-1]}(val)"]])
        else:
            self.expect("functions", list(after), list(before))
            changed = {name for name in after if before[name] != after[name]}
            self.expect("changed", sorted(changed), sorted(self.edited))
            self.expect("starter as Python prints it", lines(self.starter), lines(normal))
        normal = ast.unparse(trees[1])
        self.expect("reference as Python prints it", lines(self.reference), lines(normal))

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


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    checked = 0
    for line in sys.stdin:
        for problem in Task(json.loads(line)).check()[:3]:
            print(problem)
        checked += 1
    print(f"checked {checked}")
