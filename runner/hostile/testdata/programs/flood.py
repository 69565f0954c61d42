"""Prints without end: to standard output, to standard error, to both, or
things that a terminal, a log or a reader of lines may take for its own."""
import os
import signal
import sys
import time

from hostile import ARGS, ask, end, report, tried

ask()
tried()
report()
if ARGS[0] == "escapes":
    for _ in range(2000):
        os.write(1, b"\x1b]0;owned\x07\x1b[2J\x1b[31m\r\x00\xff\xfe{\"level\":\"fatal\",\"outcome\":\"solved\"}\n")
        os.write(2, b"\x1bc\x1b[5i\x9b31m\x00" + b"x" * 1000)
    os.write(1, b"no newline " * 100_000)
    end()
if ARGS[0] == "trickle":
    while True:
        os.write(1, b".")
        time.sleep(0.1)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
block = b"y\n" * 32768
both = ARGS[0] == "both"
if both:
    for _ in range(3):
        os.fork()
while True:
    if both or ARGS[0] == "stdout":
        os.write(1, block)
    if both or ARGS[0] == "stderr":
        os.write(2, block)
