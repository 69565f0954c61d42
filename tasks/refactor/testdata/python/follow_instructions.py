"""Solves tasks with ten values, and tasks that ask for a comment, as follow.py does.

It reads the requirements from the statement and makes a line of each, from the words
and the quoted code of its sentence alone.
"""
import ast
import itertools
import re

from follow import Ambiguous, Program, called, printed, the_only, unpack

COUNT = 10
STEMS = {"add-return": "key", "cache-function": "slow"}
ORDER = ["comment", "assertion", "print", "assignment"]


# Reading the statement.

def requirements(statement, stem):
    """The (kind, line) of each requirement in the list at the statement's end."""
    head, *lines = statement[statement.index("\nThere are "):].strip().split("\n")
    count = int(re.fullmatch(r"There are (\d+) requirements for the .*", head)[1])
    names = ", ".join(f"{stem}{i}" for i in range(1, COUNT)) + f" and {stem}{COUNT}. Each of them applies in every "
    if names not in head or lines[0] != "" or len(lines) != count + 1:
        raise Ambiguous(f"odd list of requirements: {head}")
    found = []
    for number, line in enumerate(lines[1:], 1):
        m = re.fullmatch(rf"{number}\. For ({stem}\d+): in every eligible function, (.*)", line)
        if not m:
            raise Ambiguous(f"odd requirement: {line}")
        found.append(understood(m[1], m[2]))
    return found


def understood(var, sentence):
    code, words = re.findall("`([^`]*)`", sentence), re.sub("`[^`]*`", "_", sentence)
    comments = [c for c in code if c.startswith("# ")]
    if comments:
        return "comment", the_only(comments)
    if "f-string" in words:
        return "print", printing(var, code, words)
    if "assert" in sentence:
        return "assertion", assertion(var, code, words)
    return assignment(var, code, words)


def printing(var, code, words):
    text = the_only([c[1:-1] for c in code if c != var])
    if "prefix" in words or "prepend" in words:
        first = True
    elif "suffix" in words or "append" in words:
        first = False
    else:
        first = code.index(var) > 0  # in the order in which they are named
    return f"print(f'{text}{{{var}}}')" if first else f"print(f'{{{var}}}{text}')"


def assertion(var, code, words):
    spelled = [c for c in code if c.startswith("assert(")]
    if spelled:
        return the_only(spelled)
    operators = {"not equal to": "!=", "differs from": "!=", "below": "<", "less than": "<", "above": ">",
                 "greater than": ">"}
    operator = the_only([o for said, o in operators.items() if said in words])
    if code[0] != var or len(code) != 2:
        raise Ambiguous(f"assertion about {code}")
    return f"assert {var} {operator} {code[1]}"


def assignment(var, code, words):
    formulas = [c for c in code if isinstance(ast.parse(c, mode="eval").body, (ast.BinOp, ast.Call))]
    new = the_only({c for c in code if c.isidentifier()} - {var, "replace"})
    literals = [c for c in code if c not in formulas and not c.isidentifier()]
    if formulas:
        formula = the_only(formulas)
    elif "replace" in code:
        formula = f"{var}.replace({literals[0]}, {literals[1]})"
    elif "in front of" in words:
        formula = f"{the_only(literals)} + {var}"
    else:
        operators = {" add ": "+", "append": "+", "subtract": "-", "multiply": "*", "divide": "/"}
        operator = the_only([o for said, o in operators.items() if said in words])
        formula = f"{var} {operator} {the_only(literals)}"
    return "assignment", f"{new} = {formula}"


# The refactorings. Each yields the functions that requirements apply in, and where in
# the body their lines stand.

def names(p):
    return [f"{p.stem}{i}" for i in range(1, COUNT + 1)]


def indexed(function, i, *arguments):
    return ast.Call(ast.Name(function), [*arguments, ast.Constant(i)], [])


def by_name(p):
    return [ast.keyword(n, ast.Name(n)) for n in names(p)]


def chain(operands, operator):
    """A left-associative chain."""
    value = operands[0]
    for operand in operands[1:]:
        value = ast.BinOp(value, operator(), operand)
    return value


def add_parameters(p):
    todo = [n for n in p.inner if p.stem + "1" in [a.arg for a in p.functions[n].args.args]]
    done = set()
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        for i, parameter in enumerate(names(p), 1):
            p.add_parameter(name, parameter, indexed("default", i))
        for line in p.lines(name, p.calls[name]):
            line.value.keywords.extend(by_name(p))
        if not p.calls[name]:
            p.result(name, lambda x: chain([*map(ast.Name, names(p)), x], p.apply))
        todo.extend(p.calls[name])
        yield name, 0


def add_returns(p):
    direct = p.callers_of_library("external")
    changed = direct | {n for n in p.inner if p.below[n] & direct}
    for name in changed:
        p.returns_tuple(name, *["str"] * COUNT)
        for i, line in enumerate(p.lines(name, changed)):
            unpack(line, *(names(p) if i == 0 else "_" * COUNT))
        p.result(name, lambda x: ast.Tuple([x, *map(ast.Name, names(p))]))
        yield name, len(p.bodies[name]) - 1


class Cached(ast.NodeTransformer):
    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "slow":
            return ast.Name(f"slow{node.args[0].value}")
        return node


def cache_functions(p):
    users = p.callers_of_library("slow")
    common = {n for n in p.functions if users <= p.below[n] | {n}}
    lowest = the_only({n for n in common if not p.below[n] & common})
    takers = {n for n in p.below[lowest] if n in users or p.below[n] & users}
    for name in takers | {lowest}:
        for line in p.lines(name, takers):
            line.value.keywords.extend(by_name(p))
    for name in takers:
        for parameter in names(p):
            p.add_parameter(name, parameter, ast.Constant(p.neutral))
        p.result(name, Cached().visit)
        yield name, 0
    for i in range(COUNT, 0, -1):
        p.define_first(lowest, f"slow{i}", "slow", ast.Constant(i))
    yield lowest, COUNT


def dont_repeat(p):
    users = p.callers_of_library(p.getter)
    common = {n for n in p.inner if all(n in p.below[u] for u in users)}
    nearest = the_only({n for n in common if not any(n in p.below[m] for m in common)})
    givers = {nearest} | {n for u in users for n in p.below[u] if nearest in p.below[n]} - users
    for name in users | givers:
        body = p.bodies[name]
        body[:] = [s for s in body if not (isinstance(s, ast.AnnAssign) and p.getter in called(s))]
        lines = p.lines(name, givers)
        for line in lines:
            unpack(line, *names(p))
        if name in givers:
            p.returns_tuple(name, *[p.helper] * COUNT)
            p.result(name, lambda x: ast.Tuple([x, *map(ast.Name, names(p))]))
        if name != nearest:
            yield name, body.index(the_only(lines)) + 1
    for i in range(COUNT, 0, -1):
        p.define_first(nearest, f"{p.stem}{i}", p.getter, ast.Name("val"), ast.Constant(i))
    yield nearest, COUNT


SOLVE = {"add-parameter": add_parameters, "add-return": add_returns, "cache-function": cache_functions,
         "dont-repeat": dont_repeat}


def solve(task):
    p = Program(task["starter"], task["code"])
    p.stem = STEMS.get(task["refactoring"], p.var)
    eligible = dict(SOLVE[task["refactoring"]](p))
    if task["axis"] == "comment-copy":
        comment = re.search(r"\n## Comment\n.*?\n```python\n(# [^\n]*)\n```\n", task["statement"], re.DOTALL)[1]
        return with_lines(p, dict.fromkeys(eligible, 0), [("comment", comment)])
    return with_lines(p, eligible, requirements(task["statement"], p.stem))


def with_lines(p, places, lines):
    """Prints the program with the lines at the given places of bodies. Comments are no
    part of syntax trees, so the lines are inserted last, in place of a word."""
    for name, place in places.items():
        p.bodies[name].insert(place, ast.Expr(ast.Name("INSERTED")))
    block = [line if kind == "comment" else ast.unparse(ast.parse(line))
             for kind in ORDER for k, line in lines if k == kind]
    text = printed(p.tree).replace("    INSERTED\n", "".join(f"    {line}\n" for line in block))
    return in_order(text)


def wanted(task):
    text = task["reference"]
    if (task["refactoring"], task["code"]) == ("dont-repeat", "array"):
        # The official references annotate what only uses the values with the type of
        # the values. Annotations are not judged, and the statement keeps them.
        text = text.replace("(val: np.ndarray) -> float:\n", "(val: np.ndarray) -> np.ndarray:\n")
    return in_order(text)


def kind_of(line):
    m = re.match(r"    (?:(# )|(assert )|(print\()|(?!\w+_val =)(\w+ = ))", line)
    return m and ORDER[m.lastindex - 1]


def in_order(text):
    """Sorts neighbouring inserted lines of the same kind, whose order is free. Blank
    lines do not count."""
    return "\n".join(line for kind, group in itertools.groupby(filter(None, text.split("\n")), kind_of)
                     for line in (sorted(group) if kind else group))
