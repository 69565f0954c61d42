# expect: failed renames: has names that nobody asked for: bb
import sys

def main(val: float):
    a = val
    x = a + 3
    bb = x - 2
    y = bb + a
    c = y - x
    return c + 1

if __name__ == '__main__':
    main(float(sys.argv[1]))
