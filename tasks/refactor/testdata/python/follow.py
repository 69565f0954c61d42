"""Solves tasks by doing to the starter what the problem statement says, to the letter.

It knows neither graphs nor references: it works on the syntax tree of the starter, and
runs the starter's own check to find out which branches run. Reads lines of JSON
{id, axis, refactoring, code, statement, starter, reference}; prints the ids for which the
statement is ambiguous, or does not lead to the reference.
"""
import ast
import json
import sys

WORDS = {"math": ("float", "mult", ast.Mult, "get_multiplier", 0.0),
         "string": ("str", "prefix", ast.Add, "get_key", ""),
         "array": ("float", "mult", ast.Mult, "get_multiplier", 0.0)}


class Ambiguous(Exception):
    pass


def called(node):
    return {n.func.id for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


class Program:
    def __init__(self, text, code):
        self.tree = ast.parse(text)
        self.helper, self.var, self.apply, self.getter, self.neutral = WORDS[code]
        self.functions = {n.name: n for n in self.tree.body if isinstance(n, ast.FunctionDef)}
        self.check = self.functions.pop("check", None)
        self.bodies = {name: self.running(f.body) for name, f in self.functions.items()}
        self.calls = {name: self.called(name) & set(self.functions) for name in self.functions}
        self.below = {}
        for name in self.functions:
            self.reach(name)
        self.inner = [n for n in self.functions if n != "main"]

    def running(self, body):
        """The statements of a body that run: a condition calls check with constants."""
        if not isinstance(body[0], ast.If):
            return body
        scope = {}
        exec(compile(ast.Module([self.check], []), "check", "exec"), scope)
        holds = eval(compile(ast.Expression(body[0].test), "condition", "eval"), scope)
        return body[0].body if holds else body[0].orelse

    def called(self, name):
        return set().union(*map(called, self.bodies[name]))

    def reach(self, name):
        """All functions that name calls, directly or indirectly."""
        if name not in self.below:
            self.below[name] = set().union(*({c} | self.reach(c) for c in self.calls[name]))
        return self.below[name]

    def callers_of_library(self, function):
        return {n for n in self.inner if function in self.called(n)}

    def lines(self, name, callees):
        """The assignments of name that call one of callees."""
        return [s for s in self.bodies[name] if isinstance(s, (ast.Assign, ast.AnnAssign))
                and isinstance(s.value, ast.Call) and s.value.func.id in callees]

    def result(self, name, change):
        last = self.bodies[name][-1]
        last.value = change(last.value)

    def add_parameter(self, name, parameter, default):
        arguments = self.functions[name].args
        if parameter not in [a.arg for a in arguments.args]:
            arguments.args.append(ast.arg(parameter, ast.Name(self.helper)))
            arguments.defaults.append(default)

    def define_first(self, name, variable, function, *arguments):
        value = ast.Call(ast.Name(function), list(arguments), [])
        line = ast.AnnAssign(ast.Name(variable), ast.Name(self.helper), value, 1)
        self.bodies[name].insert(0, line)

    def returns_tuple(self, name, *others):
        f = self.functions[name]
        f.returns = ast.Subscript(ast.Name("tuple"), ast.Tuple([f.returns, *map(ast.Name, others)]))


def unpack(line, *others):
    line.targets = [ast.Tuple([line.targets[0], *map(ast.Name, others)])]


def the_only(candidates):
    if len(candidates) != 1:
        raise Ambiguous(f"{len(candidates)} functions fit the definition")
    return candidates.pop()


def dead_code(p):
    keep = p.below["main"] | {"main", "check"}
    p.tree.body = [n for n in p.tree.body if getattr(n, "name", "main") in keep]
    for name in keep & set(p.functions):
        for line in ast.walk(p.functions[name]):
            if isinstance(line, ast.Assign) and called(line) & set(p.functions) - keep:
                line.value = ast.Name("val")


def add_parameter(p):
    todo = [n for n in p.inner if p.var in [a.arg for a in p.functions[n].args.args]]
    done = set()
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        p.add_parameter(name, p.var, ast.Call(ast.Name("default"), [], []))
        for line in p.lines(name, p.calls[name]):
            line.value.keywords.append(ast.keyword(p.var, ast.Name(p.var)))
        if not p.calls[name]:
            p.result(name, lambda x: ast.BinOp(ast.Name(p.var), p.apply(), x))
        todo.extend(p.calls[name])


def add_return(p):
    direct = p.callers_of_library("external")
    changed = direct | {n for n in p.inner if p.below[n] & direct}
    for name in changed:
        p.returns_tuple(name, "str")
        lines = p.lines(name, changed)
        for line in lines:
            unpack(line, line.value.func.id + "_str")
        if lines:
            string = lines[0].targets[0].elts[1].id
            p.result(name, lambda x: ast.Tuple([x, ast.Name(string)]))


def cache_function(p):
    users = p.callers_of_library("slow")
    common = {n for n in p.functions if users <= p.below[n] | {n}}
    lowest = the_only({n for n in common if not p.below[n] & common})
    takers = {n for n in p.below[lowest] if n in users or p.below[n] & users}
    for name in takers | {lowest}:
        for line in p.lines(name, takers):
            line.value.args.append(ast.Name("temp"))
    p.define_first(lowest, "temp", "slow")
    for name in takers:
        p.add_parameter(name, "temp", ast.Constant(p.neutral))
        if name in users:
            p.result(name, lambda x: ast.BinOp(ast.Name("temp"), x.op, x.right))


def dont_repeat(p):
    users = p.callers_of_library(p.getter)
    common = {n for n in p.inner if all(n in p.below[u] for u in users)}
    nearest = the_only({n for n in common if not any(n in p.below[m] for m in common)})
    givers = {nearest} | {n for u in users for n in p.below[u] if nearest in p.below[n]} - users
    for name in users | givers:
        body = p.bodies[name]
        body[:] = [s for s in body if not (isinstance(s, ast.AnnAssign) and p.getter in called(s))]
        for line in p.lines(name, givers):
            unpack(line, p.var)
        if name in givers:
            p.returns_tuple(name, p.helper)
            p.result(name, lambda x: ast.Tuple([x, ast.Name(p.var)]))
    p.define_first(nearest, p.var, p.getter, ast.Name("val"))


SOLVE = {"dead-code": dead_code, "add-parameter": add_parameter, "add-return": add_return,
         "cache-function": cache_function, "dont-repeat": dont_repeat}


def solve(task):
    if task["axis"] in ("instructions", "comment-copy"):
        import follow_instructions
        return follow_instructions.solve(task)
    p = Program(task["starter"], task["code"])
    SOLVE[task["refactoring"]](p)
    return printed(p.tree)


def wanted(task):
    if task["axis"] in ("instructions", "comment-copy"):
        import follow_instructions
        return follow_instructions.wanted(task)
    return printed(ast.parse(task["reference"]))


def printed(tree):
    return ast.unparse(ast.fix_missing_locations(tree))


if __name__ == "__main__":
    for line in sys.stdin:
        task = json.loads(line)
        try:
            if solve(task) != wanted(task):
                print(task["id"], "gives another program than the reference")
        except Ambiguous as e:
            print(task["id"], e)
