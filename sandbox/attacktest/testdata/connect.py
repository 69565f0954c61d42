"""Misuses the relay's port: thousands of connections at once, garbage, and
requests that never end, never read, or break off."""
import os
import select
import socket
import sys
import time

RELAY = ("127.0.0.1", 8017)


def dial():
    s = socket.socket()
    s.settimeout(30)
    s.connect(RELAY)
    return s


def crowd(n):
    """n connections at once that say nothing. The kernel queues some thousand."""
    held = []
    for _ in range(n):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(RELAY)
        held.append(s)
    return held


def garbage(n):
    for i in range(n):
        s = dial()
        try:
            s.sendall(os.urandom(1 + i * 97 % 70000))
            if i % 3 == 0:
                s.shutdown(socket.SHUT_WR)
            if i % 5 == 0:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        except OSError:
            pass
        s.close()


def endless(seconds):
    """Every place is taken by a request that never ends and never reads."""
    held = []
    for _ in range(64):
        s = dial()
        s.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\n")
        s.setblocking(False)
        held.append(s)
    end, block = time.time() + seconds, b"x" * 65536
    while time.time() < end and held:
        _, writable, _ = select.select([], held, [], 1)
        for s in writable:
            try:
                s.send(block)
            except OSError:
                held.remove(s)
                s.close()
    return held


if sys.argv[1] == "crowd":
    for s in crowd(3500):
        s.close()
    garbage(500)
else:
    for s in endless(5):
        s.close()
print("done", flush=True)
