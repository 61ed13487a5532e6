# SPDX-License-Identifier: MIT
"""Machines whose run QEMU has logged (-icount rr=record), so that it can do the same again.

replayed   recorded while QEMU does it again, a machine does what it did when QEMU logged it: its
           console, its end, QEMU's log of exceptions, which are those of the trace; and exact,
           as in machines.py
session    the same of Debian's kernel, but for exact; QEMU's log is of one vCPU only
"""
import os

import common
import exceptions
import linux
import machines
from common import Failure, Skip

# Not armv7m: QEMU's log of its session does not end.
NAMES = {target: ["replayed"] for target in machines.MACHINES if target != "armv7m-softmmu"}
for _target in ("aarch64-softmmu", "x86_64-softmmu"):
    NAMES[_target].append("session")
EXACT = {"aarch64-softmmu", "arm-softmmu"}  # riscv64: QEMU's replay stops in blocks of one instruction


def said_by(target, log):
    """QEMU's log of exceptions.  Of x86 without registers: QEMU's replay computes flags elsewhere."""
    lines = machines.lines_of(log)
    common.remove(log)
    return [line for line in lines if " v=" in line] if target == "x86_64-softmmu" else lines


def twice(tools, target, trace, command, events, last):
    """QEMU logs a run in real time; it is recorded while QEMU does it again.  Returns the command,
    what ran, and a sentence."""
    log, session = trace + ".log", trace + ".rr"
    at = command.index("-icount") + 1
    command[at] = "shift=3,rr=record,rrfile=" + session
    first = common.plain([*command, "-d", "int", "-D", log])
    lines = said_by(target, log)
    command[at] = command[at].replace("rr=record", "rr=replay")
    again = common.record(tools, trace, [*command, "-d", "int", "-D", log],
                          options=("--events", events))
    if (first.stdout, first.status) != (again.stdout, again.status) or last not in first.stdout:
        raise Failure("it printed %r (%d), recorded %r (%d)" % (
            first.stdout[-300:], first.status, again.stdout[-300:], again.status))
    if said_by(target, log) != lines:
        raise Failure("the log of -d int differs")
    wrong, n = exceptions.difference(target, lines, common.dump_lines(tools, trace, "--events", "int"))
    if wrong or not n:
        raise Failure(wrong or "no exceptions in the trace")
    return again, "%d exceptions" % n


def replayed(tools, target, full):
    trace = os.path.join(tools.work, "replayed-%s.ctr" % target)
    command = machines.command_of(tools, target)
    again, said = twice(tools, target, trace, command, "exec,mem,val,int", b"calls 1010")
    if target in EXACT:
        said += "; " + machines.witnessed(tools, target, command, again, trace,
                                          [(machines.end_of(tools, target),)])
    for path in (trace, trace + ".rr"):
        common.drop_file(path)
    return said


def session(tools, target, full):
    if not full:
        raise Skip("in the full run only")
    trace = os.path.join(tools.work, "session-%s.ctr" % target)
    command = linux.command(tools, target, machines.CLOCK, "quiet", 1)
    _, said = twice(tools, target, trace, command, "exec,mem,int,ctx,task", b"end\r\n")
    for path in (trace, trace + ".rr"):
        common.drop_file(path)
    return said


RUN = {"replayed": replayed, "session": session}
