"""Takes memory until there is none: its own, or that of files."""
import mmap
import os

from hostile import ARGS, ask, report, tried

ask()
tried()
report()
if ARGS[0] == "heap":
    held = []
    while True:
        held.append(bytearray(b"x") * (8 << 20))
if ARGS[0] == "children":  # the first one lives on
    while True:
        if os.fork() == 0:
            held = mmap.mmap(-1, 64 << 20)
            while True:
                for at in range(0, len(held), 4096):
                    held[at] = 1
for n in range(100_000):
    for place in ("/tmp", "/dev/shm", "/workspace", os.environ["HOME"]):
        try:
            with open("%s/%d" % (place, n), "wb") as f:
                f.write(b"x" * (1 << 20))
        except OSError:
            pass
