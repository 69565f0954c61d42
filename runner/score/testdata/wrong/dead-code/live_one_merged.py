# expect: failed functions: function b is missing
import strops
import sys

def a(val: str) -> str:
    b_val = strops.rot13(val)
    return strops.reverse(b_val)

def main(val: str):
    return a(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))
