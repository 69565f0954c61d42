# expect: solved
# official: solved
import strops, sys

def a(val: str) -> str:
    b_val = b(val)
    return strops.reverse(b_val)

def b(val: str) -> str:
    return strops.rot13(val)

def main(val: str):
    return a(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))
