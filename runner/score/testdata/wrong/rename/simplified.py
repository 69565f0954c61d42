# expect: failed renames: 
import sys

def main(val: float):
    a = val
    x = a + 3
    y = x - 2 + a
    c = y - x
    return c + 1

if __name__ == '__main__':
    main(float(sys.argv[1]))
