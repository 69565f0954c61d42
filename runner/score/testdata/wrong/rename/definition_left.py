# expect: failed renames: still has q
import sys

def main(val: float):
    a = val
    q = a + 3
    x = q
    b = x - 2
    y = b + a
    c = y - x
    return c + 1

if __name__ == '__main__':
    main(float(sys.argv[1]))
