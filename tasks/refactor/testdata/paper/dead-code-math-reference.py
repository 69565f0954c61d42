import math
import operator
import sys

def n(val: float) -> float:
    return abs(val)

def d(val: float) -> float:
    g_val = g(val)
    r_val = r(val)
    return operator.add(g_val, r_val)

def g(val: float) -> float:
    l_val = l(val)
    i_val = i(val)
    return max(l_val, i_val)

def i(val: float) -> float:
    return math.degrees(val)

def l(val: float) -> float:
    return math.tanh(val)

def r(val: float) -> float:
    n_val = n(val)
    i_val = i(val)
    return math.hypot(n_val, i_val)

def main(val: float):
    return d(val)

if __name__ == '__main__':
    main(float(sys.argv[1]))