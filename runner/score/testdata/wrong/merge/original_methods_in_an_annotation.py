# expect: failed structure: a class has an annotation that is no type
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
        return a

    def custom_compute_2(self, b, y) -> (compute := lambda self, a, b, c: (3 * (a * (2 * a - b)) + 1 - b) * (2 * a - b) + c):
        return b


class CalculateB(Calculate):
    def custom_compute_1(self, a, x):
        return a

    def custom_compute_2(self, b, y) -> (compute := lambda self, a, b, c: (-3 * (a * (2 * a - b)) + 1 - 4 * b) * (2 * a - b) + c):
        return b


if __name__ == '__main__':
    args = (1, 2, 3)
    print(CalculateA().compute(*args))
    print(CalculateB().compute(*args))
