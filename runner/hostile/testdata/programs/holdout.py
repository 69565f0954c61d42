"""Ends at once, with a child that holds its output open for ever and says nothing."""
import os
import signal

from hostile import ask, end, tried

ask()
tried()
if os.fork() == 0:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    while True:
        signal.pause()
end()
