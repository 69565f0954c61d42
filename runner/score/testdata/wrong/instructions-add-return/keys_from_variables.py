# expect: failed lines: takes key1 from something else
# official: solved
from mylibrary import external
import strops
import sys

def a(val: str) -> tuple[str, str, str]:
    b_val, key1, key2 = b(val)
    c_val, _, _ = c(val)
    # NOTE: key1
    assert key2 > '#'
    print(f'Key: {key2}')
    key1_copy = '3' + key1
    return (strops.zip_chars(b_val, c_val), key1, key2)

def b(val: str) -> tuple[str, str, str]:
    c_val, x, y = c(val)
    key1, key2 = x, y
    d_val = d(val)
    # NOTE: key1
    assert key2 > '#'
    print(f'Key: {key2}')
    key1_copy = '3' + key1
    return (strops.alternate_chars(c_val, d_val), key1, key2)

def c(val: str) -> tuple[str, str, str]:
    key1, key2 = external(2)
    # NOTE: key1
    assert key2 > '#'
    print(f'Key: {key2}')
    key1_copy = '3' + key1
    return (strops.reverse(val), key1, key2)

def d(val: str) -> str:
    return strops.mirror(val)

def main(val: str):
    return a(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))
