# expect: failed behaviour: a(
from mylibrary import external
import math
import operator
import sys

def a(val: float) -> tuple[float, str]:
    b_val, b_str = b(val)
    c_val, c_str = c(val)
    d_val = d(val)
    return (operator.add(max(b_val, c_val), d_val), b_str + c_str)

def b(val: float) -> tuple[float, str]:
    c_val, c_str = c(val)
    return (math.cos(c_val), c_str)

def c(val: float) -> tuple[float, str]:
    return external(round(val))

def d(val: float) -> float:
    return math.tanh(val)

def main(val: float):
    return (a(val), d(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))
