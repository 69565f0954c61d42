"""Asks the host again and again and prints a line for each answer."""
import time
import urllib.request

while True:
    try:
        answer = urllib.request.urlopen("http://127.0.0.1:8017/", data=b"still", timeout=120).read()
    except OSError as error:
        answer = repr(error).encode()
    print("answered" if answer == b"echo still" else "failed: %r" % answer, flush=True)
    time.sleep(0.2)
