"""Calls what no agent needs of the kernel, and asks for every family of sockets.
The numbers are those of x86-64."""
import os
import socket

from hostile import ask, attempt, call, end, found, tried

ask()
zero = b"\0" * 4096
for name, number, *args in [
        ("process_vm_readv", 310, os.getpid(), zero, 1, zero, 1, 0), ("ptrace", 101, 0, 0, 0, 0),
        ("io_uring_setup", 425, 8, zero), ("userfaultfd", 323, 0), ("userfaultfd user", 323, 1),
        ("keyctl", 250, 0, 0xFFFFFFFD, 1), ("add_key", 248, b"user", b"x", b"y", 1, 0xFFFFFFFD),
        ("request_key", 249, b"user", b"x", None, 0), ("bpf", 321, 0, zero, 72),
        ("perf_event_open", 298, zero, 0, -1, -1, 0), ("io_setup", 206, 1, zero),
        ("unshare user", 272, 0x10000000), ("unshare mount", 272, 0x00020000), ("unshare net", 272, 0x40000000),
        ("unshare pid", 272, 0x20000000), ("unshare cgroup", 272, 0x02000000), ("unshare ipc", 272, 0x08000000),
        ("mount", 165, b"none", b"/tmp", b"tmpfs", 0, None), ("umount2", 166, b"/proc", 2),
        ("pivot_root", 155, b"/tmp", b"/tmp"), ("chroot", 161, b"/tmp"), ("reboot", 169, 0xFEE1DEAD, 672274793, 0, 0),
        ("kexec_load", 246, 0, 0, 0, 0), ("init_module", 175, zero, 1, b""), ("finit_module", 313, 0, b"", 0),
        ("delete_module", 176, b"x", 0), ("swapon", 167, b"/tmp/x", 0), ("acct", 163, b"/tmp/x"),
        ("settimeofday", 164, zero, None), ("clock_settime", 227, 0, zero), ("sethostname", 170, b"x", 1),
        ("iopl", 172, 3), ("ioperm", 173, 0, 1, 1), ("quotactl", 179, 0, b"/dev/vda", 0, zero),
        ("open_by_handle_at", 304, -100, zero, 0), ("setns", 308, 0, 0), ("fanotify_init", 300, 0, 0),
        ("lookup_dcookie", 212, 0, zero, 10), ("open_tree", 428, -100, b"/", 1), ("move_mount", 429, -100, b"/", -100, b"/", 0),
        ("fsopen", 430, b"tmpfs", 0), ("fsmount", 432, 0, 0, 0), ("fspick", 433, -100, b"/", 0),
        ("mount_setattr", 442, -100, b"/", 0, zero, 32), ("pidfd_getfd", 438, 0, 0, 0),
        ("process_madvise", 440, 0, zero, 1, 4, 0), ("kcmp", 312, 1, 1, 0, 0, 0), ("syslog", 103, 3, zero, 4096),
        ("vhangup", 153), ("nfsservctl", 180, 0, 0, 0), ("uselib", 134, b"/x"), ("personality", 135, 0x0040000),
        ("mbind", 237, 0, 0, 0, 0, 0, 0), ("move_pages", 279, 1, 0, 0, 0, 0, 0), ("sched bpf", 321, 5, zero, 72)]:
    call(name, number, *args)
known = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
for family in range(0, 64):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        if family not in known:
            attempt("a socket of family %d" % family, socket.socket, family, kind, 0)
for protocol in range(1, 32):
    attempt("netlink %d" % protocol, socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, protocol)
child = os.fork()
if child == 0:
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    # The 32-bit interface, which knows no family of sockets.
    code = bytes([0xB8, 0x14, 0, 0, 0, 0xCD, 0x80, 0xC3])  # mov eax, 20 (getpid); int 0x80; ret
    import mmap
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    os._exit(0 if function() == os.getpid() else 1)
tried()
_, status = os.waitpid(child, 0)
if status == 0:
    found("32-bit calls are let through")
end()
