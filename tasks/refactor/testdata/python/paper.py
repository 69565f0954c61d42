"""Writes ../paper: the published example graph in the five refactorings.

Init graph, edit graph, the cross edge r→s and the call of d by main are those of the
publication; the other cross edges, and the forest, are those that its seed gives.
"""
from expected import programs

INIT = dict(g="li", r="ni", l="", n="", i="", d="gr")
FORMS = {
    "dead-code": (dict(INIT), dict(q="bfaj", b="g", f="", a="", j="", s="q")),
    "add-parameter": (dict(INIT, r="nis"), dict(q="bfaj", b="", f="", a="", j="", s="q")),
    "add-return": (dict(INIT), dict(q="bfaj", b="m", f="m", a="ml", j="mi", m="")),
    "cache-function": (dict(INIT, d="gre"), dict(t="o", h="pc", p="gi", c="", o="", e="th")),
    "dont-repeat": (dict(INIT, n="o", r="nio"), dict(t="k", h="k", p="h", c="h", o="t", k="")),
}

if __name__ == "__main__":
    for refactoring, (init, edit) in FORMS.items():
        graph = {u: list(callees) for u, callees in (init | edit).items()}
        for code in ("math", "string", "array"):
            starter, reference = programs(graph, list(edit), refactoring, code, 42)
            for name, text in (("starter", starter), ("reference", reference)):
                with open(f"../paper/{refactoring}-{code}-{name}.py", "w") as f:
                    f.write(text)
