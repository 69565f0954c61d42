# expect: failed structure: has the parameters (x1), not (val)
import sys

def main(x1: float):
    a = x1
    x = a + 3
    b = x - 2
    y = b + a
    c = y - x
    return c + 1

if __name__ == '__main__':
    main(float(sys.argv[1]))
