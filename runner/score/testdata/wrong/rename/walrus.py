# expect: failed renames: 
import sys

def main(val: float):
    a = val
    b = (x := a + 3) - 2
    y = b + a
    c = y - x
    return c + 1

if __name__ == '__main__':
    main(float(sys.argv[1]))
