"""A second, independent writer of the call-graph tasks, for comparison.

It works on plain text where the generator works on a program model, and draws
from CPython's own random numbers.
"""
import hashlib
import random

CODES = {
    "math": dict(
        T="float", H="float", V="mult", op="*", G="get_multiplier", zero="0.0",
        imports=["import math", "import operator"], arg="float(sys.argv[1])",
        unary="abs round math.sin math.cos math.tanh math.atan math.erf math.degrees math.radians operator.neg",
        binary="operator.add operator.sub min max math.hypot math.copysign math.atan2",
    ),
    "string": dict(
        T="str", H="str", V="prefix", op="+", G="get_key", zero="''",
        imports=["import strops"], arg="str(sys.argv[1])",
        unary="strops.rot13 strops.reverse strops.swap_case strops.char_rotate strops.char_rotate_by_3 strops.mirror",
        binary="strops.interleave strops.swap_halves strops.zip_chars strops.alternate_chars strops.xor_chars",
    ),
    "array": dict(
        T="np.ndarray", H="float", V="mult", op="*", G="get_multiplier", zero="0.0",
        imports=["import numpy as np"], arg="np.array(eval(sys.argv[1]))",
        unary="np.abs np.sign np.round np.sin np.cos np.tanh np.cumsum np.cumprod np.sort np.flip",
        binary="np.add np.subtract np.multiply np.maximum np.minimum np.hypot np.arctan2",
    ),
}
LIBRARY = {
    "dead-code": lambda c: None,
    "add-parameter": lambda c: "default",
    "add-return": lambda c: "external",
    "cache-function": lambda c: "slow",
    "dont-repeat": lambda c: c["G"],
}


class Writer:
    helpers = []

    def __init__(self, graph, edited, refactoring, code, seed):
        """graph maps names in graph order to lists of callees."""
        self.graph, self.edited, self.kind, self.seed = graph, set(edited), refactoring, seed
        self.c = CODES[code]
        self.called = {v for u in graph for v in graph[u]}
        inner = {v for u in edited for v in graph[u]}
        self.roots = {u for u in edited if u not in inner}
        self.sinks = {u for u in edited if not self.edited & set(graph[u])}
        self.wrapper = edited[-1]

    def value(self, name):
        callees = self.graph[name]
        r = random.Random(f"{self.seed}:{name}")
        if len(callees) < 2:
            return f"{r.choice(self.c['unary'].split())}({callees[0] + '_val' if callees else 'val'})"
        text = callees[0] + "_val"
        for v in callees[1:]:
            text = f"{r.choice(self.c['binary'].split())}({text}, {v}_val)"
        return text

    def parts(self, name, solved):
        c, edit = self.c, name in self.edited and self.kind
        V, H, T = c["V"], c["H"], c["T"]
        params, returns, x = f"val: {T}", T, self.value(name)
        first, extra, unpack, result = [], "", "", x
        sink, root, wrapper = name in self.sinks, name in self.roots, name == self.wrapper
        if edit == "add-parameter":
            if solved or wrapper:
                params += f", {V}: {H}=default()"
            if solved:
                extra = f", {V}={V}"
                result = f"{V} {c['op']} {x}" if sink else x
        elif edit == "add-return":
            if solved:
                returns, unpack = f"tuple[{T}, str]", ", {}_str"
            if wrapper:
                result = f"external({x})"
            elif solved:
                source = [v for v in self.graph[name] if v in self.edited][0]
                result = f"({x}, {source}_str)"
        elif edit == "cache-function":
            if solved:
                extra = ", temp"
                if wrapper:
                    first = [f"temp: {H} = slow()"]
                else:
                    params += f", temp: {H}={c['zero']}"
            if sink:
                result = f"{'temp' if solved else 'slow()'} + {x}"
        elif edit == "dont-repeat":
            helper = [f"{V}: {H} = {c['G']}(val)"]
            if solved:
                unpack = f", {V}"
            if root:
                first = [] if solved else helper
                result = f"{V} {c['op']} {x}"
            elif solved:
                first = helper if wrapper else []
                returns, result = f"tuple[{T}, {H}]", f"({x}, {V})"
        body = list(first)
        for v in self.graph[name]:
            to_edit = v in self.edited
            body.append(f"{v}_val{unpack.format(v) if to_edit else ''} = {v}(val{extra if to_edit else ''})")
        return f"def {name}({params}) -> {returns}:", body + ["return " + result]

    def function(self, name, solved):
        head, body = self.parts(name, solved)
        return "\n".join([head] + ["    " + line for line in body])

    def program(self, solved):
        dead = self.kind == "dead-code"
        names = list(self.graph)
        entries = [n for n in names if n not in self.called and not (dead and n in self.edited)]
        random.Random(f"{self.seed}:if_node_order").shuffle(names)
        random.Random(self.seed).shuffle(names)
        if dead and solved:
            names = [n for n in names if n not in self.edited]
        library = LIBRARY[self.kind](self.c)
        head = [f"from mylibrary import {library}"] if library else []
        calls = ", ".join(f"{n}(val)" for n in entries)
        if len(entries) > 1 or (dead and not solved):
            calls = f"({calls})"
        blocks = ["\n".join(head + self.c["imports"] + ["import sys"])] + self.helpers
        blocks += [self.function(n, solved) for n in names]
        blocks += [f"def main(val: {self.c['T']}):\n    return {calls}"]
        blocks += [f"if __name__ == '__main__':\n    main({self.c['arg']})"]
        return "\n\n".join(blocks)


CHECK = """def check(x: int, a: int, b: int, target: int, num_steps: int) -> bool:
    for step in range(num_steps):
        if x % 2 == 0:
            x = x // 2
        else:
            x = a * x + b
    return x % 2 == target"""


class Guarded(Writer):
    """Every function is an if/else."""

    helpers = [CHECK]

    def __init__(self, steps, *args):
        super().__init__(*args)
        self.steps = steps
        self.live = {name: self.guard(name)[1] for name in self.graph}
        self.others = self.other_branches() if self.kind == "dead-code" else {}

    def stream(self, name):
        """The function's stream behind its operators, and these."""
        n = len(self.graph[name])
        bank = self.c["unary" if n < 2 else "binary"].split()
        r = random.Random(f"{self.seed}:{name}")
        return r, [r.choice(bank) for _ in range(max(1, n - 1))], bank

    def guard(self, name):
        r = random.Random(self.stream(name)[0].random())
        truth = r.random() < 0.5
        x, a, b = r.randint(1, 100), r.choice([1, 3, 5, 7, 9]), r.choice([1, 3, 5, 7, 9])
        end = x
        for _ in range(self.steps):
            end = end // 2 if end % 2 == 0 else a * end + b
        target = end % 2 if truth else 1 - end % 2
        return f"if check({x}, {a}, {b}, {target}, num_steps={self.steps}):", truth

    def other_branches(self):
        """Dead code alone: what the branches that do not run call and compute."""
        order = list(self.graph)
        random.Random(f"{self.seed}:if_node_order").shuffle(order)
        calls = {name: set(callees) for name, callees in self.graph.items()}

        def reaches(start, goal):
            return start == goal or any(reaches(c, goal) for c in calls[start])

        others = {}
        for f in order:
            r, live, bank = self.stream(f)
            r.random()
            drawn = []
            for _ in self.graph[f]:
                pool = [g for g in self.graph if (g in self.edited) != (f in self.edited) and not reaches(g, f)]
                fresh = [g for g in pool if g not in drawn]
                best = [g for g in fresh if g not in self.graph[f]] or fresh or pool or self.graph[f]
                drawn.append(r.choice(best))
                calls[f].add(drawn[-1])
            for _ in range(20):
                ops = [r.choice(bank) for _ in live]
                if ops != live:
                    break
            else:
                i = r.randrange(len(ops))
                ops[i] = bank[(bank.index(ops[i]) + 1) % len(bank)]
            others[f] = drawn, ops
        return others

    def other(self, name, solved):
        if name in self.others:
            callees, ops = self.others[name]
            removed = self.edited if solved else ()
            body = [f"{v}_val = {'val' if v in removed else v + '(val)'}" for v in callees]
            text = callees[0] + "_val" if callees else "val"
            if len(callees) < 2:
                return body + [f"return {ops[0]}({text})"]
            for op, v in zip(ops, callees[1:], strict=True):
                text = f"{op}({text}, {v}_val)"
            return body + ["return " + text]
        body = self.starter_branch(name)
        if self.kind == "add-return":
            body[-1] = "return " + self.value(name)
        return body

    def starter_branch(self, name):
        body = self.parts(name, False)[1]
        if self.kind == "dont-repeat" and name in self.roots:
            body.insert(-1, body.pop(0))
        return body

    def function(self, name, solved):
        head, body = self.parts(name, solved)
        if not solved:
            body = self.starter_branch(name)
        guard, truth = self.guard(name)
        branches = [body, self.other(name, solved)]
        if not truth:
            branches.reverse()
        indented = [["        " + line for line in branch] for branch in branches]
        return "\n".join([head, "    " + guard] + indented[0] + ["    else:"] + indented[1])


NUMBERS = dict(
    add_number="{n} = {v} + {r}", subtract_number="{n} = {v} - {r}", multiply_number="{n} = {v} * {r}",
    divide_number="{n} = {v} / {r}")
TEXTS = dict(
    add_character_prefix="{n} = {r} + {v}", add_character_suffix="{n} = {v} + {r}",
    replace_character="{n} = {v}.replace({r}, {s})", sandwich="{n} = {r} + {v} + {s}")
COMMON = dict(
    assert_not="assert {v} != {r}", assert_upper_bound="assert {v} < {r}", assert_lower_bound="assert {v} > {r}",
    print_prefix="print(f'{r}{{{v}}}')", print_suffix="print(f'{{{v}}}{r}')", add_comment="# {r}: {v}")
LABELS = ("TODO NOTE checkpoint trace debug handoff pass-through preserve review guard computed forwarded state local "
          "marker verify").split()
WORDS = "temp copy snapshot stash current local checkpoint dupe".split()
NEW = [pattern for w in WORDS for pattern in ("{v}_" + w, ("stored" if w == "stash" else w) + "_{v}")]


def inserted_lines(seed, sample, stem, numbers, count, prefixes, suffixes):
    """The rules of a sample as (kind, line), and their lines in the order of a function."""
    ranges = dict(print_prefix=prefixes, print_suffix=suffixes, add_comment=LABELS)
    if numbers:
        ranges |= dict(assert_not=[n for n in range(-40, 50, 10) if n], assert_upper_bound=range(50, 225, 25),
                       assert_lower_bound=range(-50, -225, -25))
        ranges |= {kind: [n / 10 for n in range(1, 11)] for kind in NUMBERS}
    else:
        ranges |= dict(assert_not=list(map(repr, "ABCDEFG")), assert_upper_bound=list(map(repr, ":;<=>?@")),
                       assert_lower_bound=list(map(repr, "!#$%&+,")))
        ranges |= {kind: list(map(repr, "0123456789")) for kind in TEXTS}
    temporary = NUMBERS if numbers else TEXTS
    bank = temporary | COMMON
    r = random.Random(f"{seed}:rules:all-functions:{hashlib.sha256(sample.encode()).hexdigest()}")
    rules, used, assigned = [], set(), set()
    while len(rules) < count:
        value, kind = r.choice(range(1, 11)), r.choice(list(bank))
        if kind in temporary and value in assigned:
            continue
        name = f"{stem}{value}"
        new, rand, second = r.choice(NEW).format(v=name), "", ""
        if kind.startswith("print"):
            rand = r.choice(ranges[kind])
        else:
            left = [x for x in ranges[kind] if (value, x) not in used]
            if not left:
                continue
            rand = r.choice(left)
        if kind in ("replace_character", "sandwich"):
            second = r.choice([x for x in ranges[kind] if x != rand])
        phrasing = r.choice(range(5))
        line = bank[kind].format(n=new, v=name, r=rand, s=second)
        if line in [rule[2] for rule in rules]:
            continue
        r.choice([0])
        if not kind.startswith("print"):
            used.add((value, rand))
        if kind in temporary:
            assigned.add(value)
        rules.append((value, kind, line, phrasing))
    order = [["add_comment"], ["assert_not", "assert_upper_bound", "assert_lower_bound"],
             ["print_prefix", "print_suffix"], list(temporary)]
    lines = [rule[2] for kinds in order for value in range(1, 11) for rule in rules
             if rule[0] == value and rule[1] in kinds]
    return [(rule[1], rule[2], rule[3]) for rule in rules], lines


class Numbered(Writer):
    """Ten values are passed instead of one, and edited functions get more lines."""

    def __init__(self, lines, comment, *args):
        super().__init__(*args)
        self.lines = [] if comment else lines
        self.comment = [comment] if comment else []
        self.stem = {"add-return": "key", "cache-function": "slow"}.get(self.kind, self.c["V"])
        self.names = [f"{self.stem}{i}" for i in range(1, 11)]

    def parts(self, name, solved):
        if name not in self.edited:
            return super().parts(name, solved)
        c, kind, names, lines = self.c, self.kind, self.names, self.lines if solved else []
        T, H, x = c["T"], c["H"], self.value(name)
        sink, root, wrapper = name in self.sinks, name in self.roots, name == self.wrapper
        params, returns, extra, fetched = f"val: {T}", T, "", []
        top, before_return, after_call, result = [], [], [], x
        applied = f" {c['op']} ".join(names + [x])
        if kind == "add-parameter":
            if solved or wrapper:
                params += "".join(f", {v}: {H}=default({i})" for i, v in enumerate(names, 1))
            if solved:
                extra, top, result = "".join(f", {v}={v}" for v in names), lines, applied if sink else x
        elif kind == "add-return":
            if wrapper:
                before_return = [", ".join(names) + " = external(10)"]
            if solved:
                returns = f"tuple[{', '.join([T] + ['str'] * 10)}]"
                fetched, before_return = names, before_return + lines
                result = f"({', '.join([x] + names)})"
        elif kind == "cache-function":
            if solved:
                extra = "".join(f", {v}={v}" for v in names)
                if wrapper:
                    top = [f"{v}: {H} = slow({i})" for i, v in enumerate(names, 1)]
                else:
                    params += "".join(f", {v}: {H}={c['zero']}" for v in names)
                top = top + lines
            if sink:
                result = " + ".join((names if solved else [f"slow({i})" for i in range(1, 11)]) + [x])
        else:
            helpers = [f"{v}: {H} = {c['G']}(val, {i})" for i, v in enumerate(names, 1)]
            if solved:
                fetched = names
                returns = H if root else f"tuple[{', '.join([T] + [H] * 10)}]"
                result = applied if root else f"({', '.join([x] + names)})"
                top, after_call = (helpers + lines, []) if wrapper else ([], lines)
            elif root:
                top, result = helpers[::-1], applied
        body = list(top)
        for v in self.graph[name]:
            targets = [v + "_val"]
            if v in self.edited:
                targets += fetched
                if kind == "add-return":
                    fetched = ["_"] * len(fetched)
            body.append(f"{', '.join(targets)} = {v}(val{extra if v in self.edited else ''})")
        first = self.comment if solved else []
        return f"def {name}({params}) -> {returns}:", first + body + after_call + before_return + ["return " + result]


def programs(graph, edited, refactoring, code, seed):
    w = Writer(graph, edited, refactoring, code, seed)
    return w.program(False), w.program(True)
