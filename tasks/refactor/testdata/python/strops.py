"""The string operations that generated programs use."""


def _letters(s, move):
    """Replaces the position i of each ASCII letter in its alphabet by move(i)."""
    out = []
    for ch in s:
        base = "a" if "a" <= ch <= "z" else "A" if "A" <= ch <= "Z" else None
        out.append(chr(ord(base) + move(ord(ch) - ord(base))) if base else ch)
    return "".join(out)


def _shift(s, k):
    out = []
    for ch in s:
        base = ord("a") if ch.islower() else ord("A") if ch.isupper() else None
        out.append(ch if base is None else chr(base + (ord(ch) - base + k) % 26))
    return "".join(out)


def rot13(s):
    return _letters(s, lambda i: (i + 13) % 26)


def mirror(s):
    return _letters(s, lambda i: 25 - i)


def reverse(s):
    return s[::-1]


def swap_case(s):
    return s.swapcase()


def char_rotate(s):
    return _shift(s, 1)


def char_rotate_by_3(s):
    return _shift(s, 3)


def interleave(a, b):
    return "".join(b[i // 2] if i % 2 else a[i] for i in range(min(len(a), len(b))))


def swap_halves(a, b):
    n = min(len(a), len(b))
    return a[n // 2:n] + b[:n // 2]


def zip_chars(a, b):
    return "".join((b if i % 2 else a)[i] for i in range(min(len(a), len(b))))


def alternate_chars(a, b):
    return a[::2] + b[1::2]


def xor_chars(a, b):
    return "".join(chr(ord("a") + (ord(x) ^ ord(y)) % 26) for x, y in zip(a, b))
