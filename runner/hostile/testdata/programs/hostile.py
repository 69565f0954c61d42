"""What the attackers share: an honest request first, and an account of what was
tried and what was managed.

Every line "FOUND what" on standard output is something that an attacker must not
manage. "TRIED n" says how many things were tried by then.
"""
import ctypes
import json
import os
import sys
import urllib.request

BASE, MODEL, ARGS = sys.argv[1], sys.argv[2], sys.argv[3:]
WORKSPACE, HOME = "/workspace", os.environ.get("HOME", "/home/agent")
SOLUTION = WORKSPACE + "/solution.py"
RELAY = ("127.0.0.1", int(BASE.split(":")[2].split("/")[0]))
PATH = "/" + BASE.split("/", 3)[3]

libc = ctypes.CDLL(None, use_errno=True)
count = 0


def say(line):
    os.write(1, (line + "\n").encode("utf-8", "backslashreplace"))


def found(what):
    say("FOUND " + what.replace("\n", " ")[:300])


def tried(n=1):
    global count
    count += n


def report():
    say("TRIED %d" % count)


def attempt(what, action, *args):
    """Something that must fail: it has when it raises an error of the system."""
    tried()
    try:
        result = action(*args)
    except (OSError, ValueError):
        return
    found("%s: %r" % (what, result))


def harmless(action, *args):
    """Something that may work or fail; only what comes of it matters."""
    tried()
    try:
        return action(*args)
    except OSError:
        return None


def call(name, number, *args):
    """A raw system call that must be refused, not merely misused."""
    tried()
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    error = ctypes.get_errno()
    if result != -1 or error not in (1, 13, 38):
        found("the call %s reaches the kernel: %d, %s" % (name, result, os.strerror(error)))


def body():
    return json.dumps({"model": MODEL, "messages": [{"role": "user", "content": "hello"}]}).encode()


def ask(timeout=60):
    """One honest request."""
    request = urllib.request.Request(BASE + "/chat/completions", body(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.load(answer)


def end(code=0):
    report()
    sys.exit(code)
