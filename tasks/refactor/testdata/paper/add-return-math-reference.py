from mylibrary import external
import math
import operator
import sys

def n(val: float) -> float:
    return abs(val)

def d(val: float) -> float:
    g_val = g(val)
    r_val = r(val)
    return operator.add(g_val, r_val)

def b(val: float) -> tuple[float, str]:
    m_val, m_str = m(val)
    return (abs(m_val), m_str)

def q(val: float) -> tuple[float, str]:
    b_val, b_str = b(val)
    f_val, f_str = f(val)
    a_val, a_str = a(val)
    j_val, j_str = j(val)
    return (operator.sub(min(math.hypot(b_val, f_val), a_val), j_val), b_str)

def m(val: float) -> tuple[float, str]:
    return external(round(val))

def g(val: float) -> float:
    l_val = l(val)
    i_val = i(val)
    return max(l_val, i_val)

def i(val: float) -> float:
    return math.degrees(val)

def a(val: float) -> tuple[float, str]:
    m_val, m_str = m(val)
    l_val = l(val)
    return (math.hypot(m_val, l_val), m_str)

def j(val: float) -> tuple[float, str]:
    m_val, m_str = m(val)
    i_val = i(val)
    return (operator.sub(m_val, i_val), m_str)

def f(val: float) -> tuple[float, str]:
    m_val, m_str = m(val)
    return (abs(m_val), m_str)

def l(val: float) -> float:
    return math.tanh(val)

def r(val: float) -> float:
    n_val = n(val)
    i_val = i(val)
    return math.hypot(n_val, i_val)

def main(val: float):
    return (d(val), q(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))