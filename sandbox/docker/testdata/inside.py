"""Tries to get out of a box, from inside of it, as the agent.

Reads one JSON object from standard input: {"addresses": ["ip:port", ...],
"marker": text that other boxes and the host hold, "words": texts that must be
seen nowhere, "env": the whole environment}. Prints one JSON object per check:
{"check": name, "held": bool, "detail": text}.
"""
import ctypes
import errno
import json
import mmap
import os
import platform
import resource
import signal
import socket
import stat
import sys

libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"


def report(check, held, detail=""):
    print(json.dumps({"check": check, "held": bool(held), "detail": str(detail)[:2000]}), flush=True)


def refused(check, action):
    """The action has to fail with an OSError."""
    try:
        result = action()
    except OSError as e:
        report(check, True, e)
    else:
        report(check, False, "worked: %r" % (result,))


# Numbers of system calls on x86-64 and arm64.
CALLS = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "bpf": (321, 280), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "perf_event_open": (298, 241), "init_module": (175, 105), "finit_module": (313, 273),
    "kexec_load": (246, 104), "open_by_handle_at": (304, 265), "personality": (135, 92),
    "swapon": (167, 224), "reboot": (169, 142), "acct": (163, 89), "syslog": (103, 116),
    "pidfd_getfd": (438, 438), "fsopen": (430, 430), "fsmount": (432, 432), "move_mount": (429, 429),
    "open_tree": (428, 428), "mount_setattr": (442, 442), "quotactl": (179, 60), "kcmp": (312, 272),
    "settimeofday": (164, 170), "clock_adjtime": (305, 266), "process_madvise": (440, 440),
    "lookup_dcookie": (212, 18), "fanotify_init": (300, 262), "sethostname": (170, 161),
    "iopl": (172, None), "ioperm": (173, None), "memfd_secret": (447, 447), "seccomp": (317, 277),
    "prlimit64": (302, 261), "clone": (56, 220), "name_to_handle_at": (303, 264),
}


def call(name, *args):
    number = CALLS[name][1 if ARM else 0]
    if number is None:
        raise OSError(errno.ENOSYS, "no such call here")
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def syscalls():
    newuser, newnet, newns = 0x10000000, 0x40000000, 0x20000
    attach = 16
    tries = {
        "ptrace": (attach, 1, 0, 0), "process_vm_readv": (os.getpid(), 0, 0, 0, 0, 0),
        "process_vm_writev": (os.getpid(), 0, 0, 0, 0, 0),
        "mount": (b"none", b"/tmp", b"tmpfs", 0, 0), "umount2": (b"/tmp", 0), "pivot_root": (b"/tmp", b"/tmp"),
        "chroot": (b"/tmp",), "setns": (os.open("/proc/self/ns/net", os.O_RDONLY), 0),
        "keyctl": (0, -3, 0), "add_key": (b"user", b"x", b"y", 1, -3), "request_key": (b"user", b"x", 0, -3),
        "bpf": (0, ctypes.create_string_buffer(128), 128), "userfaultfd": (1,),
        "io_uring_setup": (4, ctypes.create_string_buffer(256)),
        "perf_event_open": (ctypes.create_string_buffer(128), 0, -1, -1, 0),
        "init_module": (0, 0, b""), "finit_module": (0, b"", 0), "kexec_load": (0, 0, 0, 0),
        "open_by_handle_at": (-100, ctypes.create_string_buffer(128), 0), "personality": (0x0040000,),
        "swapon": (b"/tmp", 0), "reboot": (0xfee1dead, 672274793, 0), "acct": (0,), "syslog": (3, 0, 0),
        "pidfd_getfd": (0, 0, 0), "fsopen": (b"tmpfs", 0), "fsmount": (0, 0, 0), "move_mount": (0, b"", 0, b"", 0),
        "open_tree": (-100, b"/", 1), "mount_setattr": (-100, b"/", 0, 0, 0), "quotactl": (0, 0, 0, 0),
        "kcmp": (1, os.getpid(), 0, 0, 0), "settimeofday": (ctypes.create_string_buffer(16), 0),
        "process_madvise": (0, 0, 0, 0, 0), "lookup_dcookie": (0, 0, 0), "fanotify_init": (0, 0),
        "sethostname": (b"x", 1), "iopl": (3,), "ioperm": (0x80, 1, 1),
    }
    for name, args in tries.items():
        refused("call " + name, lambda: call(name, *args))
    refused("call ptrace(TRACEME)", lambda: call("ptrace", 0, 0, 0, 0))
    for what, flag in {"user": newuser, "net": newnet, "mount": newns}.items():
        refused("new %s namespace" % what, lambda: call("unshare", flag))
        refused("clone into new %s namespace" % what, lambda: clone(flag))
    refused("set uid 0", lambda: os.setuid(0))
    refused("set groups", lambda: os.setgroups([0]))
    for what, mode in {"character": stat.S_IFCHR, "block": stat.S_IFBLK}.items():
        refused("make %s device" % what, lambda: os.mknod("/tmp/device", mode | 0o666, os.makedev(1, 3)))
    refused("raise hard limit", lambda: limits(resource.RLIMIT_NOFILE, 1 << 20))


def clone(flags):
    pid = call("clone", flags | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def limits(which, value):
    try:
        resource.setrlimit(which, (value, value))
    except ValueError as e:
        raise OSError(errno.EPERM, str(e))


def interfaces_of_other_widths():
    """32-bit and x32 system calls go around a filter that knows neither."""
    if ARM:
        return
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    getpid = ctypes.CFUNCTYPE(ctypes.c_int)(address)
    report("32-bit calls", in_child(lambda: getpid() == os.getpid()))
    report("x32 calls", in_child(lambda: libc.syscall(ctypes.c_long(0x40000000 + 39)) == os.getpid()))


def in_child(attempt):
    """True when the attempt fails or kills its process."""
    pid = os.fork()
    if pid == 0:
        os._exit(99 if attempt() else 0)
    _, status = os.waitpid(pid, 0)
    return not (os.WIFEXITED(status) and os.WEXITSTATUS(status) == 99)


def sockets():
    for family in range(0, 64):
        if family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
            continue
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            try:
                socket.socket(family, kind, 0).close()
            except OSError:
                continue
            report("socket family %d" % family, False, "kind %d" % kind)
            break
        else:
            report("socket family %d" % family, True)
    for protocol in range(1, 24):
        refused("netlink protocol %d" % protocol,
                lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol))
    refused("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()  # what the relay needs works
    report("interfaces", [name for _, name in socket.if_nameindex()] == ["lo"], socket.if_nameindex())


def network(addresses):
    refused("DNS", lambda: socket.getaddrinfo("example.com", 80))
    for address in addresses:
        host, _, port = address.rpartition(":")
        refused("TCP to " + address, lambda: socket.create_connection((host, int(port)), timeout=5))
        if host.startswith("127."):
            continue  # the box's own
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        refused("UDP to " + address, lambda: udp.sendto(b"x", (host, int(port))))


ALLOWED = ("/workspace", "/home/agent", "/tmp", "/dev/shm")
DEVICES = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx",
           "/dev/pts/ptmx"}


def inside(path, places):
    return any(path == p or path.startswith(p + "/") for p in places)


def own_process(path):
    part = path.split("/")
    if len(part) < 3 or part[1] != "proc":
        return False
    if part[2] in ("self", "thread-self"):
        return True
    try:
        return part[2].isdigit() and os.stat("/proc/" + part[2]).st_uid == os.getuid()
    except OSError:
        return True  # has ended


def takes_writing(path):
    try:
        file = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        if os.fstat(file).st_rdev == os.makedev(1, 3):
            return False  # masked by /dev/null
        if path.startswith("/proc/"):
            os.write(file, b"1")  # some of these only look at the writer then
        return True
    except OSError:
        return False
    finally:
        os.close(file)


def writable():
    """Everything that can be written to, found by trying."""
    found, tried = [], 0
    for folder, folders, files in os.walk("/"):
        if inside(folder, ALLOWED) or own_process(folder + "/x"):
            folders[:] = []
            continue
        tried += 1
        name = os.path.join(folder, "cabra-probe")
        try:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.unlink(name)
            found.append(folder + "/")
        except OSError:
            pass
        for f in files:
            path = os.path.join(folder, f)
            if path in DEVICES or own_process(path) or os.path.islink(path):
                continue
            tried += 1
            if takes_writing(path):
                found.append(path)
    report("writable places", not found and tried > 1000, "%d tried, found %s" % (tried, found[:50]))
    for place in ALLOWED:  # and these work
        name = os.path.join(place, "probe")
        with open(name, "w") as f:
            f.write("x")
        os.unlink(name)


def processes():
    for name in ("environ", "mem", "maps", "auxv", "syscall", "stack", "io", "pagemap"):
        refused("read /proc/1/" + name, lambda: open("/proc/1/" + name, "rb").read(1))
    for name in ("fd", "fdinfo", "task/1/fd", "map_files"):
        refused("list /proc/1/" + name, lambda: os.listdir("/proc/1/" + name))
    for name in ("root", "cwd", "exe"):
        refused("follow /proc/1/" + name, lambda: os.readlink("/proc/1/" + name))
    for name in ("fd/0", "fd/1", "mem", "oom_score_adj", "comm", "clear_refs"):
        refused("write /proc/1/" + name, lambda: os.open("/proc/1/" + name, os.O_WRONLY))
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, 0):
        refused("signal %d to PID 1" % number, lambda: os.kill(1, number))
    new = (ctypes.c_ulong * 2)(0, 0)
    refused("prlimit of PID 1", lambda: call("prlimit64", 1, resource.RLIMIT_NOFILE, ctypes.byref(new), 0))


def status():
    fields = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    get = lambda name: fields[name].strip()
    report("no new privileges", get("NoNewPrivs") == "1", get("NoNewPrivs"))
    report("seccomp filter", get("Seccomp") == "2", get("Seccomp"))
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        report(name, int(get(name), 16) == 0, get(name))
    ids = set(get("Uid").split()) | set(get("Gid").split()) | set(get("Groups").split())
    report("uid and groups", ids == {str(os.getuid())}, ids)
    report("core size", resource.getrlimit(resource.RLIMIT_CORE) == (0, 0))
    report("open files", resource.getrlimit(resource.RLIMIT_NOFILE) == (4096, 4096))
    report("file size", resource.getrlimit(resource.RLIMIT_FSIZE) == (256 << 20, 256 << 20))
    report("message queues", resource.getrlimit(resource.RLIMIT_MSGQUEUE) == (0, 0))


def space():
    """The bounded places end where they should."""
    for place, limit in {"/tmp": 256 << 20, "/home/agent": 512 << 20, "/dev/shm": 16 << 20}.items():
        v = os.statvfs(place)
        report("size of " + place, v.f_blocks * v.f_frsize == limit, v.f_blocks * v.f_frsize)
    with open("/workspace/large", "wb") as f:
        try:
            os.truncate(f.fileno(), (256 << 20) + 1)
            report("file size limit", False)
        except OSError as e:
            report("file size limit", True, e)
    os.unlink("/workspace/large")


def host_facts(words, env):
    seen = dict(os.environ)
    seen.pop("LC_CTYPE", None)  # set by Python itself
    report("environment", seen == env, seen)
    report("host name", socket.gethostname() == "box", socket.gethostname())
    texts = {"environment": repr(dict(os.environ))}
    for path in ("/proc/self/mountinfo", "/proc/self/cgroup", "/proc/1/cmdline", "/etc/resolv.conf", "/etc/hosts",
                 "/etc/hostname", "/proc/self/environ", "/proc/cmdline"):
        try:
            texts[path] = open(path, errors="replace").read()
        except OSError:
            pass
    for word in words:
        hits = [where for where, text in texts.items() if word in text]
        report("word %r" % word, not hits, hits)
    for path in ("/proc/kcore", "/proc/kmsg", "/dev/mem", "/dev/kmsg", "/proc/sysrq-trigger", "/dev/vsock", "/dev/kvm",
                 "/dev/fuse", "/dev/net/tun", "/var/run/docker.sock", "/run/docker.sock"):
        refused("open " + path, lambda: os.open(path, os.O_RDWR | os.O_NONBLOCK))
    report("/proc/keys", open("/proc/keys").read() == "")


def others(marker):
    """Nothing of another box or the host is found in any readable file."""
    needle, hits, read = marker.encode(), [], 0
    for folder, folders, files in os.walk("/"):
        if folder in ("/proc", "/sys", "/dev"):
            folders[:] = []
            continue
        for f in files:
            path = os.path.join(folder, f)
            try:
                info = os.lstat(path)
                if stat.S_ISREG(info.st_mode) and info.st_size <= 64 << 20:
                    with open(path, "rb") as text:
                        read += 1
                        if needle in text.read():
                            hits.append(path)
            except OSError:
                pass
    report("files of others", not hits and read > 1000, "%d read, found in %s" % (read, hits))
    other = socket.socket(socket.AF_UNIX)
    refused("abstract socket of another box", lambda: other.connect("\0" + marker))
    refused("shared memory of another box", lambda: shm(len(marker)))


def shm(key):
    ctypes.set_errno(0)
    if libc.shmget(key, 4096, 0) == -1:
        raise OSError(ctypes.get_errno(), "shmget")
    return "there"


def main():
    task = json.load(sys.stdin)
    status()
    syscalls()
    interfaces_of_other_widths()
    sockets()
    network(task["addresses"])
    processes()
    space()
    writable()
    host_facts(task["words"], task["env"])
    others(task["marker"])
    report("end", True)


main()
