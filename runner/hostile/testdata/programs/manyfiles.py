"""Makes as many files as it is let, in every place that it can write to."""
import os

from hostile import HOME, WORKSPACE, ask, end, report, say, tried

ask()
for place in (WORKSPACE, HOME, "/tmp", "/dev/shm"):
    made = 0
    try:
        os.makedirs(place + "/many", exist_ok=True)
        fd = os.open(place + "/many", os.O_RDONLY)
        while made < 3_000_000:
            os.close(os.open("f%d" % made, os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=fd))
            made += 1
            tried()
            if made % 10_000 == 0:
                report()
    except OSError as error:
        say("%d files in %s: %s" % (made, place, error.strerror))
    else:
        say("FOUND no bound on the files in " + place)
    report()
end()
