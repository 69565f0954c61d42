"""Leaves orphans that end at once, and waits until PID 1 has reaped them."""
import os
import time


def zombies():
    n = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as f:
                n += f.read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            pass
    return n


for _ in range(100):
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
end = time.time() + 60
while zombies() and time.time() < end:
    time.sleep(0.01)
print("zombies", zombies())
