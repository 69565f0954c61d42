"""Starts programs with the longest arguments and environments that there are."""
import os
import subprocess

from hostile import ask, end, harmless, say

ask()
for size, number in ((131_000, 60), (131_072, 1), (10, 200_000), (1_000_000, 1)):
    env = dict(("V%d" % i, "x" * size) for i in range(number))
    harmless(lambda: subprocess.run(["/bin/true"], env=env))
    harmless(lambda: subprocess.run(["/bin/true"] + ["x" * size] * number))
for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "BASH_ENV", "ENV", "GCONV_PATH", "MALLOC_CHECK_"):
    harmless(lambda: subprocess.run(["/bin/sh", "-c", "exit 0"], env={name: "/workspace/evil.so"},
                                    stderr=subprocess.DEVNULL))
    os.environ[name] = "/workspace/evil.so"
with open("/workspace/sitecustomize.py", "w") as f:
    f.write("import os\nos.write(1, b'FOUND code of the workspace ran in the harness\\n')\n")
for name in ("evil.so", "bash", "sh", "relay", ".env", ".bashrc", ".profile"):
    for place in ("/workspace", os.environ["HOME"], "/tmp"):
        with open(place + "/" + name, "w") as f:
            f.write("#!/bin/sh\necho FOUND a program of the box ran in the harness\n")
        os.chmod(place + "/" + name, 0o755)
say("the environment is long")
end()
