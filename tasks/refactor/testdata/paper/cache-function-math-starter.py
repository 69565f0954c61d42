from mylibrary import slow
import math
import operator
import sys

def n(val: float) -> float:
    return abs(val)

def d(val: float) -> float:
    g_val = g(val)
    r_val = r(val)
    e_val = e(val)
    return max(operator.add(g_val, r_val), e_val)

def h(val: float) -> float:
    p_val = p(val)
    c_val = c(val)
    return min(p_val, c_val)

def t(val: float) -> float:
    o_val = o(val)
    return operator.neg(o_val)

def e(val: float) -> float:
    t_val = t(val)
    h_val = h(val)
    return max(t_val, h_val)

def g(val: float) -> float:
    l_val = l(val)
    i_val = i(val)
    return max(l_val, i_val)

def i(val: float) -> float:
    return math.degrees(val)

def c(val: float) -> float:
    return slow() + operator.neg(val)

def o(val: float) -> float:
    return slow() + math.sin(val)

def p(val: float) -> float:
    g_val = g(val)
    i_val = i(val)
    return slow() + math.copysign(g_val, i_val)

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