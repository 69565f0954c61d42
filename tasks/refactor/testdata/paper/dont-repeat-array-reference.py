from mylibrary import get_multiplier
import numpy as np
import sys

def n(val: np.ndarray) -> np.ndarray:
    o_val = o(val)
    return np.abs(o_val)

def d(val: np.ndarray) -> np.ndarray:
    g_val = g(val)
    r_val = r(val)
    return np.add(g_val, r_val)

def h(val: np.ndarray) -> tuple[np.ndarray, float]:
    k_val, mult = k(val)
    return (np.tanh(k_val), mult)

def t(val: np.ndarray) -> tuple[np.ndarray, float]:
    k_val, mult = k(val)
    return (np.flip(k_val), mult)

def k(val: np.ndarray) -> tuple[np.ndarray, float]:
    mult: float = get_multiplier(val)
    return (np.flip(val), mult)

def g(val: np.ndarray) -> np.ndarray:
    l_val = l(val)
    i_val = i(val)
    return np.maximum(l_val, i_val)

def i(val: np.ndarray) -> np.ndarray:
    return np.cumprod(val)

def c(val: np.ndarray) -> np.ndarray:
    h_val, mult = h(val)
    return mult * np.flip(h_val)

def o(val: np.ndarray) -> np.ndarray:
    t_val, mult = t(val)
    return mult * np.round(t_val)

def p(val: np.ndarray) -> np.ndarray:
    h_val, mult = h(val)
    return mult * np.sign(h_val)

def l(val: np.ndarray) -> np.ndarray:
    return np.cos(val)

def r(val: np.ndarray) -> np.ndarray:
    n_val = n(val)
    i_val = i(val)
    o_val = o(val)
    return np.minimum(np.minimum(n_val, i_val), o_val)

def main(val: np.ndarray):
    return (d(val), p(val), c(val))

if __name__ == '__main__':
    main(np.array(eval(sys.argv[1])))