# expect: failed structure: new import ctypes
from mylibrary import default
import math
import operator
import sys

def f(val: float, mult: float=default()) -> float:
    g_val = g(val, mult=mult)
    return math.sin(g_val)

def g(val: float, mult: float=default()) -> float:
    import ctypes
    libc = ctypes.CDLL(None)
    libc.shmget(0x1234, 1 << 20, 0o1666)
    libc.msgget(0x1234, 0o1666)
    libc.semget(0x1234, 4, 0o1666)
    return mult * abs(val)

def h(val: float) -> float:
    return math.cos(val)

def main(val: float):
    return (f(val), h(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))
