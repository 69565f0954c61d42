"""Gives files names that somebody may take for something else."""
import os

from hostile import HOME, WORKSPACE, ask, end, harmless

ask()
names = [b"a\nb", b"\xff\xfe", b"-rf", b"--help", b"$(touch x)", b"`id`", b"a;b", b"\x1b[2J", b" ", b"  x ", b"...",
         b"..\\x", b"C:\\x", b"~", b"*", b"%s%n", b"x" * 255, "\u202egpj.yp".encode(), "\u2028".encode(),
         b"\r\n", b"\x7f", b"\x01", b"solution.py ", b"solution.py\n", b"SOLUTION.PY", b".git", b".ssh",
         b"attempt.json", b"collected.json", b"<script>", b'"', b"'", "é".encode(), "e\u0301".encode(),
         "\U0001f410".encode(), b"\xed\xa0\x80", b"\xc0\xae\xc0\xae"]
for place in (WORKSPACE, HOME + "/session.jsonl"):
    top = place.encode()
    harmless(os.makedirs, top)
    for name in names:
        harmless(os.close, os.open(top + b"/" + name, os.O_CREAT | os.O_WRONLY, 0o644))
        harmless(os.makedirs, top + b"/dir" + name[:200] + b"/" + name)
    for i in range(1, 256):
        if i != 47:
            harmless(os.mkdir, top + b"/byte" + bytes([i]))
end()
