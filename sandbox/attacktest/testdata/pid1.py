"""Tries to look into PID 1, to change it and to end it, as the agent.

Prints one line for everything that succeeded: "BREACH what: result".
"""
import ctypes
import glob
import os
import resource
import struct

libc = ctypes.CDLL(None, use_errno=True)


def attempt(what, action):
    """The attack counts as a success when action does not raise."""
    try:
        result = action()
    except OSError:
        return
    print("BREACH %s: %r" % (what, result), flush=True)


def call(name, number, *args):
    """A raw system call; -1 raises."""
    def action():
        ctypes.set_errno(0)
        result = libc.syscall(number, *args)
        if result == -1:
            raise OSError(ctypes.get_errno(), name)
        return result
    return action


def read(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.read(fd, 64)
    finally:
        os.close(fd)


def write(path, data=b"\x00"):
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    try:
        return os.write(fd, data)
    finally:
        os.close(fd)


def files():
    secret = ["environ", "mem", "maps", "smaps", "numa_maps", "auxv", "pagemap", "stack", "syscall", "io",
              "personality", "patch_state", "timers", "ksm_stat"]
    for task in ["/proc/1"] + glob.glob("/proc/1/task/*"):
        for name in secret:
            # An empty answer is the kernel's other way to say no.
            attempt("reading %s/%s" % (task, name), lambda: read(task + "/" + name) or _refused())
        for name in ["mem", "clear_refs", "comm", "coredump_filter", "oom_score_adj", "oom_adj", "sched",
                     "timerslack_ns", "uid_map", "gid_map", "setgroups", "loginuid", "autogroup", "attr/current"]:
            attempt("writing %s/%s" % (task, name), lambda: write(task + "/" + name))
        for name in ["fd", "fdinfo", "map_files", "ns", "root", "cwd"]:
            attempt("listing %s/%s" % (task, name), lambda: os.listdir(task + "/" + name) if name != "ns"
                    else os.readlink(task + "/ns/mnt"))
        for fd in range(8):
            path = "%s/fd/%d" % (task, fd)
            attempt("reading " + path, lambda: read(path))
            attempt("writing " + path, lambda: write(path, b"HTTP/1.1 200 OK\r\n\r\n"))
        attempt("following %s/exe" % task, lambda: os.readlink(task + "/exe"))


def _refused():
    raise OSError("nothing to read")


def signals():
    threads = [int(os.path.basename(t)) for t in glob.glob("/proc/1/task/*")]
    for sig in range(0, 65):
        attempt("kill -%d" % sig, lambda: os.kill(1, sig))
        for thread in threads:
            attempt("tgkill -%d" % sig, call("tgkill", 234, 1, thread, sig))
    pidfd = libc.syscall(434, 1, 0)  # pidfd_open
    if pidfd >= 0:
        attempt("pidfd_send_signal", call("pidfd_send_signal", 424, pidfd, 15, None, 0))
        for fd in range(8):
            attempt("pidfd_getfd", call("pidfd_getfd", 438, pidfd, fd, 0))
        attempt("process_madvise", call("process_madvise", 440, pidfd, None, 0, 21, 0))
        attempt("setns", call("setns", 308, pidfd, 0x00020000))


def memory():
    buffer = ctypes.create_string_buffer(64)
    ours = struct.pack("PN", ctypes.addressof(buffer), 64)
    theirs = struct.pack("PN", 0x400000, 64)
    for name, number in [("process_vm_readv", 310), ("process_vm_writev", 311)]:
        attempt(name, call(name, number, 1, ours, 1, theirs, 1, 0))
    for name, request in [("attach", 16), ("seize", 0x4206), ("peek", 2)]:
        attempt("ptrace " + name, call("ptrace", 101, request, 1, 0, 0))
    attempt("kcmp", call("kcmp", 312, os.getpid(), 1, 0, 1, 1))
    attempt("migrate_pages", call("migrate_pages", 256, 1, 1, struct.pack("L", 1), struct.pack("L", 1)))
    attempt("move_pages", call("move_pages", 279, 1, 1, struct.pack("P", 0x400000), None, struct.pack("i", 0), 0))


def limits():
    for kind in range(16):
        attempt("prlimit get %d" % kind, lambda: resource.prlimit(1, kind))
        attempt("prlimit set %d" % kind, lambda: resource.prlimit(1, kind, (0, 0)))
    attempt("sched_setaffinity", lambda: os.sched_setaffinity(1, {0}))
    attempt("sched_setscheduler", lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
    attempt("setpriority", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
    attempt("ioprio_set", call("ioprio_set", 251, 1, 1, 0x6007))
    attempt("setpgid", lambda: os.setpgid(1, os.getpid()))


files()
memory()
limits()
signals()
print("tried everything")
