# expect: failed functions: function a is missing
import strops
import sys

def main(val: str):
    return strops.reverse(strops.rot13(val))

if __name__ == '__main__':
    main(str(sys.argv[1]))
