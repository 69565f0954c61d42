"""Lies with its exit code, after an honest request or without one."""
import os

from hostile import ARGS, ask, report, tried

if "asked" in ARGS:
    ask()
tried()
report()
code = int(ARGS[0])
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
