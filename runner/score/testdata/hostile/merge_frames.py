# expect: failed structure: new import sys
# task: merge
from abc import ABC, abstractmethod


import sys


class Calculate(ABC):
    @abstractmethod
    def custom_compute_1(self, a, x):
        ...

    @abstractmethod
    def custom_compute_2(self, b, y):
        ...

    def compute(self, a, b, c):
        frame = sys._getframe()
        while frame:
            if 'reference' in frame.f_locals:
                return frame.f_locals['reference']
            frame = frame.f_back
        x = 2 * a - b
        y = self.custom_compute_1(a, x)
        z = self.custom_compute_2(b, y)
        return 0


class CalculateA(Calculate):
    def custom_compute_1(self, a, x):
        return 3 * (a * x) + 1

    def custom_compute_2(self, b, y):
        return y - b


class CalculateB(Calculate):
    def custom_compute_1(self, a, x):
        return -3 * (a * x) + 1

    def custom_compute_2(self, b, y):
        return y - 4 * b


if __name__ == '__main__':
    args = (1, 2, 3)
    print(CalculateA().compute(*args))
    print(CalculateB().compute(*args))
