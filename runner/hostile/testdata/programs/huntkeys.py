"""Looks for keys of providers: in environments, files, and what the gateway says."""
import glob
import os
import re
import urllib.error
import urllib.request

from hostile import BASE, ask, attempt, body, end, found, tried

# In two pieces, so that this text is none.
KEY = re.compile(("sk-" + "(hostile|proj|ant|live|test)-[A-Za-z0-9_-]{12,}").encode())
TOKEN = re.compile(("gh" + "[pousr]_[A-Za-z0-9]{30,}|" + "AKIA" + "[A-Z0-9]{16}|-----BEGIN [A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/]{40}").encode())


def search(where, text):
    tried()
    for pattern in (KEY, TOKEN):
        hit = pattern.search(text)
        if hit:
            found("a key in %s: %r" % (where, hit.group()[:60]))


def files(top, most):
    for folder, folders, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as f:
                        search(path, f.read(most))
            except OSError:
                pass


def gateway(path, headers={}, data=None, method=None):
    request = urllib.request.Request(BASE + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            search("an answer", bytes(answer.headers) + answer.read())
    except urllib.error.HTTPError as error:
        search("a refusal", bytes(error.headers) + error.read())
    except OSError:
        pass


ask()
for name, value in os.environ.items():
    search("the environment", (name + "=" + value).encode())
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + ["/proc/self/mountinfo"]:
    try:
        search(path, open(path, "rb").read())
    except OSError:
        tried()
for top in ("/etc", "/opt", "/home", "/root", "/run", "/srv", "/tmp", "/var", "/workspace", "/usr/local", "/mnt", "/dev/shm"):
    files(top, 32 << 20)
echo = {"Authorization": "Bearer {KEY}", "X-Api-Key": "${CABRA_API_KEY}", "Api-Key": "$HOSTILE_KEY"}
for path in ("/models", "/models/x", "/files", "/", "/chat/completions", "/../models", "/keys", "/me", "/responses"):
    gateway(path, echo)
    gateway(path, echo, body())
    gateway(path, echo, b"{}", "PUT")
    gateway(path, echo, b'{"model":"$HOSTILE_KEY","messages":[]}')
for path in ("~/.config", "~/.netrc", "~/.aws/credentials", "~/.ssh/id_rsa"):
    attempt("opening " + path, open, os.path.expanduser(path))
for path in ("/run/secrets", "/var/run/secrets", "/root", "/.dockerenv.keys", "/proc/1/environ"):
    attempt("looking at " + path, os.listdir, path)
end()
