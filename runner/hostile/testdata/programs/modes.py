"""Takes all rights away, from files, folders, the workspace and the home."""
import os

from hostile import HOME, SOLUTION, WORKSPACE, ask, attempt, end, harmless

ask()
for place in (WORKSPACE, HOME):
    for i in range(50):
        os.makedirs("%s/d%d/e" % (place, i))
        with open("%s/d%d/e/f" % (place, i), "w") as f:
            f.write("x")
        os.chmod("%s/d%d/e/f" % (place, i), 0)
        os.chmod("%s/d%d/e" % (place, i), 0)
        os.chmod("%s/d%d" % (place, i), 0)
with open(HOME + "/session.jsonl", "w") as f:
    f.write("{}\n")
os.chmod(HOME + "/session.jsonl", 0)
for uid in (0, 10000, 20000, 65534):
    attempt("giving the solution to %d" % uid, os.chown, SOLUTION, uid, uid)
harmless(os.chmod, SOLUTION, 0o7777)
harmless(os.chmod, SOLUTION, 0)
for place in (WORKSPACE, HOME, "/tmp", "/dev/shm"):
    harmless(os.chmod, place, 0)
end()
