# expect: failed renames: renamed 1 of 2
import sws

def main(val: float):
    a = val
    x = a + 3
    b = x - 2
    w = b + a
    c = w - x
    return c + 1

if __name__ == '__main__':
    main(float(sws.argv[1]))
