"""Ends at once and flees: every process forks one and dies, so that none is there
for long, and the last ones hold what a reader of the files could trip over."""
import fcntl
import os
import signal

from hostile import HOME, SOLUTION, ask, end, tried

ask()
tried()
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        null = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        while True:
            if os.fork():
                os._exit(0)
            os.setpgid(0, 0)
if os.fork() == 0:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    held = [os.open(SOLUTION, os.O_RDWR), os.open(HOME + "/session.jsonl", os.O_CREAT | os.O_RDWR)]
    for fd in held:
        for ask_for in (lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK), lambda: fcntl.flock(fd, fcntl.LOCK_EX),
                        lambda: fcntl.lockf(fd, fcntl.LOCK_EX)):
            try:
                ask_for()
            except OSError:
                pass
    while True:
        signal.pause()
tried(21)
end()
