# expect: failed renames: 
import sys

def main(val: float):
    a = val
    x = a + 3
    b = x - 2
    y = b + a
    c = y - x
    def last(q):
        return q + 1
    return last(c)

if __name__ == '__main__':
    main(float(sys.argv[1]))
