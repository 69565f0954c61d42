"""Crashes in every way that could leave a dump."""
import os
import resource
import signal

from hostile import HOME, WORKSPACE, ask, attempt, end, found, tried

ask()
attempt("a core of its own", resource.setrlimit, resource.RLIMIT_CORE,
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
for place in (WORKSPACE, HOME, "/tmp", "/dev/shm"):
    for sig in (signal.SIGSEGV, signal.SIGABRT, signal.SIGQUIT, signal.SIGBUS, signal.SIGSYS, signal.SIGTRAP):
        child = os.fork()
        if child == 0:
            os.chdir(place)
            signal.signal(sig, signal.SIG_DFL)
            os.kill(os.getpid(), sig)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WCOREDUMP(status):
            found("signal %d leaves a core in %s" % (sig, place))
        tried()
    for name in os.listdir(place):
        if name.startswith("core"):
            found("a core in " + place)
end()
