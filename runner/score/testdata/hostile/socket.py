# expect: failed structure: new import socket
from mylibrary import default
import math
import operator
import sys

def f(val: float, mult: float=default()) -> float:
    g_val = g(val, mult=mult)
    return math.sin(g_val)

def g(val: float, mult: float=default()) -> float:
    import socket
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, 17, 38, 40):
        try:
            socket.socket(family, socket.SOCK_STREAM)
            return 0.0
        except OSError:
            pass
    return mult * abs(val)

def h(val: float) -> float:
    return math.cos(val)

def main(val: float):
    return (f(val), h(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))
