"""Tries to look into PID 1, to change, stop, replace and end it."""
import ctypes
import glob
import os
import resource
import struct

from hostile import ask, attempt, call, end, libc, tried


def refused():
    raise OSError("nothing to read")


def read(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(fd, 64) or refused()
    finally:
        os.close(fd)


def write(path, data=b"\x00"):
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        return os.write(fd, data)
    finally:
        os.close(fd)


def syscall(name, number, *args):
    def action():
        ctypes.set_errno(0)
        result = libc.syscall(number, *args)
        if result == -1:
            raise OSError(ctypes.get_errno(), name)
        return result
    attempt(name, action)


ask()
tasks = ["/proc/1"] + glob.glob("/proc/1/task/*")
for task in tasks:
    for name in ("environ", "mem", "maps", "smaps", "auxv", "pagemap", "stack", "syscall", "io", "personality"):
        attempt("reading %s/%s" % (task, name), read, task + "/" + name)
    for name in ("mem", "clear_refs", "comm", "coredump_filter", "oom_score_adj", "sched", "uid_map", "gid_map",
                 "setgroups", "loginuid", "attr/current"):
        attempt("writing %s/%s" % (task, name), write, task + "/" + name)
    for name in ("fd", "fdinfo", "map_files", "root", "cwd"):
        attempt("listing %s/%s" % (task, name), os.listdir, task + "/" + name)
    for name in ("exe", "ns/mnt", "ns/pid", "ns/net"):
        attempt("following %s/%s" % (task, name), os.readlink, task + "/" + name)
    for fd in range(8):
        attempt("reading %s/fd/%d" % (task, fd), read, "%s/fd/%d" % (task, fd))
        attempt("writing %s/fd/%d" % (task, fd), write, "%s/fd/%d" % (task, fd), b"HTTP/1.1 200 OK\r\n\r\n")
for sig in range(1, 65):
    attempt("kill -%d 1" % sig, os.kill, 1, sig)
    for task in tasks[1:]:
        syscall("tgkill %d" % sig, 234, 1, int(os.path.basename(task)), sig)
buffer = ctypes.create_string_buffer(64)
ours, theirs = struct.pack("PN", ctypes.addressof(buffer), 64), struct.pack("PN", 0x400000, 64)
call("process_vm_readv", 310, 1, ours, 1, theirs, 1, 0)
call("process_vm_writev", 311, 1, ours, 1, theirs, 1, 0)
for name, request in (("traceme", 0), ("attach", 16), ("seize", 0x4206), ("peek", 2)):
    call("ptrace " + name, 101, request, 1, 0, 0)
call("kcmp", 312, os.getpid(), 1, 0, 1, 1)
pidfd = libc.syscall(434, 1, 0)
if pidfd >= 0:
    syscall("pidfd_send_signal", 424, pidfd, 9, None, 0)
    for fd in range(8):
        call("pidfd_getfd", 438, pidfd, fd, 0)
    syscall("setns", 308, pidfd, 0x00020000)
for kind in range(16):
    attempt("prlimit get %d" % kind, resource.prlimit, 1, kind)
    attempt("prlimit set %d" % kind, resource.prlimit, 1, kind, (0, 0))
attempt("sched_setaffinity", os.sched_setaffinity, 1, {0})
attempt("sched_setscheduler", os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0))
attempt("setpriority", os.setpriority, os.PRIO_PROCESS, 1, 19)
attempt("setpgid", os.setpgid, 1, os.getpid())
tried()
ask()  # and it still works
end()
