"""A second, independent writer of the call-graph tasks, for comparison.

It works on plain text where the generator works on a program model, and draws
from CPython's own random numbers.
"""
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

    def function(self, name, solved):
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
        lines = [f"def {name}({params}) -> {returns}:"] + ["    " + l for l in first]
        for v in self.graph[name]:
            to_edit = v in self.edited
            lines.append(f"    {v}_val{unpack.format(v) if to_edit else ''} = {v}(val{extra if to_edit else ''})")
        return "\n".join(lines + ["    return " + result])

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
        blocks = ["\n".join(head + self.c["imports"] + ["import sys"])]
        blocks += [self.function(n, solved) for n in names]
        blocks += [f"def main(val: {self.c['T']}):\n    return {calls}"]
        blocks += [f"if __name__ == '__main__':\n    main({self.c['arg']})"]
        return "\n\n".join(blocks)


def programs(graph, edited, refactoring, code, seed):
    w = Writer(graph, edited, refactoring, code, seed)
    return w.program(False), w.program(True)
