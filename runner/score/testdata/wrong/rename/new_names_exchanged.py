# expect: failed renames: 
import sys

def main(val: float):
    a = val
    y = a + 3
    b = y - 2
    x = b + a
    c = x - y
    return c + 1

if __name__ == '__main__':
    main(float(sys.argv[1]))
