"""Makes a maze of links of the workspace, and tries to put another folder in its place."""
import os
import shutil

from hostile import HOME, SOLUTION, WORKSPACE, ask, attempt, end, harmless

ask()
attempt("renaming the workspace", os.rename, WORKSPACE, WORKSPACE + "-old")
attempt("removing the workspace", os.rmdir, WORKSPACE)
attempt("linking over the workspace", os.symlink, "/etc", WORKSPACE)
attempt("moving the workspace away", os.rename, WORKSPACE, HOME + "/workspace")
text = open(SOLUTION).read()
os.unlink(SOLUTION)
for name, target in [("root", "/"), ("up", ".."), ("self", "self"), ("proc", "/proc/self/root"),
                     ("cwd", "/proc/self/cwd"), ("one", "run-is-no-host"), ("shadow", "/etc/shadow"),
                     ("long", "x/" * 2000), ("fd", "/proc/1/fd/0"), ("files", "/proc/self/fd")]:
    harmless(os.symlink, target, WORKSPACE + "/" + name)
os.symlink("b", WORKSPACE + "/a")
os.symlink("a", WORKSPACE + "/b")
os.mkdir(WORKSPACE + "/inside")
with open(WORKSPACE + "/inside/solution.py", "w") as f:
    f.write(text)
os.symlink("inside/solution.py", SOLUTION)
os.symlink(WORKSPACE, WORKSPACE + "/inside/round")
for path in ["/etc/passwd", "/etc/shadow", "/opt/cabra/relay", "/proc/self/exe", "/proc/1/status"]:
    attempt("a hard link to " + path, os.link, path, WORKSPACE + "/hard")
shutil.rmtree(HOME + "/nothing", ignore_errors=True)
end()
