"""Checks rename tasks, one JSON object a line, independently of their generator.

Takes the renamings from the statement. Prints one line per problem, and at the
end how many tasks were checked."""

import ast
import io
import json
import re
import sys
import tokenize


def renamed(source, names):
    """Replaces names token by token."""
    tokens = [
        (t.type, names.get(t.string, t.string) if t.type == tokenize.NAME else t.string)
        for t in tokenize.generate_tokens(io.StringIO(source).readline)
    ]
    return ast.dump(ast.parse(tokenize.untokenize(tokens)))


def shape(main):
    """What is wrong with the straight line of 200 operations."""
    first, *steps, last = main.body
    if ast.unparse(first.value) != "val" or len(steps) != 200:
        return "%d steps from %s" % (len(steps), ast.unparse(first))
    known = [first.targets[0].id]
    for step in steps:
        value = step.value
        if not isinstance(value.op, (ast.Add, ast.Sub)) or value.left.id != known[-1]:
            return "step " + ast.unparse(step)
        if isinstance(value.right, ast.Constant):
            if value.right.value not in range(1, 10):
                return "constant in " + ast.unparse(step)
        elif value.right.id not in known[:-1]:
            return "operand in " + ast.unparse(step)
        known.append(step.targets[0].id)
    if ast.unparse(last) != "return " + known[-1] or len(set(known)) != 201:
        return "end or names"
    return None


def run(source, value):
    names = {"__name__": "solution"}
    exec(source, names)
    return names["main"](value)


def check(task):
    pairs = re.findall(r"^\* `(\w+)` → `(\w+)`$", task["statement"], re.M)
    names = dict(pairs)
    if not (len(pairs) == len(names) == len(set(names.values())) == task["size"]):
        yield "%d renamings" % len(pairs)
    main = next(n for n in ast.parse(task["starter"]).body if isinstance(n, ast.FunctionDef))
    if problem := shape(main):
        yield problem
    used = {n.id for n in ast.walk(main) if isinstance(n, ast.Name)}
    if not set(names) <= used - {"val"} or set(names.values()) & used:
        yield "renames what is not there, or to what is there"
    if renamed(task["starter"], names) != ast.dump(ast.parse(task["reference"])):
        yield "the reference is not the renamed starter"
    if task["starter"].count("\n") != task["reference"].count("\n"):
        yield "other lines"
    for value in (0.0, 1.0, -2.5, 1e-3, 7.25):
        if run(task["starter"], value) != run(task["reference"], value):
            yield "computes something else for %r" % value


def example(task):
    pairs = dict(re.findall(r"`(\w+)` → `(\w+)`", task["statement"]))
    if renamed(task["starter"], pairs) != ast.dump(ast.parse(task["reference"])) or len(pairs) != 2:
        yield "the example is wrong"
    if run(task["starter"], 1.5) != run(task["reference"], 1.5):
        yield "the example computes something else"


checked = 0
for line in sys.stdin:
    task = json.loads(line)
    for problem in (check if task["size"] else example)(task):
        print(task["id"], problem)
    checked += 1
print("checked", checked)
