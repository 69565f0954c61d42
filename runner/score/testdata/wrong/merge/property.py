# expect: failed structure: has a decorator
# official: solved
from abc import ABC, abstractmethod


class Calculate(ABC):
    """What both have in common."""

    @abstractmethod
    def custom_compute_1(self, a, x):
        ...

    @abstractmethod
    def custom_compute_2(self, b, y):
        ...

    def compute(self, a, b, c):
        x = 2 * a - b
        y = self.custom_compute_1(a, x)
        z = self.custom_compute_2(b, y)
        return z * x + c


class CalculateA(Calculate):

    def custom_compute_1(self, a, x):
        return 3 * (a * x) + 1

    @property
    def custom_compute_2(self):
        return lambda b, y: y - b


class CalculateB(Calculate):

    def custom_compute_1(self, a, x):
        return -3 * (a * x) + 1

    def custom_compute_2(self, b, y):
        return y - 4 * b


if __name__ == '__main__':
    args = (1, 2, 3)
    print(CalculateA().compute(*args))
    print(CalculateB().compute(*args))
