"""Looks for the solution of its task, or what task it is, in all that it can read."""
import mmap
import os
import re

from hostile import HOME, SOLUTION, ask, end, found, report, say, tried

ask()
text = open(SOLUTION).read()
# Names of functions that are nobody else's.
names = [n for n in set(re.findall(r"def (\w+)\(", text)) if len(n) > 4]
needles = [("def " + n).encode() for n in names] + [b"traversal/add" + b"-parameter", b"add-parameter/" + b"math"]
say("%d needles" % len(needles))
pattern = re.compile(b"|".join(re.escape(n) for n in needles))
for folder, folders, files in os.walk("/"):
    if folder == "/sys":
        folders.clear()
        continue
    if folder == "/proc":
        folders[:] = ["1", "self", "sys"]
    if folder.startswith(("/proc/1/task", "/proc/self/task", "/proc/self/map_files")):
        folders.clear()
    for name in files:
        path = os.path.join(folder, name)
        if path.startswith((HOME, SOLUTION)) or path.endswith(("/mem", "/pagemap", "/kmsg", "/clear_refs")):
            continue
        if os.path.islink(path) and not path.startswith("/proc"):
            continue
        try:
            if not os.path.isfile(path):
                continue
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            size = os.fstat(fd).st_size
            data = mmap.mmap(fd, 0, prot=mmap.PROT_READ) if size else os.read(fd, 1 << 20)
            hit = pattern.search(data)
            if hit:
                found("%r in %s" % (hit.group(), path))
        except (OSError, ValueError):
            pass
        finally:
            os.close(fd)
        tried()
for path in ("/proc/1/cmdline", "/proc/1/status", "/proc/self/environ"):
    if b"reference" in open(path, "rb").read():
        found("a word of the solution in " + path)
relay = open("/opt/cabra/relay", "rb").read()
for word in (b"cabra-run/" + b"tasks", b"cabra-run/" + b"runner", b"cabra-run/" + b"results", b"refactor" + b"Source"):
    tried()
    if word in relay:
        found("the relay knows %r" % word)
report()
end()
