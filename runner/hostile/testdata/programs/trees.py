"""Deletes everything that it can, itself included."""
import os
import shutil

from hostile import HOME, WORKSPACE, ask, attempt, end, tried

ask()
for place in ("/opt/cabra", "/usr/bin", "/etc", "/proc/1", "/sys/fs/cgroup"):
    for name in os.listdir(place)[:50]:
        attempt("deleting %s/%s" % (place, name), os.unlink, place + "/" + name)
for place in (WORKSPACE, HOME, "/tmp", "/dev/shm"):
    for name in os.listdir(place):
        path = place + "/" + name
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    attempt("removing " + place, os.rmdir, place)
    tried()
end()
