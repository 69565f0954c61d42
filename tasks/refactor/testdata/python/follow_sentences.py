"""Reads a JSON list of rules {var, kind, line, sentence}; prints those whose line does not
follow from the sentence, and how many it checked."""
import ast
import json
import sys

import follow_instructions


def normal(line):
    return line if line.startswith("# ") else ast.unparse(ast.parse(line))


if __name__ == "__main__":
    rules = json.load(sys.stdin)
    for rule in rules:
        _, line = follow_instructions.understood(rule["var"], rule["sentence"])
        if normal(line) != rule["line"]:
            print(f"{rule['sentence']!r} gives {line!r}, not {rule['line']!r}")
    print("checked", len(rules))
