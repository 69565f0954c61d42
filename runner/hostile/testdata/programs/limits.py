"""Tries to change its own limits, the box's, and the kernel's settings."""
import glob
import os
import resource

from hostile import ask, attempt, end, harmless, tried

ask()
for kind in range(16):
    soft, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        attempt("raising limit %d above %d" % (kind, hard), resource.setrlimit, kind, (hard, hard + 1))
        attempt("lifting limit %d" % kind, resource.setrlimit, kind,
                (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def write(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        return os.write(fd, text)
    finally:
        os.close(fd)


own = {"/proc/sys/kernel/ns_last_pid"}
for top in ("/proc/sys", "/sys"):
    for folder, folders, names in os.walk(top):
        for name in names:
            path = folder + "/" + name
            if os.path.islink(path) or path in own:
                continue
            if os.access(path, os.W_OK):
                attempt("writing " + path, write, path, b"1")
            else:
                tried()
for path in glob.glob("/sys/fs/cgroup/*/cgroup.procs") + ["/sys/fs/cgroup/cgroup.procs"]:
    attempt("leaving by " + path, write, path, str(os.getpid()).encode())
for path in glob.glob("/sys/fs/cgroup/*"):
    attempt("a group in " + path, os.mkdir, path + "/mine")
null = os.stat("/dev/null").st_rdev
for name in ("sysrq-trigger", "kcore", "kmsg", "mem", "kpagecount", "pressure/memory", "timer_list", "keys"):
    # What is masked is /dev/null.
    if not os.path.exists("/proc/" + name) or os.stat("/proc/" + name).st_rdev != null:
        attempt("writing /proc/" + name, write, "/proc/" + name, b"b")
attempt("nice -20", os.nice, -20)
attempt("real-time", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(50))
attempt("sync priority", os.setpriority, os.PRIO_USER, os.getuid(), -20)
for uid in (0, 1, 10000, 20000, 20255):
    if uid != os.getuid():
        attempt("setuid %d" % uid, os.setuid, uid)
        attempt("setgid %d" % uid, os.setgid, uid)
        attempt("setgroups %d" % uid, os.setgroups, [uid])
harmless(write, "/proc/self/oom_score_adj", b"0")
attempt("oom_score_adj", write, "/proc/self/oom_score_adj", b"-1000")
end()
