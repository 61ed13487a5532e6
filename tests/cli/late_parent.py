# SPDX-License-Identifier: MIT
"""Runs a recorder and kills its guest while a debugger holds it, so that the recorder
sees the end through the pidfd a while before wait(2) tells it how that came about.

late_parent.py NAME READY COMMAND...: NAME is what the guest's process is called, and
READY a file that it makes.  The status is the recorder's, or 77 where nothing may be
traced."""
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


def main(name, ready, command):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    with subprocess.Popen(command) as recorder:
        while not os.path.exists(ready) and recorder.poll() is None:
            time.sleep(0.05)
        guest = list(children(recorder.pid, name))
        traced = libc.ptrace(PTRACE_SEIZE, guest[0], 0, 0) == 0
        os.kill(guest[0], signal.SIGKILL)
        if traced:
            time.sleep(0.5)
            os.waitpid(guest[0], 0)
        status = recorder.wait()
    return status if traced else 77


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
