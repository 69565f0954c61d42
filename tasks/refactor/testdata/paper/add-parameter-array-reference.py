from mylibrary import default
import numpy as np
import sys

def n(val: np.ndarray) -> np.ndarray:
    return np.abs(val)

def d(val: np.ndarray) -> np.ndarray:
    g_val = g(val)
    r_val = r(val)
    return np.add(g_val, r_val)

def b(val: np.ndarray, mult: float=default()) -> np.ndarray:
    return mult * np.abs(val)

def q(val: np.ndarray, mult: float=default()) -> np.ndarray:
    b_val = b(val, mult=mult)
    f_val = f(val, mult=mult)
    a_val = a(val, mult=mult)
    j_val = j(val, mult=mult)
    return np.subtract(np.multiply(np.minimum(b_val, f_val), a_val), j_val)

def s(val: np.ndarray, mult: float=default()) -> np.ndarray:
    q_val = q(val, mult=mult)
    return np.sign(q_val)

def g(val: np.ndarray) -> np.ndarray:
    l_val = l(val)
    i_val = i(val)
    return np.maximum(l_val, i_val)

def i(val: np.ndarray) -> np.ndarray:
    return np.cumprod(val)

def a(val: np.ndarray, mult: float=default()) -> np.ndarray:
    return mult * np.flip(val)

def j(val: np.ndarray, mult: float=default()) -> np.ndarray:
    return mult * np.sin(val)

def f(val: np.ndarray, mult: float=default()) -> np.ndarray:
    return mult * np.abs(val)

def l(val: np.ndarray) -> np.ndarray:
    return np.cos(val)

def r(val: np.ndarray) -> np.ndarray:
    n_val = n(val)
    i_val = i(val)
    s_val = s(val)
    return np.minimum(np.minimum(n_val, i_val), s_val)

def main(val: np.ndarray):
    return d(val)

if __name__ == '__main__':
    main(np.array(eval(sys.argv[1])))