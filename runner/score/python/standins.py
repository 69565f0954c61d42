"""Stand-ins for the two libraries that task programs import without having
them: strops, and the functions of mylibrary in all their variants."""

import math

try:
    import numpy
except ImportError:  # only array programs need it
    numpy = None

LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
ROT13 = str.maketrans(
    LOWER + UPPER, LOWER[13:] + LOWER[:13] + UPPER[13:] + UPPER[:13]
)
MIRROR = str.maketrans(LOWER + UPPER, LOWER[::-1] + UPPER[::-1])


def rot13(s):
    return s.translate(ROT13)


def reverse(s):
    return s[::-1]


def swap_case(s):
    return s.swapcase()


def rotated(by):
    return str.maketrans(
        LOWER + UPPER, LOWER[by:] + LOWER[:by] + UPPER[by:] + UPPER[:by]
    )


ROTATED = {1: rotated(1), 3: rotated(3)}


def shift(s, by):
    if s.isascii():
        return s.translate(ROTATED[by])
    moved = []
    for c in s:
        if c.islower():
            c = LOWER[(ord(c) - ord("a") + by) % 26]
        elif c.isupper():
            c = UPPER[(ord(c) - ord("A") + by) % 26]
        moved.append(c)
    return "".join(moved)


def char_rotate(s):
    return shift(s, 1)


def char_rotate_by_3(s):
    return shift(s, 3)


def mirror(s):
    return s.translate(MIRROR)


def interleave(a, b):
    n = min(len(a), len(b))
    mixed = list(a[:n])
    mixed[1::2] = b[:n // 2]
    return "".join(mixed)


def swap_halves(a, b):
    n = min(len(a), len(b))
    return a[n // 2:n] + b[:n // 2]


def zip_chars(a, b):
    n = min(len(a), len(b))
    mixed = list(a[:n])
    mixed[1::2] = b[1:n:2]
    return "".join(mixed)


def alternate_chars(a, b):
    return a[0::2] + b[1::2]


def xor_chars(a, b):
    return "".join([LOWER[(ord(x) ^ ord(y)) % 26] for x, y in zip(a, b)])


STROPS = (
    rot13, reverse, swap_case, char_rotate, char_rotate_by_3, mirror,
    interleave, swap_halves, zip_chars, alternate_chars, xor_chars,
)

NUMBERS = (0.21, -0.42, 0.63, -0.84, 1.02)
DIGITS = ("0", "1", "2", "3", "4")
NAMES = ("cabra", "goat", "chevre", "capra", "geit")
HUNDREDS = ("100", "200", "300", "400", "500")

MATH_HELPERS = (
    lambda x: 1.0 if x > 0 else -1.0,
    lambda x: 0.5,
    lambda x: x,
    lambda x: min(x, 0.21),
    lambda x: x + 0.01,
)

ARRAY_HELPERS = (
    lambda x: 1.0 if numpy.sum(x) > 0 else -1.0,
    lambda x: 0.5,
    lambda x: float(numpy.std(x)),
    lambda x: min(float(numpy.min(x)), 0.21),
    lambda x: float(numpy.mean(x)) + 0.01,
)


def key_from(x, start):
    digits = [str((ord(c) - start) % 10) for c in x.lower() if c in LOWER]
    return "".join(digits) or "0"


STRING_HELPERS = (
    lambda x: key_from(x, 97),
    lambda x: key_from(x, 94),
    lambda x: key_from(x, 91),
)


def numbered(text, name, key, default, helper, slow):
    """The functions of mylibrary that take the number of a value."""
    if text:
        return {
            "external": lambda num_keys: tuple([key + str(i) for i in range(num_keys)]),
            "default": lambda idx=0: default + str(idx),
            name: lambda x, idx=0: helper(x) + str(idx),
            "slow": lambda idx=0: slow + str(idx),
        }
    return {
        "external": lambda num_keys: tuple([key + str(i) for i in range(num_keys)]),
        "default": lambda idx=0: default + 0.024 * idx,
        name: lambda x, idx=0: helper(x) + 0.031 * idx,
        "slow": lambda idx=0: slow + 0.017 * idx,
    }


def library(code, variants, indexed=False):
    """The functions of mylibrary for a code type. variants holds the places of
    external, default, the helper and slow in their lists; indexed ones take
    the number of a value."""
    external, default, helper, slow = variants
    text = code == "string"
    constants = DIGITS if text else NUMBERS
    key = (HUNDREDS if text else NAMES)[external]
    name = "get_key" if text else "get_multiplier"
    helpers = {"string": STRING_HELPERS, "array": ARRAY_HELPERS}.get(code, MATH_HELPERS)
    if indexed:
        return numbered(text, name, HUNDREDS[external], constants[default], helpers[helper], constants[slow])
    return {
        "external": lambda x: (x, key),
        "default": lambda: constants[default],
        name: helpers[helper],
        "slow": lambda: constants[slow],
    }
