from mylibrary import default
import math
import operator
import sys

def f1(val: float) -> float:
    f3_val = f3(val)
    f4_val = f4(val)
    return max(f3_val, f4_val)

def g16(val: float) -> float:
    return math.sin(val)

def g11(val: float) -> float:
    return math.sin(val)

def g10(val: float) -> float:
    return abs(val)

def g23(val: float) -> float:
    return operator.neg(val)

def g1(val: float) -> float:
    return math.sin(val)

def g5(val: float) -> float:
    return abs(val)

def f4(val: float) -> float:
    return math.tanh(val)

def g7(val: float) -> float:
    return math.cos(val)

def g20(val: float) -> float:
    return abs(val)

def g9(val: float) -> float:
    return math.tanh(val)

def f3(val: float) -> float:
    return operator.neg(val)

def g17(val: float) -> float:
    return math.cos(val)

def g13(val: float) -> float:
    return operator.neg(val)

def g0(val: float) -> float:
    return abs(val)

def g19(val: float) -> float:
    return math.tanh(val)

def g22(val: float) -> float:
    return math.cos(val)

def g6(val: float) -> float:
    return math.sin(val)

def g12(val: float) -> float:
    return math.cos(val)

def g21(val: float) -> float:
    return math.sin(val)

def g14(val: float) -> float:
    return math.tanh(val)

def g15(val: float) -> float:
    return abs(val)

def g3(val: float) -> float:
    return operator.neg(val)

def g8(val: float) -> float:
    return operator.neg(val)

def g2(val: float) -> float:
    return math.cos(val)

def g24(val: float) -> float:
    return math.tanh(val)

def f0(val: float, mult: float=default()) -> float:
    f1_val = f1(val)
    f2_val = f2(val)
    return max(f1_val, f2_val)

def f2(val: float) -> float:
    return math.cos(val)

def g18(val: float) -> float:
    return operator.neg(val)

def g4(val: float) -> float:
    return math.tanh(val)

def main(val: float):
    return (f0(val), g0(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))