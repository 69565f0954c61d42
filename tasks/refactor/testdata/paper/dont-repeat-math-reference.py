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

def h(val: float) -> tuple[float, float]:
    k_val, mult = k(val)
    return (math.atan(k_val), mult)

def t(val: float) -> tuple[float, float]:
    k_val, mult = k(val)
    return (operator.neg(k_val), mult)

def k(val: float) -> tuple[float, float]:
    mult: float = get_multiplier(val)
    return (operator.neg(val), mult)

def g(val: float) -> float:
    l_val = l(val)
    i_val = i(val)
    return max(l_val, i_val)

def i(val: float) -> float:
    return math.degrees(val)

def c(val: float) -> float:
    h_val, mult = h(val)
    return mult * operator.neg(h_val)

def o(val: float) -> float:
    t_val, mult = t(val)
    return mult * math.sin(t_val)

def p(val: float) -> float:
    h_val, mult = h(val)
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