from mylibrary import get_multiplier
import math
import operator
import sys

def n(val: float) -> float:
    o_val = o(val)
    return abs(o_val)

def d(val: float) -> float:
    g_val = g(val)
    r_val = r(val)
    return operator.add(g_val, r_val)

def h(val: float) -> float:
    k_val = k(val)
    return math.atan(k_val)

def t(val: float) -> float:
    k_val = k(val)
    return operator.neg(k_val)

def k(val: float) -> float:
    return operator.neg(val)

def g(val: float) -> float:
    l_val = l(val)
    i_val = i(val)
    return max(l_val, i_val)

def i(val: float) -> float:
    return math.degrees(val)

def c(val: float) -> float:
    mult: float = get_multiplier(val)
    h_val = h(val)
    return mult * operator.neg(h_val)

def o(val: float) -> float:
    mult: float = get_multiplier(val)
    t_val = t(val)
    return mult * math.sin(t_val)

def p(val: float) -> float:
    mult: float = get_multiplier(val)
    h_val = h(val)
    return mult * round(h_val)

def l(val: float) -> float:
    return math.tanh(val)

def r(val: float) -> float:
    n_val = n(val)
    i_val = i(val)
    o_val = o(val)
    return math.hypot(math.hypot(n_val, i_val), o_val)

def main(val: float):
    return (d(val), p(val), c(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))