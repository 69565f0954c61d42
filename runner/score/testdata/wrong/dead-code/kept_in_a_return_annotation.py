# expect: failed structure: function b was changed
# official: solved
import strops
import sys

def a(val: str) -> str:
    b_val = b(val)
    return strops.reverse(b_val)

def b(val: str) -> (q := str):
    return strops.rot13(val)

def main(val: str):
    return a(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))
