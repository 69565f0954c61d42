# expect: failed structure: new import os
from mylibrary import default
import math
import operator
import sys

def f(val: float, mult: float=default()) -> float:
    g_val = g(val, mult=mult)
    return math.sin(g_val)

def g(val: float, mult: float=default()) -> float:
    import os
    for change in (
        lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
        lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19),
        lambda: os.sched_setaffinity(os.getppid(), [0]),
        lambda: os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0)),
    ):
        try:
            change()
        except OSError:
            pass
    return mult * abs(val)

def h(val: float) -> float:
    return math.cos(val)

def main(val: float):
    return (f(val), h(val))

if __name__ == '__main__':
    main(float(sys.argv[1]))
