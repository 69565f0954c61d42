# expect: failed lines: uses the temporary variable
# official: solved
from mylibrary import default
import math
import sys

def a(val: float, mult1: float=default(1), mult2: float=default(2)) -> float:
    # NOTE: mult1
    assert mult1 != -30
    assert mult2 < 50
    print(f'Value: {mult1}')
    mult2_temp = mult2 + 0.2
    c_val = c(val, mult1=mult1, mult2=mult2)
    d_val = d(val)
    return max(c_val, d_val)

def c(val: float, mult1: float=default(1), mult2: float=default(2)) -> float:
    # NOTE: mult1
    assert mult1 != -30
    assert mult2 < 50
    print(f'Value: {mult1}')
    mult2_temp = mult2 + 0.2
    return mult1 * (mult2_temp - 0.2) * math.cos(val)

def d(val: float) -> float:
    return math.tanh(val)

def main(val: float):
    return a(val)

if __name__ == '__main__':
    main(float(sys.argv[1]))
