import strops
import sys

def n(val: str) -> str:
    return strops.rot13(val)

def d(val: str) -> str:
    g_val = g(val)
    r_val = r(val)
    return strops.interleave(g_val, r_val)

def g(val: str) -> str:
    l_val = l(val)
    i_val = i(val)
    return strops.alternate_chars(l_val, i_val)

def i(val: str) -> str:
    return strops.char_rotate(val)

def l(val: str) -> str:
    return strops.swap_case(val)

def r(val: str) -> str:
    n_val = n(val)
    i_val = i(val)
    return strops.xor_chars(n_val, i_val)

def main(val: str):
    return d(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))