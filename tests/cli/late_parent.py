# SPDX-License-Identifier: MIT
"""Runs a recorder and kills its guest while a debugger holds it, so that the recorder
sees the end through the pidfd some time before wait(2) returns the status.

late_parent.py NAME READY [--unseen FIFO] COMMAND...: NAME is the name of the guest's
process, and READY a file that it makes.  With --unseen the guest is dead before the
recorder first looks at it: the recorder is stopped meanwhile, and FIFO is the script for
which the guest waits.  The status is the recorder's, or 77 if ptrace is not permitted."""
import ctypes
import os
import signal
import subprocess
import sys
import time

PTRACE_SEIZE = 0x4206


def children(pid, name):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        for child in f.read().split():
            with open("/proc/%s/comm" % child, encoding="ascii") as comm:
                if comm.read().strip() == name:
                    yield int(child)


def main(name, ready, fifo, command):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    with subprocess.Popen(command) as recorder:
        if fifo:
            with open(fifo, "w", encoding="ascii") as script:
                os.kill(recorder.pid, signal.SIGSTOP)
                script.write("blocks 15\nready %s\nsleep 600000\n" % ready)
        while not os.path.exists(ready) and recorder.poll() is None:
            time.sleep(0.05)
        guest = list(children(recorder.pid, name))
        traced = libc.ptrace(PTRACE_SEIZE, guest[0], 0, 0) == 0
        os.kill(guest[0], signal.SIGKILL)
        if fifo:
            os.kill(recorder.pid, signal.SIGCONT)
        if traced:
            time.sleep(0.5)
            os.waitpid(guest[0], 0)
        status = recorder.wait()
    return status if traced else 77


if __name__ == "__main__":
    unseen = sys.argv[3] == "--unseen"
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[4] if unseen else None,
                  sys.argv[5 if unseen else 3:]))
