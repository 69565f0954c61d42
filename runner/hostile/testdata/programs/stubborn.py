"""Ignores every signal that can be ignored, and never ends; or stops itself."""
import os
import signal
import time

from hostile import ARGS, ask, report, tried

ask()
for sig in range(1, 65):
    try:
        signal.signal(sig, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
tried()
report()
if "stop" in ARGS:
    os.kill(os.getpid(), signal.SIGSTOP)
while "silent" in ARGS:
    time.sleep(1000)
while True:
    pass
