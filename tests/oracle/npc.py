# SPDX-License-Identifier: MIT
"""sparc's npc, which no recording has: tracegdb derives it from what ran.

npc  at each instruction of a program, pc and npc are those of QEMU's gdbstub, which makes the
     same steps
"""
import os

import common
from common import Failure
from gdbstep import listening, stopped

PC, NPC = 80, 81  # gdb's numbers
STEPS = 20000


def read(stub):
    return [stub.request("p%x" % n).decode() for n in (PC, NPC)]


def run(tools, name, guest, folder):
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "npc-%s.ctr" % name)
    done = common.record(tools, trace, guest, environment, folder, options=("--events", "all"))
    if done.status:
        raise Failure("the recorded program ended with %d: %s" % (done.status, done.stderr))
    taken = steps = 0
    with stopped(guest, environment, folder) as live, \
            listening([tools.program("tracegdb"), "-q"], trace) as seen:
        while steps < STEPS:
            wanted, got = read(live), read(seen)
            while got[0] != wanted[0]:  # QEMU steps over a system call and what follows it
                if b"replaylog:" in seen.request("s"):
                    raise Failure("step %d: live at %s, not in the trace" % (steps, wanted[0]))
                got = read(seen)
            if got != wanted:
                raise Failure("step %d: pc and npc are %s, live %s" % (steps, got, wanted))
            taken += int(wanted[1], 16) != int(wanted[0], 16) + 4
            steps += 1
            if not live.request("s").startswith(b"T05") or b"replaylog:" in seen.request("s"):
                break
    common.drop_file(trace)
    if taken < 100:
        raise Failure("only %d delay slots of branches that are taken" % taken)
    return "npc of %d instructions, %d in slots of branches that are taken" % (steps, taken)
