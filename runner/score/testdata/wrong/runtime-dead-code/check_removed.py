# expect: failed functions: function check is missing
import strops
import sys

def a(val: str) -> str:
    if False:
        q_val = val
        return strops.rot13(q_val)
    else:
        b_val = b(val)
        return strops.reverse(b_val)

def b(val: str) -> str:
    if True:
        return strops.rot13(val)
    else:
        return strops.mirror(val)

def main(val: str):
    return a(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))
