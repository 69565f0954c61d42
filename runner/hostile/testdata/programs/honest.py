"""An honest agent: a loop around one tool, and some work of its own that shows
when a neighbour takes more than its share. It wants what an honest program may
want of the kernel, and fails where it does not get it. It leaves marks that no
other box must see.
"""
import ctypes
import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import urllib.request

base, model, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)
tools = [{"type": "function", "function": {
    "name": "bash", "description": "Run a command in the workspace.",
    "parameters": {"type": "object", "required": ["command"],
                   "properties": {"command": {"type": "string"}}}}}]
talk = [{"role": "system", "content": "Solve the task with the bash tool. Then say that you are done."},
        {"role": "user", "content": sys.stdin.read()}]


def mark():
    for folder in ("/tmp", "/dev/shm", os.environ["HOME"]):
        with open(folder + "/neighbour-was-here", "w") as f:
            f.write("neighbour-was-here")
    s = socket.socket(socket.AF_UNIX)
    s.bind("\0neighbour-was-here")
    s.listen()
    if libc.shmget(0x4E454947, 4096, 0o1666) < 0:
        sys.exit("no shared memory: errno %d" % ctypes.get_errno())
    return s


def resources():
    """What other uids cannot use up: watches, pipes, processes, files."""
    fds = [libc.inotify_init() for _ in range(4)]
    if min(fds) < 0:
        sys.exit("no inotify: errno %d" % ctypes.get_errno())
    for _ in range(16):
        fds.extend(os.pipe())
    for fd in fds:
        os.close(fd)
    with tempfile.TemporaryFile() as f:
        f.write(b"x" * (4 << 20))


def work():
    """A fixed amount of computing and writing."""
    text = b"x" * (1 << 20)
    for _ in range(100):
        text = hashlib.sha256(text).digest() * (1 << 15)
    resources()


def ask():
    body = {"model": model, "messages": talk, "tools": tools}
    request = urllib.request.Request(base + "/chat/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["choices"][0]["message"]


def bash(command):
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    return "%s%s\n(exit code %d)" % (done.stdout[-20000:], done.stderr[-20000:], done.returncode)


held = mark()
for turn in range(100):
    message = ask()
    for _ in range(rounds):
        work()
    talk.append(message)
    for asked in message.get("tool_calls") or []:
        arguments = json.loads(asked["function"]["arguments"])
        talk.append({"role": "tool", "tool_call_id": asked["id"], "content": bash(arguments["command"])})
    if not message.get("tool_calls"):
        sys.exit(0)
sys.exit("no end after 100 turns")
