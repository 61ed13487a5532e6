# SPDX-License-Identifier: MIT
"""Machines whose run QEMU has logged (-icount rr=record), so that it can do the same again.

replayed   recorded while QEMU does it again, a machine does what it did when QEMU logged it: its
           console, its end, QEMU's log of exceptions, which are those of the trace; and exact,
           as in machines.py
"""
import os

import common
import exceptions
import machines
from common import Failure

# Not armv7m: QEMU's log of its session does not end.
NAMES = {target: ["replayed"] for target in machines.MACHINES if target != "armv7m-softmmu"}
EXACT = {"aarch64-softmmu", "arm-softmmu"}  # riscv64: QEMU's replay stops in blocks of one instruction


def said_by(target, log):
    """QEMU's log of exceptions.  Of x86 without registers: QEMU's replay computes flags elsewhere."""
    lines = machines.lines_of(log)
    common.remove(log)
    return [line for line in lines if " v=" in line] if target == "x86_64-softmmu" else lines


def replayed(tools, target):
    trace = os.path.join(tools.work, "replayed-%s.ctr" % target)
    log, session = trace + ".log", trace + ".rr"
    command = machines.command_of(tools, target)
    at = command.index("-icount") + 1
    command[at] = "shift=3,rr=record,rrfile=" + session  # in real time
    first = common.plain([*command, "-d", "int", "-D", log])
    lines = said_by(target, log)
    command[at] = command[at].replace("rr=record", "rr=replay")
    again = common.record(tools, trace, [*command, "-d", "int", "-D", log],
                          options=("--events", "exec,mem,val,int"))
    if (first.stdout, first.status) != (again.stdout, again.status) or b"calls 1010" not in first.stdout:
        raise Failure("it printed %r (%d), recorded %r (%d)" % (
            first.stdout[-300:], first.status, again.stdout[-300:], again.status))
    if said_by(target, log) != lines:
        raise Failure("the log of -d int differs")
    wrong, n = exceptions.difference(target, lines, common.dump_lines(tools, trace, "--events", "int"))
    if wrong or not n:
        raise Failure(wrong or "no exceptions in the trace")
    said = "%d exceptions" % n
    if target in EXACT:
        said += "; " + machines.witnessed(tools, target, command, again, trace,
                                          [(machines.end_of(tools, target),)])
    for path in (trace, session):
        common.drop_file(path)
    return said


RUN = {"replayed": replayed}
