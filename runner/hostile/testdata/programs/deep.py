"""Nests folders as deep as it can, a hundred thousand levels in all."""
import os
import time

from hostile import HOME, WORKSPACE, ARGS, ask, end, report, say, tried

ask()
for place in (WORKSPACE, "/tmp", HOME):
    made = 0
    os.makedirs(place + "/session.jsonl", exist_ok=True)
    os.chdir(place + "/session.jsonl")
    try:
        while made < 100_000:
            os.mkdir("d")
            os.chdir("d")
            made += 1
            tried()
            if made % 1000 == 0:
                report()
    except OSError as error:
        say("%d levels in %s: %s" % (made, place, error.strerror))
    report()
os.chdir("/")
if "stay" in ARGS:
    time.sleep(1000)
end()
