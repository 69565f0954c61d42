from mylibrary import slow
import numpy as np
import sys

def n(val: np.ndarray) -> np.ndarray:
    return np.abs(val)

def d(val: np.ndarray) -> np.ndarray:
    g_val = g(val)
    r_val = r(val)
    e_val = e(val)
    return np.maximum(np.add(g_val, r_val), e_val)

def h(val: np.ndarray) -> np.ndarray:
    p_val = p(val)
    c_val = c(val)
    return np.multiply(p_val, c_val)

def t(val: np.ndarray) -> np.ndarray:
    o_val = o(val)
    return np.flip(o_val)

def e(val: np.ndarray) -> np.ndarray:
    t_val = t(val)
    h_val = h(val)
    return np.maximum(t_val, h_val)

def g(val: np.ndarray) -> np.ndarray:
    l_val = l(val)
    i_val = i(val)
    return np.maximum(l_val, i_val)

def i(val: np.ndarray) -> np.ndarray:
    return np.cumprod(val)

def c(val: np.ndarray) -> np.ndarray:
    return slow() + np.flip(val)

def o(val: np.ndarray) -> np.ndarray:
    return slow() + np.round(val)

def p(val: np.ndarray) -> np.ndarray:
    g_val = g(val)
    i_val = i(val)
    return slow() + np.hypot(g_val, i_val)

def l(val: np.ndarray) -> np.ndarray:
    return np.cos(val)

def r(val: np.ndarray) -> np.ndarray:
    n_val = n(val)
    i_val = i(val)
    return np.minimum(n_val, i_val)

def main(val: np.ndarray):
    return d(val)

if __name__ == '__main__':
    main(np.array(eval(sys.argv[1])))