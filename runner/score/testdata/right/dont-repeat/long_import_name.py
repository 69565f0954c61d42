# expect: solved
# official: solved
from mylibrary import get_multiplier
import numpy as np
import sys

def b(val: np.ndarray) -> np.ndarray:
    d_val, mult = d(val)
    cosine = np.cos
    return mult * cosine(d_val)

def c(val: np.ndarray) -> np.ndarray:
    d_val, mult = d(val)
    return mult * np.sort(d_val)

def d(val: np.ndarray) -> tuple[np.ndarray, float]:
    mult: float = get_multiplier(val)
    e_val = e(val)
    return (np.tanh(e_val), mult)

def a(val: np.ndarray) -> np.ndarray:
    b_val = b(val)
    c_val = c(val)
    return np.hypot(b_val, c_val)

def e(val: np.ndarray) -> np.ndarray:
    return np.flip(val)

def main(val: np.ndarray):
    return a(val)

if __name__ == '__main__':
    main(np.array(eval(sys.argv[1])))
