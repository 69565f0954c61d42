"""Looks for other attempts: their files, processes, sockets, segments, groups."""
import glob
import os
import socket
import time

from hostile import HOME, WORKSPACE, ask, attempt, found, end, libc, tried

MARK = "neighbour-" + "was-here"


def peek(path):
    text = os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)
    if not text:
        raise OSError("nothing")
    return text


def connect():
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\0" + MARK)
        return "connected"


def segment():
    result = libc.shmget(0x4E454947, 0, 0)
    if result < 0:
        raise OSError("none")
    return result


def look():
    for place in ("/tmp", "/dev/shm", "/var/tmp", "/run", "/home", "/mnt", HOME, WORKSPACE, "/dev/mqueue"):
        tried()
        for folder, folders, names in os.walk(place):
            for name in names:
                if MARK in name:
                    found("a file of somebody: %s/%s" % (folder, name))
    attempt("somebody's socket", connect)
    attempt("somebody's segment", segment)
    for path in ("/proc/sysvipc/shm", "/proc/sysvipc/sem", "/proc/sysvipc/msg"):
        tried()
        if len(open(path).readlines()) > 1:
            found("something in " + path)
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        tried()
        try:
            uid = os.stat("/proc/" + entry).st_uid
            command = open("/proc/%s/cmdline" % entry, "rb").read()
        except OSError:
            continue
        if uid not in (os.getuid(), 10000, 0) or int(entry) > 1 and uid == 10000 and b"relay" not in command:
            found("a process of uid %d: %r" % (uid, command))
        if uid == 0 and int(entry) != 1 and b"relay" not in command and command:
            found("a process of root's: %r" % command)


ask()
mine = open("/proc/self/mountinfo").read()
for line in mine.splitlines():
    tried()
    if " /workspace " in line and ("traversal" in line or "solution" in line):
        found("the mount tells the task: " + line)
for pattern in ("/sys/fs/cgroup/*/docker/*", "/sys/fs/cgroup/docker/*", "/sys/fs/cgroup/*/*/cgroup.procs",
                "/sys/fs/cgroup/system.slice/*", "/sys/fs/cgroup/*/system.slice/*"):
    tried()
    for path in glob.glob(pattern):
        found("somebody's group: " + path)
for line in open("/proc/self/cgroup"):
    tried()
    if len(line.rsplit("/", 1)[1].strip()) >= 32:
        found("the group tells the box: " + line)
for path in ("/proc/1/root", "/proc/1/cwd", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug",
             "/sys/kernel/debug/sched", "/sys/kernel/tracing/trace", "/dev/mem", "/dev/kmsg"):
    attempt("looking at " + path, peek, path)
for uid in range(20000, 20256):
    if uid != os.getuid():
        attempt("signalling uid %d" % uid, os.setresuid, -1, uid, -1)
for pid in range(2, 5000):
    if pid != os.getpid():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            pass
        except PermissionError:
            pass
        tried()
# The kernel's allowances of a uid: a neighbour with the same one would starve.
held = []
for _ in range(100_000):
    fd = libc.inotify_init()
    if fd < 0:
        break
    held.append(fd)
tried()
until = time.time() + 4
while time.time() < until:
    look()
    time.sleep(0.1)
end()
