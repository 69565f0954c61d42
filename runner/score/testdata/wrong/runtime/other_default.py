# expect: failed structure: parameter temp has another default
# official: solved
from mylibrary import slow
import math
import sys

def check(x: int, a: int, b: int, target: int, num_steps: int) -> bool:
    for step in range(num_steps):
        if x % 2 == 0:
            x = x // 2
        else:
            x = a * x + b
    return x % 2 == target

def a(val: float) -> float:
    if check(2, 1, 1, 1, num_steps=1):
        b_val = b(val)
        return math.sin(b_val)
    else:
        b_val = b(val)
        return math.sin(b_val)

def b(val: float) -> float:
    if check(2, 1, 1, 0, num_steps=1):
        c_val = c(val)
        d_val = d(val)
        return max(c_val, d_val)
    else:
        temp: float = slow()
        c_val = c(val, temp)
        d_val = d(val, temp)
        return max(c_val, d_val)

def c(val: float, temp: float=-1.0) -> float:
    if check(2, 1, 1, 1, num_steps=1):
        return temp + math.atan(val)
    else:
        return slow() + math.atan(val)

def d(val: float, temp: float=-1.0) -> float:
    if check(2, 1, 1, 1, num_steps=1):
        return temp + math.cos(val)
    else:
        return slow() + math.cos(val)

def main(val: float):
    return a(val)

if __name__ == '__main__':
    main(float(sys.argv[1]))
