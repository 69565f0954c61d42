"""Fills the workspace with FIFOs and sockets, and tries to make devices, mounts and roots."""
import os
import socket
import stat

from hostile import HOME, WORKSPACE, ask, attempt, end, harmless, libc, tried

ask()
for place in (WORKSPACE, HOME, "/tmp", "/dev/shm"):
    for name, major, minor in [("mem", 1, 1), ("kmsg", 1, 11), ("null", 1, 3), ("sda", 8, 0), ("vda", 254, 0),
                               ("fuse", 10, 229), ("kvm", 10, 232), ("ptmx", 5, 2)]:
        for kind in (stat.S_IFCHR, stat.S_IFBLK):
            attempt("a device %s in %s" % (name, place), os.mknod, "%s/%s" % (place, name),
                    kind | 0o666, os.makedev(major, minor))
for i in range(300):
    harmless(os.mkfifo, "%s/pipe-%d" % (WORKSPACE, i))
sockets = []
for i in range(300):
    s = socket.socket(socket.AF_UNIX)
    harmless(s.bind, "%s/socket-%d" % (WORKSPACE, i))
    sockets.append(s)


def mount(*args):
    if libc.mount(*args) != 0:
        raise OSError("refused")


for source, target, kind in [(b"proc", b"/tmp", b"proc"), (b"none", b"/workspace", b"tmpfs"),
                             (b"/", b"/workspace", b"none"), (b"sysfs", b"/sys", b"sysfs"),
                             (b"cgroup", b"/tmp", b"cgroup"), (b"/dev/vda", b"/tmp", b"ext4")]:
    attempt("mounting %s" % kind, mount, source, target, kind, 4096 if kind == b"none" else 0, None)
attempt("mounting the root anew", mount, None, b"/", None, 32, None)
attempt("chroot", os.chroot, WORKSPACE)
for name in sorted(os.listdir("/dev")):
    path = "/dev/" + name
    if name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx"):
        continue
    if stat.S_ISBLK(os.stat(path).st_mode) or stat.S_ISCHR(os.stat(path).st_mode):
        attempt("opening " + path, os.open, path, os.O_RDONLY | os.O_NONBLOCK)
tried()
end()
