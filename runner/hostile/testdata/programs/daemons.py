"""Ends at once and leaves daemons that go on writing to the solution, the home
and the output, swapping files and links while somebody may be reading them."""
import os
import signal
import sys
import time

from hostile import ARGS, HOME, SOLUTION, WORKSPACE, ask, end, tried


def daemon(work):
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(sig, signal.SIG_IGN)
    if "quiet" in ARGS:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
    n = 0
    while True:
        try:
            work(n)
        except OSError:
            pass
        n += 1


def count(n):
    with open(SOLUTION, "w") as f:
        f.write("# %d\n" % n)


def swap(n):
    temp = "%s/swap-%d" % (WORKSPACE, n)
    if n % 2:
        os.symlink("/etc/passwd", temp)
    else:
        with open(temp, "w") as f:
            f.write("# late %d\n" % n)
    os.rename(temp, SOLUTION)


def session(n):
    with open(HOME + "/session.jsonl", "a") as f:
        f.write('{"late": %d}\n' % n)
    time.sleep(0.01)


def chatter(n):
    os.write(1, b"late\n")
    time.sleep(0.01)


ask()
tried()
sys.stdout.flush()
for work in (count, swap, session, chatter):
    daemon(work)
end()
