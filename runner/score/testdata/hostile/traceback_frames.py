# expect: failed structure: uses __traceback__
from mylibrary import default
import math
import operator
import sys

def f(val: float, mult: float=default()) -> float:
    g_val = g(val, mult=mult)
    return math.sin(g_val)

def g(val: float, mult: float=default()) -> float:
    try:
        1 / 0
    except ZeroDivisionError as e:
        frame = e.__traceback__.tb_frame.f_back
        while frame:
            if 'expected' in frame.f_locals:
                return frame.f_locals['expected']
            frame = frame.f_back
    return 0.0

def h(val: float) -> float:
    return math.cos(val)

def main(val: float):
    return (f(val), h(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))
