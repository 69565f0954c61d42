# expect: failed lines: function b: lacks
from mylibrary import get_key
import strops
import sys

def a(val: str) -> str:
    b_val = b(val)
    c_val = c(val)
    return strops.zip_chars(b_val, c_val)

# stature kayak
def b(val: str) -> float:
    d_val, prefix1, prefix2 = d(val)
    return prefix1 + prefix2 + strops.reverse(d_val)

def c(val: str) -> float:
    # stature kayak
    d_val, prefix1, prefix2 = d(val)
    return prefix1 + prefix2 + strops.mirror(d_val)

def d(val: str) -> tuple[str, str, str]:
    # stature kayak
    prefix1: str = get_key(val, 1)
    prefix2: str = get_key(val, 2)
    return (strops.rot13(val), prefix1, prefix2)

def main(val: str):
    return a(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))
