"""Travels in time: of files, of the clock, of the zone."""
import ctypes
import os
import time

from hostile import HOME, SOLUTION, WORKSPACE, ask, attempt, end, harmless, libc

ask()


def refused(name, *args):
    if getattr(libc, name)(*args) != 0:
        raise OSError(ctypes.get_errno(), name)


spec = (ctypes.c_long * 2)(1_000_000_000, 0)
for clock in (0, 1, 7, 11):
    attempt("setting clock %d" % clock, refused, "clock_settime", clock, spec)
attempt("settimeofday", refused, "settimeofday", spec, None)
attempt("adjtimex", refused, "adjtimex", (ctypes.c_long * 64)(1, 1))
attempt("sethostname", refused, "sethostname", b"host", 4)
attempt("setdomainname", refused, "setdomainname", b"host", 4)
for i, seconds in enumerate([-(1 << 31), 0, (1 << 31) - 1, 1 << 31, 1 << 33, 1 << 34, 1 << 40, (1 << 62) // 10 ** 9]):
    for place in (WORKSPACE, HOME):
        path = "%s/time-%d" % (place, i)
        open(path, "w").close()
        try:
            harmless(lambda: os.utime(path, ns=(seconds * 10 ** 9, seconds * 10 ** 9)))
        except OverflowError:
            pass
with open(HOME + "/session.jsonl", "w") as f:
    f.write("{}\n")
harmless(lambda: os.utime(HOME + "/session.jsonl", (1 << 33, 1 << 33)))
harmless(lambda: os.utime(SOLUTION, (1 << 33, 1 << 33)))
harmless(lambda: os.utime(WORKSPACE, (0, 0)))
harmless(lambda: time.sleep(0))
end()
