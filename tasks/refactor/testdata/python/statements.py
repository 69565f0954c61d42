"""Checks the example programs of the problem statements by running them.

Reads a JSON list of {axis, refactoring, code, before, after, filled} and prints what is
wrong, a line each, and how many it checked. Modules that the examples import but this
machine need not have are small stand-ins: they only have to be deterministic and to react
to their arguments.
"""
import ast
import json
import math
import re
import sys
import types

import expected
import follow
import follow_instructions

EDITED = {  # edit functions of the example, the wrapper last
    "dead-code": "a", "add-parameter": "cb", "add-return": "ab", "cache-function": "cdb", "dont-repeat": "bcd",
}
OTHERS = {("runtime", "dead-code"): "ac", ("instructions", "add-return"): "adb"}
REMOVED = {"traversal": "a", "runtime": "c"}
SOURCES = {"add-return": ["b"], "cache-function": ["c", "d"], "dont-repeat": ["b", "c"]}
calls = []


def edited(case):
    return OTHERS.get((case["axis"], case["refactoring"]), EDITED[case["refactoring"]])


class Vector(tuple):
    def __add__(self, other):
        return Vector(x + y for x, y in zip(self, spread(other, self)))

    def __mul__(self, other):
        return Vector(x * y for x, y in zip(self, spread(other, self)))

    __radd__, __rmul__ = __add__, __mul__


def spread(value, like):
    return value if isinstance(value, Vector) else [value] * len(like)


def module(name, **members):
    made = types.ModuleType(name)
    vars(made).update(members)
    sys.modules[name] = made


def each(function):
    return lambda *vectors: Vector(function(*row) for row in zip(*vectors))


def install_libraries(values, new_external):
    """values: constants for default and slow, and a function of val for the getters.

    With an index, all of them give other values for each; external gives that many keys.
    """
    def counted(name, function):
        def call(*arguments):
            calls.append(name)
            return function(*arguments)
        return call

    def external(x):
        if isinstance(x, int):
            return tuple(f"key{i}" for i in range(1, x + 1))
        return (x, "key") if new_external else x

    def default(*index):
        value = values["default"]
        return value if value in ("", 1.0) else of_index(value, *index)

    slow = counted("slow", lambda *index: of_index(values["slow"], *index))
    getter = counted("getter", lambda val, *index: of_index(values["getter"](val), *index))
    module("mylibrary", default=default, slow=slow, external=counted("external", external), get_multiplier=getter,
           get_key=getter)
    swap = str.maketrans("0123456789abcxyz", "9876543210zyxcba")
    module("strops", rot13=lambda s: s[1:] + s[:1], reverse=lambda s: s[::-1], mirror=lambda s: s.translate(swap),
           zip_chars=lambda a, b: "".join(x + y for x, y in zip(a, b)))
    module("numpy", ndarray=Vector, array=Vector, sin=each(math.sin), cos=each(math.cos), abs=each(abs),
           maximum=each(max))


def of_index(value, index=0):
    return value + (f"_{index}" if isinstance(value, str) else index / 8)


INPUTS = {"math": [0.3, -1.7, 2.5, 0.0], "string": ["31", "a7xb2", "9"],
          "array": [Vector([0.3, -1.7]), Vector([2.5]), Vector([0.0, 1.0, -0.25])]}
NEUTRAL = {"math": 1.0, "string": "", "array": 1.0}
CONSTANT = {"math": 0.75, "string": "q8", "array": 0.75}
GETTER = {"math": lambda v: v + 0.5, "string": lambda v: "k" + v[:1], "array": lambda v: sum(v) + 0.5}


def run(source, code, default, new_external=False):
    """Runs all functions; returns {name: [results]} and {name: library calls of one run}."""
    install_libraries({"default": default, "slow": CONSTANT[code], "getter": GETTER[code]}, new_external)
    scope = {"__name__": "example"}
    exec(compile(source, "example", "exec"), scope)
    results, counts = {}, {}
    for name in [n.name for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.args.args]:
        del calls[:]
        results[name] = [scope[name](v) for v in INPUTS[code]]
        counts[name] = len(calls) // len(INPUTS[code])
    return results, counts


def first(results):
    return [r[0] if type(r) is tuple else r for r in results]


def check_behaviour(case):
    kind, code, many = case["refactoring"], case["code"], case["axis"] == "instructions"
    before, before_calls = run(case["before"], code, NEUTRAL[code])
    after, after_calls = run(case["after"], code, NEUTRAL[code], new_external=True)
    for name in after:
        old, new = before[name], after[name]
        if kind == "cache-function" and name in "cd":
            continue  # alone they now use what they are given
        if kind == "dont-repeat" and name == "d" or kind == "add-return":
            new = first(new)
        if old != new:
            yield f"{name} gives {new}, before {old}"
    if kind == "add-parameter":
        changed, _ = run(case["after"], code, CONSTANT[code])
        if changed["a"] == after["a"] or changed["c"] == after["c"]:
            yield "the parameter has no effect"
    strings = ("key1", "key2") if many else ("key",)
    if kind == "add-return" and any(r[1:] != strings for n in edited(case) for r in after[n]):
        yield "the additional strings are lost"
    one = 2 if many else 1
    if kind == "cache-function" and (before_calls["a"], after_calls["a"]) != (2 * one, one):
        yield f"slow runs {after_calls['a']} times, before {before_calls['a']}"
    if kind == "dont-repeat" and (before_calls["b"], after_calls["b"], after_calls["e"]) != (one, one, 0):
        yield f"helper runs {after_calls}, before {before_calls}"


def check_tree(case):
    before, after = ast.parse(case["before"]), ast.parse(case["after"])

    def fixed(tree):
        return [ast.dump(n) for n in tree.body if getattr(n, "name", "") not in list(edited(case))]
    if fixed(before) != fixed(after):
        yield "something besides the edit functions differs"
    names = [n.name for n in before.body if isinstance(n, ast.FunctionDef)]
    gone = REMOVED[case["axis"]] if case["refactoring"] == "dead-code" else ""
    if [n.name for n in after.body if isinstance(n, ast.FunctionDef)] != [n for n in names if n not in gone]:
        yield "the functions are not those that they should be"


def functions(source):
    return {n.name: ast.get_source_segment(source, n) for n in ast.parse(source).body
            if isinstance(n, ast.FunctionDef)}


def check_shape(case):
    """The functions have the shape of generated ones, whatever their operators."""
    if case["axis"] != "traversal":
        return
    kind, c = case["refactoring"], expected.CODES[case["code"]]
    operators = sorted((c["unary"] + " " + c["binary"]).split(), key=len, reverse=True)
    blank = re.compile("(?<![a-z_.])(" + "|".join(map(re.escape, operators)) + r")(?=\()")
    graph = {name: re.findall(rf"= ([a-z])\(val", text) for name, text in functions(case["before"]).items()
             if name != "main"}
    writer = expected.Writer(graph, list(EDITED[kind]), kind, case["code"], 42)
    for solved, text in ((False, case["before"]), (True, case["after"])):
        for name, got in functions(text).items():
            if name == "main":
                continue
            want = writer.function(name, solved)
            if blank.sub("OP", got) != blank.sub("OP", want):
                yield f"{name}: {got!r} has not the shape of {want!r}"


def check_followed(case):
    """Doing what the statement says to the example gives the example's result."""
    solved = solve(case, case["before"], [])
    after = ast.unparse(ast.parse(case["after"]))
    if solved.replace("\n\n", "\n") != after.replace("\n\n", "\n"):
        yield f"following the statement gives {solved}"


def solve(case, program, lines):
    if case["axis"] != "instructions":
        return follow.solve(dict(case, starter=program))
    follow_instructions.COUNT = 2
    p = follow.Program(program, case["code"])
    p.stem = follow_instructions.STEMS.get(case["refactoring"], p.var)
    return follow_instructions.with_lines(p, dict(follow_instructions.SOLVE[case["refactoring"]](p)), lines)


def check_filled(case):
    """The example function with inserted lines is what following the statement gives."""
    if not case["filled"]:
        return
    stem = re.search(r"# example: ([a-z]+)2$", case["filled"], re.MULTILINE)[1]
    text = case["code"] == "string" or case["refactoring"] == "add-return"
    different, added = ("'Z'", "'3'") if text else (7, 0.25)
    lines = [("comment", f"# example: {stem}2"), ("assertion", f"assert {stem}1 != {different}"),
             ("print", f"print(f'Example: {{{stem}2}}')"), ("assignment", f"example_{stem}1 = {stem}1 + {added}")]
    if "\n" + case["filled"] + "\n" not in solve(case, case["before"], lines):
        yield f"inserting lines gives {solve(case, case['before'], lines)}"


if __name__ == "__main__":
    cases = json.load(sys.stdin)
    for case in cases:
        for check in (check_tree, check_shape, check_behaviour, check_followed, check_filled):
            for finding in check(case):
                print(f"{case['axis']} {case['refactoring']} {case['code']}: {finding}")
    print("checked", len(cases))
