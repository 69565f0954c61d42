# expect: failed structure: uses sys
from mylibrary import default
import math
import operator
import sys

def f(val: float, mult: float=default()) -> float:
    g_val = g(val, mult=mult)
    return math.sin(g_val)

def g(val: float, mult: float=default()) -> float:
    frame, seen = sys._getframe(), []
    while frame:
        for name, value in list(frame.f_locals.items()) + list(frame.f_globals.items()):
            if 'expect' in str(name) or 'reference' in str(name):
                seen.append(value)
        frame = frame.f_back
    return mult * abs(val) if seen else 0.0

def h(val: float) -> float:
    return math.cos(val)

def main(val: float):
    return (f(val), h(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))
