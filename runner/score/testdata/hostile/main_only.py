# expect: failed functions: function f is missing
# official: solved
from mylibrary import default
import math
import operator
import sys

def main(val: float):
    return (f(val), h(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))
