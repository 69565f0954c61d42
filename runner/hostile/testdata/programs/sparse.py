"""Makes files that are far longer than what is in them."""
import os
import signal
import time

from hostile import HOME, WORKSPACE, ask, attempt, end, harmless, report, tried

ask()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def sparse(path, size):
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        os.ftruncate(fd, size)
    finally:
        os.close(fd)


for place in (WORKSPACE, HOME, "/tmp", "/dev/shm"):
    for size in (5 << 30, 1 << 40, (1 << 63) - 1):
        attempt("%d bytes in %s" % (size, place), sparse, place + "/sparse", size)
for i in range(40):
    harmless(sparse, "%s/sparse-%d" % (WORKSPACE, i), 256 << 20)
    harmless(sparse, "%s/session-%d.jsonl" % (HOME, i), 256 << 20)
tried()
report()
time.sleep(1000)
