"""Takes memory until there is none, in this process or in files on tmpfs."""
import sys

if sys.argv[1] == "heap":
    held = []
    while True:
        held.append(bytearray(b"x") * (8 << 20))
for n in range(100000):
    with open("/tmp/%d" % n, "wb") as f:
        f.write(b"x" * (1 << 20))
