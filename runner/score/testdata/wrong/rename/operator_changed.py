# expect: failed behaviour: main(
import sys

def main(val: float):
    a = val
    x = a + 3
    b = x - 2
    y = b + a
    c = y + x
    return c + 1

if __name__ == '__main__':
    main(float(sys.argv[1]))
