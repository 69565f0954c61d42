"""Checks merge tasks, one JSON object a line, independently of their generator.

Prints one line per problem, and at the end how many tasks were checked."""

import ast
import contextlib
import io
import itertools
import json
import re
import sys


def classes(source):
    return {n.name: n for n in ast.parse(source).body if isinstance(n, ast.ClassDef)}


def methods(cls):
    return {n.name: n for n in cls.body if isinstance(n, ast.FunctionDef)}


def run(source):
    """Returns the module's names and what it prints as a main program."""
    names, out = {"__name__": "__main__"}, io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "solution.py", "exec"), names)
    return names, out.getvalue()


def outputs(names, vectors):
    return [[names["Calculate" + c]().compute(*v) for v in vectors] for c in "AB"]


def structure(source, count):
    """What is wrong with a merged program that has so many differences."""
    found = classes(source)
    if sorted(found) != ["Calculate", "CalculateA", "CalculateB"]:
        return "other classes"
    helpers = ["custom_compute_%d" % (i + 1) for i in range(count)]
    for name in "AB":
        child = found["Calculate" + name]
        if [ast.unparse(b) for b in child.bases] != ["Calculate"]:
            return "no subclass"
        if [n.name for n in child.body] != helpers:
            return "not just the helpers"
        if not all(len(m.body) == 1 and isinstance(m.body[0], ast.Return) for m in methods(child).values()):
            return "more than a return"
    common = methods(found["Calculate"]).get("compute")
    if common is None:
        return "no common method"
    calls = [n.func.attr for n in ast.walk(common) if isinstance(n, ast.Call)]
    return None if calls == helpers else "other calls"


def operators(expression):
    return sum(isinstance(n, (ast.BinOp, ast.UnaryOp)) for n in ast.walk(ast.parse(expression)))


def mixtures(task):
    """Yields all choices of a version for each difference, and the method that has them."""
    source = task["reference"]
    found = classes(source)
    lines = ast.unparse(methods(found["Calculate"])["compute"])
    bodies = [methods(found["Calculate" + c]) for c in "AB"]
    count = len(task["differences"])
    for choice in itertools.product((0, 1), repeat=count):
        text = lines
        for i, version in enumerate(choice):
            helper = "custom_compute_%d" % (i + 1)
            value = ast.unparse(bodies[version][helper].body[0].value)
            text = re.sub(r"self\.%s\(.*\)" % helper, lambda _: value, text)
        names = {}
        exec(text, names)
        yield choice, names["compute"]


def least(task):
    """No helper can be left out: whatever common line stands in its place, a class computes something else."""
    results = {}
    for choice, compute in mixtures(task):
        results[choice] = [compute(None, *v) for v in task["vectors"]]
    count = len(task["differences"])
    for c, pure in enumerate([(0,) * count, (1,) * count]):
        for choice, values in results.items():
            if choice != pure and values == results[pure]:
                return "class %d does not need %s" % (c, choice)
    if sum(a != b for a, b in zip(results[(0,) * count], results[(1,) * count])) < 10:
        return "the classes hardly differ"
    return None


def check(task):
    names, shown = run(task["starter"])
    merged, merged_shown = run(task["reference"])
    if shown != merged_shown or not re.fullmatch(r"Result A: -?\d+\nResult B: -?\d+\n", shown):
        yield "prints %r and %r" % (shown, merged_shown)
    if outputs(names, task["vectors"]) != outputs(merged, task["vectors"]):
        yield "computes something else"
    count = len(task["differences"])
    if problem := structure(task["reference"], count):
        yield problem
        return
    if structure(task["starter"], count) is None:
        yield "the starter is merged already"
    for i, d in enumerate(task["differences"]):
        helper = "custom_compute_%d" % (i + 1)
        for version in "ab":
            method = methods(classes(task["reference"])["Calculate" + version.upper()])[helper]
            if ast.unparse(method.body[0].value) != ast.unparse(ast.parse(d[version]).body[0]):
                yield "other expression in " + helper
            if [a.arg for a in method.args.args] != ["self"] + d["arguments"]:
                yield "other arguments of " + helper
        if d["operators"] != max(operators(d["a"]), operators(d["b"])):
            yield "other number of operators"
    if problem := least(task):
        yield problem


def example(task):
    """A worked example: two programs without a record of their differences."""
    vectors = list(itertools.product(range(-4, 5), repeat=2))
    before, after = outputs(run(task["starter"])[0], vectors), outputs(run(task["reference"])[0], vectors)
    if before != after or before[0] == before[1]:
        yield "the example computes something else"
    if problem := structure(task["reference"], 1):
        yield problem
    if structure(task["starter"], 1) is None:
        yield "the example is merged already"


checked = 0
for line in sys.stdin:
    task = json.loads(line)
    for problem in (check if task["differences"] else example)(task):
        print(task["id"], problem)
    checked += 1
print("checked", checked)
