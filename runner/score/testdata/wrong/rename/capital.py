# expect: failed renames: 
import sys

def main(val: float):
    a = val
    X = a + 3
    b = X - 2
    y = b + a
    c = y - X
    return c + 1

if __name__ == '__main__':
    main(float(sys.argv[1]))
