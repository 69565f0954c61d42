"""PID 1 of a scorer box.

Reads jobs from standard input and answers on standard output. A frame is a
four-byte length, a small JSON header of that length, and as many body bytes as
the header's "body" says. This process never looks into a job's body: it forks
a child per job, hands it the body, watches its limits from outside, forwards
its answer, and ends every other process before the next job. It keeps nothing
of a job, so that a child, which is a copy of it, finds nothing of an earlier
one."""

import ctypes
import gc
import json
import mmap
import os
import resource
import select
import signal
import struct
import sys
import time

MAX_HEADER = 1 << 16
MAX_SETUP = 1 << 20
MAX_ANSWER = 64 << 20
CHUNK = 1 << 16
TICK_MS = 20
ANSWER_FD = 3
BODY_FD = 4

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38

EPERM, ENOSYS = 1, 38
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
CLONE_THREAD = 0x10000

# What a child may not call, by machine: everything that reaches another
# process, starts one, talks to a network, or outlives the child.
DENIED = {
    "x86_64": (
        41, 53, 57, 58, 59, 62, 101, 129, 135, 141, 142, 144, 165, 200, 203, 234,
        29, 30, 64, 68, 240, 248, 249, 250, 251, 253, 256, 272, 279, 294, 297, 298,
        300, 303, 304, 308, 310, 311, 312, 314, 319, 321, 322, 323, 424, 425, 434, 438, 440,
    ),
    "aarch64": (
        198, 199, 221, 129, 117, 138, 92, 140, 118, 119, 40, 130, 122, 131,
        194, 196, 190, 186, 180, 217, 218, 219, 30, 26, 238, 97, 239, 240, 241,
        262, 264, 265, 268, 270, 271, 272, 274, 279, 280, 281, 282, 424, 425, 434, 438, 440,
    ),
}
# Audit architecture, and the numbers of clone, clone3 and prlimit64.
MACHINES = {"x86_64": (0xC000003E, 56, 435, 302), "aarch64": (0xC00000B7, 220, 435, 261)}


class Instruction(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint16), ("jt", ctypes.c_uint8),
        ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32),
    ]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("code", ctypes.POINTER(Instruction))]


def build_filter(machine):
    """The system call filter of children as (array, Program), or None for a
    machine whose call numbers are not known here."""
    if machine not in MACHINES:
        return None
    arch, clone, clone3, prlimit = MACHINES[machine]
    load, equal, at_least, bits, ret = 0x20, 0x15, 0x35, 0x45, 0x06
    lines = [
        (load, 0, 0, 4), (equal, 1, 0, arch), (ret, 0, 0, KILL),
        (load, 0, 0, 0), (at_least, 0, 1, 0x40000000), (ret, 0, 0, ERRNO | EPERM),
        (equal, 0, 1, clone3), (ret, 0, 0, ERRNO | ENOSYS),
        (equal, 0, 4, clone), (load, 0, 0, 16), (bits, 1, 0, CLONE_THREAD),
        (ret, 0, 0, ERRNO | EPERM), (ret, 0, 0, ALLOW),
        (equal, 0, 4, prlimit), (load, 0, 0, 16), (equal, 1, 0, 0),
        (ret, 0, 0, ERRNO | EPERM), (ret, 0, 0, ALLOW),
    ]
    for number in DENIED[machine]:
        lines += [(equal, 0, 1, number), (ret, 0, 0, ERRNO | EPERM)]
    lines.append((ret, 0, 0, ALLOW))
    code = (Instruction * len(lines))(*(Instruction(*line) for line in lines))
    return code, Program(len(lines), code)


FILTER = build_filter(os.uname().machine)


def prctl(option, *values):
    full = [ctypes.c_ulong(v) for v in values] + [ctypes.c_ulong(0)] * (4 - len(values))
    if LIBC.prctl(ctypes.c_int(option), *full) != 0:
        raise OSError(ctypes.get_errno(), "prctl %d" % option)


def read_exact(fd, size):
    """size bytes, or None at the end of the stream."""
    parts = []
    while size:
        part = os.read(fd, min(size, CHUNK))
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_header():
    prefix = read_exact(0, 4)
    if prefix is None:
        return None
    size = struct.unpack(">I", prefix)[0]
    if size > MAX_HEADER:
        raise ValueError("header of %d bytes" % size)
    text = read_exact(0, size)
    return None if text is None else json.loads(text)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def write_frame(header, body):
    header["body"] = len(body)
    text = json.dumps(header).encode()
    write_all(1, struct.pack(">I", len(text)) + text)
    write_all(1, body)


def end_of_host():
    """Without a reader there is nothing left to do; the box ends with us."""
    os._exit(0)


def pump(size, target):
    """Moves a job's body from standard input to a child through one buffer
    that is wiped afterwards."""
    buffer = bytearray(CHUNK)
    alive = True
    while size:
        got = os.readv(0, [memoryview(buffer)[:min(size, CHUNK)]])
        if not got:
            end_of_host()
        size -= got
        if alive:
            try:
                write_all(target, memoryview(buffer)[:got])
            except OSError:
                alive = False
    os.close(target)
    buffer[:] = bytes(CHUNK)


def settings():
    """What another process of our uid could have changed about us."""
    limits = [resource.getrlimit(kind) for kind in range(16)]
    return (
        limits, os.getpriority(os.PRIO_PROCESS, 0),
        os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)),
    )


def cpu_seconds(pid):
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def children_seconds():
    """The CPU time of all children that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Watch:
    """The limits of one running child. The counter that the child moves says
    which call it is in; each call has its own CPU and wall time."""

    def __init__(self, pid, counter, limits):
        self.pid, self.counter, self.limits = pid, counter, limits
        self.began = time.monotonic()
        self.count = -1
        self.wall = self.cpu = 0.0

    def at(self):
        return struct.unpack("=Q", self.counter[:8])[0]

    def evaluated(self):
        """Nanoseconds that the child says its calls took."""
        return struct.unpack("=Q", self.counter[8:16])[0]

    def broken(self):
        """The name of the limit that was reached, or None."""
        now, count = time.monotonic(), self.at()
        if now - self.began > self.limits["total"]:
            return "total"
        used = cpu_seconds(self.pid)
        if used > self.limits["total"]:
            return "total"
        if count != self.count:
            self.count, self.wall, self.cpu = count, now, used
            return None
        if used - self.cpu > self.limits["cpu"]:
            return "cpu"
        if now - self.wall > self.limits["wall"]:
            return "wall"
        return None


def collect(watch, source, buffer, limit):
    """Reads a child's answer until it ends; (how it ended, bytes read)."""
    poller = select.poll()
    poller.register(source, select.POLLIN)
    poller.register(0, 0)
    used = 0
    while True:
        for fd, event in poller.poll(TICK_MS):
            if fd == 0:
                if event & (select.POLLHUP | select.POLLERR):
                    end_of_host()
                continue
            got = os.readv(source, [memoryview(buffer)[used:limit + 1]])
            used += got
            if not got:
                return "ended", used
            if used > limit:
                return "answer", used
        reached = watch.broken()
        if reached:
            return reached, used


def wait_briefly(pid):
    """The status of a child that is about to end, or None."""
    for _ in range(200):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    return None


def end_everything(pid):
    """Kills and reaps all that runs beside us; gives up the box if that fails."""
    alone = os.getpid() == 1
    for _ in range(5000):
        try:
            os.kill(-1 if alone else pid, signal.SIGKILL)
        except OSError:
            pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)
    os._exit(71)


def place_descriptors(answer, body):
    """Leaves a child nothing but /dev/null, its answer pipe and its body."""
    answer, body = os.dup2(answer, 40, False), os.dup2(body, 41, False)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.dup2(answer, ANSWER_FD, False)
    os.dup2(body, BODY_FD, False)
    os.closerange(BODY_FD + 1, 4096)


def confine(limits):
    """Bounds the child for good: first to die when memory runs out, no core,
    no files, no other process."""
    prctl(PR_SET_DUMPABLE, 1)
    try:
        with open("/proc/self/oom_score_adj", "w") as adjust:
            adjust.write("1000")
    except OSError:
        pass
    prctl(PR_SET_DUMPABLE, 0)
    total = int(limits["total"]) + 1
    for kind, value in (
        (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CPU, total), (resource.RLIMIT_AS, int(limits["memory"])),
    ):
        resource.setrlimit(kind, (value, value))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if FILTER:
        prctl(PR_SET_SECCOMP, 2, ctypes.addressof(FILTER[1]))


def child(answer, body, counter, limits, work):
    """Runs one job and never returns."""
    try:
        os.setsid()
        place_descriptors(answer, body)
        confine(limits)
        with open(BODY_FD, "rb") as stream:
            data = stream.read()
        work(data, ANSWER_FD, memoryview(counter).cast("Q"))
        os._exit(0)
    except BaseException:
        os._exit(70)


def run_job(header, work, buffer):
    """One job from fork to the last process gone; (reply header, answer)."""
    limits = header["limits"]
    body_r, body_w = os.pipe()
    answer_r, answer_w = os.pipe()
    counter = mmap.mmap(-1, mmap.PAGESIZE)
    before = children_seconds()
    pid = os.fork()
    if pid == 0:
        child(answer_w, body_r, counter, limits, work)
    os.close(body_r)
    os.close(answer_w)
    pump(header["body"], body_w)
    watch = Watch(pid, counter, limits)
    end, used = collect(watch, answer_r, buffer, min(int(limits["answer"]), len(buffer) - 1))
    status = wait_briefly(pid) if end == "ended" else None
    if status is None or os.getpid() == 1:
        end_everything(pid)
    reply = {
        "job": header["job"], "end": end, "status": status, "at": watch.at(),
        "cpu": children_seconds() - before, "evaluated": watch.evaluated(),
    }
    os.close(answer_r)
    counter.close()
    return reply, memoryview(buffer)[:used]


def sweep():
    """Empties what is writable in the box; nothing should be."""
    for place in ("/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp"):
        if os.getpid() != 1 or not os.access(place, os.W_OK):
            continue
        for name in os.listdir(place):
            os.unlink(os.path.join(place, name))


def setup():
    """Loads the program that children run; returns its entry."""
    header = read_header()
    if header is None or header["body"] > MAX_SETUP:
        end_of_host()
    texts = json.loads(read_exact(0, header["body"]))
    space = {"__name__": "program", "STANDINS": texts["standins"]}
    exec(compile(texts["program"], "program.py", "exec"), space)
    return space


def serve():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # as PID 1: not delivered at all
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    space = setup()
    prctl(PR_SET_DUMPABLE, 0)
    buffer = mmap.mmap(-1, MAX_ANSWER + 1, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    before = settings()
    write_frame({
        "python": sys.version.split()[0], "numpy": space["numpy_version"](),
        "filter": FILTER is not None,
    }, b"")
    gc.collect()
    gc.freeze()
    while True:
        header = read_header()
        if header is None:
            end_of_host()
        reply, answer = run_job(header, space["work"], buffer)
        sweep()
        reply["tainted"] = settings() != before
        write_frame(reply, answer)
        buffer.madvise(mmap.MADV_DONTNEED)  # wipes it


if __name__ == "__main__":
    serve()
