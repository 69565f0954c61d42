from mylibrary import external
import strops
import sys

def n(val: str) -> str:
    return strops.rot13(val)

def d(val: str) -> str:
    g_val = g(val)
    r_val = r(val)
    return strops.interleave(g_val, r_val)

def b(val: str) -> tuple[str, str]:
    m_val, m_str = m(val)
    return (strops.rot13(m_val), m_str)

def q(val: str) -> tuple[str, str]:
    b_val, b_str = b(val)
    f_val, f_str = f(val)
    a_val, a_str = a(val)
    j_val, j_str = j(val)
    return (strops.swap_halves(strops.zip_chars(strops.xor_chars(b_val, f_val), a_val), j_val), b_str)

def m(val: str) -> tuple[str, str]:
    return external(strops.rot13(val))

def g(val: str) -> str:
    l_val = l(val)
    i_val = i(val)
    return strops.alternate_chars(l_val, i_val)

def i(val: str) -> str:
    return strops.char_rotate(val)

def a(val: str) -> tuple[str, str]:
    m_val, m_str = m(val)
    l_val = l(val)
    return (strops.xor_chars(m_val, l_val), m_str)

def j(val: str) -> tuple[str, str]:
    m_val, m_str = m(val)
    i_val = i(val)
    return (strops.swap_halves(m_val, i_val), m_str)

def f(val: str) -> tuple[str, str]:
    m_val, m_str = m(val)
    return (strops.rot13(m_val), m_str)

def l(val: str) -> str:
    return strops.swap_case(val)

def r(val: str) -> str:
    n_val = n(val)
    i_val = i(val)
    return strops.xor_chars(n_val, i_val)

def main(val: str):
    return (d(val), q(val))

if __name__ == '__main__':
    main(str(sys.argv[1]))