"""Tries to write where nothing is its own: the root, the relay, the libraries."""
import os
import shutil

from hostile import ask, attempt, end, found, tried

ask()
before = open("/opt/cabra/relay", "rb").read()


def overwrite(path):
    with open(path, "r+b") as f:
        f.write(b"#!/bin/sh\n")
    return "written"


for path in ("/opt/cabra/relay", "/bin/sh", "/usr/bin/python3", "/etc/passwd", "/etc/hosts", "/etc/resolv.conf",
             "/etc/hostname", "/etc/ld.so.cache", "/lib/x86_64-linux-gnu/libc.so.6", "/proc/1/exe", "/proc/self/exe"):
    attempt("overwriting " + path, overwrite, path)
    attempt("making %s one's own" % path, os.chmod, path, 0o777)
    attempt("replacing " + path, os.replace, shutil.copy("/bin/true", "/tmp/true"), path)
for folder in ("/", "/opt", "/opt/cabra", "/bin", "/usr/bin", "/usr/local/bin", "/etc", "/etc/ld.so.conf.d", "/home",
               "/root", "/run", "/var/tmp", "/var/lib", "/srv", "/mnt", "/media", "/boot", "/dev", "/dev/mqueue",
               "/proc", "/sys", "/usr/lib/python3/dist-packages"):
    attempt("a file in " + folder, os.open, folder + "/mine", os.O_CREAT | os.O_WRONLY, 0o600)
    attempt("a folder in " + folder, os.mkdir, folder + "/mine.d")
    attempt("moving " + folder, os.rename, folder, "/tmp/moved")
tried()
if open("/opt/cabra/relay", "rb").read() != before:
    found("the relay has changed")
end()
