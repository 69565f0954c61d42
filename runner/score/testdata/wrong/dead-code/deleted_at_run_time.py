# expect: failed functions: function q should be gone
import strops
import sys

def a(val: str) -> str:
    b_val = b(val)
    return strops.reverse(b_val)

def b(val: str) -> str:
    return strops.rot13(val)

def q(val: str) -> str:
    r_val = r(val)
    b_val = b(val)
    return strops.zip_chars(r_val, b_val)

def r(val: str) -> str:
    return strops.mirror(val)

del q, r

def main(val: str):
    return a(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))
