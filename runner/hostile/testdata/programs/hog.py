"""Takes all of a machine that it is let: processors, or disks."""
import os
import time

from hostile import ARGS, WORKSPACE, ask, end, harmless, tried

ask()
until = time.time() + 8


def cpu():
    n = 0
    while time.time() < until:
        n = (n * 1103515245 + 12345) & 0xFFFFFFFF


def disk():
    block = os.urandom(1 << 20)
    n = 0
    while time.time() < until:
        n += 1
        path = "%s/hog-%d-%d" % (WORKSPACE, os.getpid(), n % 4)
        with open(path, "wb") as f:
            for _ in range(8):
                f.write(block)
            f.flush()
            os.fsync(f.fileno())
        os.sync()
        harmless(os.stat, "/" + "x" * (n % 200))
        with open("/usr/bin/gcc", "rb", buffering=0) as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            f.read()


children = []
for _ in range(60 if ARGS[0] == "cpu" else 6):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            {"cpu": cpu, "disk": disk}[ARGS[0]]()
            code = 0
        finally:
            os._exit(code)
    children.append(child)
for child in children:
    if os.waitpid(child, 0)[1] == 0:
        tried()
end()
