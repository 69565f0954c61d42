from mylibrary import default
import strops
import sys

def n(val: str) -> str:
    return strops.rot13(val)

def d(val: str) -> str:
    g_val = g(val)
    r_val = r(val)
    return strops.interleave(g_val, r_val)

def b(val: str) -> str:
    return strops.rot13(val)

def q(val: str) -> str:
    b_val = b(val)
    f_val = f(val)
    a_val = a(val)
    j_val = j(val)
    return strops.swap_halves(strops.zip_chars(strops.xor_chars(b_val, f_val), a_val), j_val)

def s(val: str, prefix: str=default()) -> str:
    q_val = q(val)
    return strops.mirror(q_val)

def g(val: str) -> str:
    l_val = l(val)
    i_val = i(val)
    return strops.alternate_chars(l_val, i_val)

def i(val: str) -> str:
    return strops.char_rotate(val)

def a(val: str) -> str:
    return strops.char_rotate_by_3(val)

def j(val: str) -> str:
    return strops.reverse(val)

def f(val: str) -> str:
    return strops.rot13(val)

def l(val: str) -> str:
    return strops.swap_case(val)

def r(val: str) -> str:
    n_val = n(val)
    i_val = i(val)
    s_val = s(val)
    return strops.xor_chars(strops.xor_chars(n_val, i_val), s_val)

def main(val: str):
    return d(val)

if __name__ == '__main__':
    main(str(sys.argv[1]))