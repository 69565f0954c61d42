"""A PID 1 that plays a relay which the agent has taken over: it greets the
host and then sends what the first argument names, without end."""
import itertools
import os
import struct
import sys


def frame(kind, flags, stream, length, body=b""):
    return struct.pack(">BBHII", 0, kind, flags, stream, length) + body


DATA, WINDOW, PING, SYN, FIN = 0, 1, 2, 1, 4
HELLO = b"cabra-relay 1 8017\n"
BLOCK = b"x" * 32768


def pings():
    return itertools.repeat(frame(PING, SYN, 0, 1) * 1000)


def openings():
    return (frame(WINDOW, SYN, 2 * i + 3, 0) for i in itertools.count())


def garbage():
    return (os.urandom(1 << 16) for _ in itertools.count())


def data():
    """Fills the window of one stream after the other."""
    for i in itertools.count():
        stream = 2 * i + 3
        yield frame(WINDOW, SYN, stream, 0) + frame(DATA, 0, stream, len(BLOCK), BLOCK) * 8


def half():
    """Half a frame, and then nothing, with the stream open."""
    yield frame(WINDOW, SYN, 3, 0) + frame(DATA, 0, 3, 1000, b"half")
    sys.stdin.read()


out = sys.stdout.buffer
out.write(frame(WINDOW, SYN, 1, 0) + frame(DATA, 0, 1, len(HELLO), HELLO) + frame(WINDOW, FIN, 1, 0))
out.flush()
for piece in {"pings": pings, "openings": openings, "garbage": garbage, "data": data, "half": half}[sys.argv[1]]():
    out.write(piece)
    out.flush()
