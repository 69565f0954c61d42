# expect: failed functions: function live_b was added
import strops
import sys

def a(val: str) -> str:
    b_val = live_b(val)
    return strops.reverse(b_val)

def live_b(val: str) -> str:
    return strops.rot13(val)

def main(val: str):
    return a(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))
