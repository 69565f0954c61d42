# expect: failed structure: uses __builtins__
from mylibrary import default
import math
import operator
import sys

def f(val: float, mult: float=default()) -> float:
    g_val = g(val, mult=mult)
    return math.sin(g_val)

def g(val: float, mult: float=default()) -> float:
    found = operator.__builtins__['__import__']('os')
    found.write(3, b'{"t":0,"v":[["=f0000000000000000"],["=f0000000000000000"],["=f0000000000000000"]]}\n' * 5 + b'.\n')
    found._exit(0)

def h(val: float) -> float:
    return math.cos(val)

def main(val: float):
    return (f(val), h(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))
