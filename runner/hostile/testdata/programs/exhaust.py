"""Uses up whatever is counted: files, inodes, processes, threads, watches, pipes,
timers, queues, semaphores, segments, signals, locks, epolls."""
import ctypes
import errno
import fcntl
import os
import resource
import socket
import threading

from hostile import ask, end, found, libc, report, say, tried

most = 3_000_000
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def use_up(what, action, bound=most):
    """Until it fails."""
    n, held, why = 0, [], "bound reached"
    try:
        while n < bound:
            held.append(action(n))
            n += 1
    except (OSError, RuntimeError, MemoryError, OverflowError) as error:
        why = str(error)
    else:
        found("no end of " + what)
    say("%d of %s: %s" % (n, what, why))
    tried(n + 1)
    for thing in held:
        if isinstance(thing, int) and thing > 2:
            os.close(thing)
        elif isinstance(thing, tuple):
            for fd in thing:
                os.close(fd)


def checked(name, *args):
    result = getattr(libc, name)(*args)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def big_pipe(_):
    ends = os.pipe()
    try:
        fcntl.fcntl(ends[1], 1031, 1 << 20)
    except OSError:
        pass
    try:
        os.set_blocking(ends[1], False)
        os.write(ends[1], b"x" * (1 << 20))
    except OSError:
        pass
    return ends


def sleeper(_):
    child = os.fork()
    if child == 0:
        while True:
            libc.pause()
    return -child


def segment(n):
    checked("shmget", 0x1000 + n, 1 << 20, 0o1600)


def semaphores(n):
    checked("semget", 0x1000 + n, 250, 0o1600)


def queue(n):
    checked("msgget", 0x1000 + n, 0o1600)


ask()
use_up("files", lambda _: os.open("/dev/null", os.O_RDONLY))
use_up("pipes", big_pipe)
use_up("sockets", lambda _: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].detach())
use_up("inotify", lambda _: checked("inotify_init"))
watcher = libc.inotify_init()
use_up("epolls", lambda _: checked("epoll_create1", 0))
use_up("timers", lambda _: checked("timerfd_create", 0, 0))
use_up("memories", lambda n: checked("memfd_create", b"m", 0))
use_up("message queues", queue, 100_000)
use_up("semaphore sets", semaphores, 100_000)
use_up("segments", segment, 100_000)
use_up("posix queues", lambda n: checked("mq_open", b"/q%d" % n, os.O_CREAT | os.O_RDWR, 0o600, None), 100_000)
use_up("terminals", lambda _: os.openpty())
use_up("processes", sleeper, 100_000)
use_up("threads", lambda _: threading.Thread(target=libc.pause, daemon=True).start(), 100_000)
report()
os._exit(0)
