from mylibrary import slow
import strops
import sys

def n(val: str) -> str:
    return strops.rot13(val)

def d(val: str) -> str:
    g_val = g(val)
    r_val = r(val)
    e_val = e(val)
    return strops.alternate_chars(strops.interleave(g_val, r_val), e_val)

def h(val: str, temp: str='') -> str:
    p_val = p(val, temp)
    c_val = c(val, temp)
    return strops.zip_chars(p_val, c_val)

def t(val: str, temp: str='') -> str:
    o_val = o(val, temp)
    return strops.mirror(o_val)

def e(val: str) -> str:
    temp: str = slow()
    t_val = t(val, temp)
    h_val = h(val, temp)
    return strops.alternate_chars(t_val, h_val)

def g(val: str) -> str:
    l_val = l(val)
    i_val = i(val)
    return strops.alternate_chars(l_val, i_val)

def i(val: str) -> str:
    return strops.char_rotate(val)

def c(val: str, temp: str='') -> str:
    return temp + strops.char_rotate_by_3(val)

def o(val: str, temp: str='') -> str:
    return temp + strops.reverse(val)

def p(val: str, temp: str='') -> str:
    g_val = g(val)
    i_val = i(val)
    return temp + strops.interleave(g_val, i_val)

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