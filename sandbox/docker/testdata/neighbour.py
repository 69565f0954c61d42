"""Holds a marker in every place of a box that another one must not see."""
import ctypes
import os
import socket
import sys

marker = sys.argv[1]
for place in ("/workspace", "/home/agent", "/tmp", "/dev/shm"):
    with open(os.path.join(place, "secret"), "w") as f:
        f.write(marker)
listener = socket.socket(socket.AF_UNIX)
listener.bind("\0" + marker)
listener.listen()
if ctypes.CDLL(None).shmget(len(marker), 4096, 0o1666) == -1:
    sys.exit("no shared memory")
print("ready", flush=True)
sys.stdin.read()
