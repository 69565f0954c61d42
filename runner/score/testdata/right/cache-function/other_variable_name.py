# expect: solved
# official: solved
from mylibrary import slow
import strops
import sys

def b(val: str) -> str:
    cached = slow()
    c_val = c(val, cached)
    d_val = d(val, cached)
    return strops.alternate_chars(c_val, d_val)

def c(val: str, temp: str='') -> str:
    return temp + strops.rot13(val)

def d(val: str, temp: str='') -> str:
    e_val = e(val)
    return temp + strops.mirror(e_val)

def a(val: str) -> str:
    b_val = b(val)
    return strops.swap_case(b_val)

def e(val: str) -> str:
    return strops.char_rotate(val)

def main(val: str):
    return a(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))
