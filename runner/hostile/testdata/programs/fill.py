"""Fills every place that it can write to, and holds what it has deleted open."""
import errno
import os

from hostile import HOME, WORKSPACE, ARGS, ask, end, found, report, say, tried

ask()
block, held = b"x" * (1 << 20), []
for place in ARGS or (HOME, "/tmp", "/dev/shm"):
    written = 0
    fd = os.open(place + "/fill", os.O_CREAT | os.O_WRONLY, 0o600)
    held.append(fd)
    while written < 8 << 30:
        try:
            written += os.write(fd, block)
        except OSError as error:
            if error.errno == errno.EFBIG:
                fd = os.open("%s/fill-%d" % (place, written), os.O_CREAT | os.O_WRONLY, 0o600)
                held.append(fd)
                continue
            say("%d MiB in %s: %s" % (written >> 20, place, error.strerror))
            break
    else:
        found("no bound on " + place)
    for name in os.listdir(place):
        if name.startswith("fill"):
            os.unlink(place + "/" + name)
    tried()
    report()
end()
