from mylibrary import get_key
import strops
import sys

def n(val: str) -> str:
    o_val = o(val)
    return strops.rot13(o_val)

def d(val: str) -> str:
    g_val = g(val)
    r_val = r(val)
    return strops.interleave(g_val, r_val)

def h(val: str) -> str:
    k_val = k(val)
    return strops.swap_case(k_val)

def t(val: str) -> str:
    k_val = k(val)
    return strops.mirror(k_val)

def k(val: str) -> str:
    return strops.char_rotate_by_3(val)

def g(val: str) -> str:
    l_val = l(val)
    i_val = i(val)
    return strops.alternate_chars(l_val, i_val)

def i(val: str) -> str:
    return strops.char_rotate(val)

def c(val: str) -> str:
    prefix: str = get_key(val)
    h_val = h(val)
    return prefix + strops.char_rotate_by_3(h_val)

def o(val: str) -> str:
    prefix: str = get_key(val)
    t_val = t(val)
    return prefix + strops.reverse(t_val)

def p(val: str) -> str:
    prefix: str = get_key(val)
    h_val = h(val)
    return prefix + strops.mirror(h_val)

def l(val: str) -> str:
    return strops.swap_case(val)

def r(val: str) -> str:
    n_val = n(val)
    i_val = i(val)
    o_val = o(val)
    return strops.xor_chars(strops.xor_chars(n_val, i_val), o_val)

def main(val: str):
    return (d(val), p(val), c(val))

if __name__ == '__main__':
    main(str(sys.argv[1]))