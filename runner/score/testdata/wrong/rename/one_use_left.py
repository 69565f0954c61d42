# expect: failed renames: still has q
import sys

def main(val: float):
    a = val
    x = a + 3
    b = x - 2
    y = b + a
    q = x
    c = y - q
    return c + 1

if __name__ == '__main__':
    main(float(sys.argv[1]))
