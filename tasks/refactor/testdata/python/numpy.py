"""As much of numpy as generated programs use, on one-dimensional arrays."""
import builtins
import itertools
import math


class ndarray:
    def __init__(self, items):
        self.items = [float(x) for x in items]

    def __repr__(self):
        return f"array({self.items})"

    def __mul__(self, number):
        return ndarray(x * number for x in self.items)

    def __add__(self, number):
        return ndarray(x + number for x in self.items)

    __rmul__, __radd__ = __mul__, __add__


array = ndarray


def _clipped(x):
    return math.copysign(1e100, x) if math.fabs(x) > 1e100 else x


def _each(f):
    return lambda a: ndarray(map(f, a.items))


def _pairs(f):
    # Arrays of different lengths do not occur.
    return lambda a, b: ndarray(f(x, y) for x, y in zip(a.items, b.items, strict=True))


abs, sin, cos, tanh = _each(math.fabs), _each(math.sin), _each(math.cos), _each(math.tanh)
sign = _each(lambda x: float((x > 0) - (x < 0)))
round = _each(builtins.round)
add, subtract = _pairs(lambda x, y: x + y), _pairs(lambda x, y: x - y)
multiply = _pairs(lambda x, y: _clipped(x * y))
maximum, minimum = _pairs(max), _pairs(min)
hypot, arctan2 = _pairs(math.hypot), _pairs(math.atan2)


def cumsum(a):
    return ndarray(itertools.accumulate(a.items))


def cumprod(a):
    return ndarray(itertools.accumulate(a.items, lambda x, y: _clipped(x * y)))


def sort(a):
    return ndarray(sorted(a.items))


def flip(a):
    return ndarray(reversed(a.items))
