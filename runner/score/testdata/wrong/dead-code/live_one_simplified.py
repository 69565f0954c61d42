# expect: failed structure: function a was changed
# official: solved
import strops
import sys

def a(val: str) -> str:
    return strops.reverse(b(val))

def b(val: str) -> str:
    return strops.rot13(val)

def main(val: str):
    return a(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))
