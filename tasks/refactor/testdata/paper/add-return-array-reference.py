from mylibrary import external
import numpy as np
import sys

def n(val: np.ndarray) -> np.ndarray:
    return np.abs(val)

def d(val: np.ndarray) -> np.ndarray:
    g_val = g(val)
    r_val = r(val)
    return np.add(g_val, r_val)

def b(val: np.ndarray) -> tuple[np.ndarray, str]:
    m_val, m_str = m(val)
    return (np.abs(m_val), m_str)

def q(val: np.ndarray) -> tuple[np.ndarray, str]:
    b_val, b_str = b(val)
    f_val, f_str = f(val)
    a_val, a_str = a(val)
    j_val, j_str = j(val)
    return (np.subtract(np.multiply(np.minimum(b_val, f_val), a_val), j_val), b_str)

def m(val: np.ndarray) -> tuple[np.ndarray, str]:
    return external(np.sign(val))

def g(val: np.ndarray) -> np.ndarray:
    l_val = l(val)
    i_val = i(val)
    return np.maximum(l_val, i_val)

def i(val: np.ndarray) -> np.ndarray:
    return np.cumprod(val)

def a(val: np.ndarray) -> tuple[np.ndarray, str]:
    m_val, m_str = m(val)
    l_val = l(val)
    return (np.minimum(m_val, l_val), m_str)

def j(val: np.ndarray) -> tuple[np.ndarray, str]:
    m_val, m_str = m(val)
    i_val = i(val)
    return (np.subtract(m_val, i_val), m_str)

def f(val: np.ndarray) -> tuple[np.ndarray, str]:
    m_val, m_str = m(val)
    return (np.abs(m_val), m_str)

def l(val: np.ndarray) -> np.ndarray:
    return np.cos(val)

def r(val: np.ndarray) -> np.ndarray:
    n_val = n(val)
    i_val = i(val)
    return np.minimum(n_val, i_val)

def main(val: np.ndarray):
    return (d(val), q(val))

if __name__ == '__main__':
    main(np.array(eval(sys.argv[1])))