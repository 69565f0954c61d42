from mylibrary import default
import math
import operator
import sys

def n(val: float) -> float:
    return abs(val)

def d(val: float) -> float:
    g_val = g(val)
    r_val = r(val)
    return operator.add(g_val, r_val)

def b(val: float) -> float:
    return abs(val)

def q(val: float) -> float:
    b_val = b(val)
    f_val = f(val)
    a_val = a(val)
    j_val = j(val)
    return operator.sub(min(math.hypot(b_val, f_val), a_val), j_val)

def s(val: float, mult: float=default()) -> float:
    q_val = q(val)
    return round(q_val)

def g(val: float) -> float:
    l_val = l(val)
    i_val = i(val)
    return max(l_val, i_val)

def i(val: float) -> float:
    return math.degrees(val)

def a(val: float) -> float:
    return operator.neg(val)

def j(val: float) -> float:
    return math.cos(val)

def f(val: float) -> float:
    return abs(val)

def l(val: float) -> float:
    return math.tanh(val)

def r(val: float) -> float:
    n_val = n(val)
    i_val = i(val)
    s_val = s(val)
    return math.hypot(math.hypot(n_val, i_val), s_val)

def main(val: float):
    return d(val)

if __name__ == '__main__':
    main(float(sys.argv[1]))