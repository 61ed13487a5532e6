# SPDX-License-Identifier: MIT
"""Scripts in gdb that walk backward on a trace.

walk  a Python script in gdb makes reverse-stepi to the first instruction: it meets the states
      that steps of the protocol meet forward, in reverse: 3,000, in a full run 100,000
"""
import os
import re
import subprocess

import common
import gdbstep
import transcripts
from common import Failure, TARGETS

STEPS, FULL = 3000, 100000
WALK = """
import gdb
with open(%r, "w") as out:
    for _ in range(%d):
        print(int(gdb.parse_and_eval("$pc")) & %d, int(gdb.parse_and_eval("$sp")) & %d, file=out)
        gdb.execute("reverse-stepi", to_string=True)
    print(gdb.execute("reverse-stepi", to_string=True).strip(), file=out)
"""


def forward(tools, trace, order, n):
    """(pc, sp) of each of the first n instructions."""
    states = []
    with gdbstep.listening([tools.program("tracegdb"), "-q"], trace) as stub:
        stop = stub.request("?")
        for _ in range(n + 1):
            items = re.findall(rb"(?<=;)[0-9a-f]+:([0-9a-f]+);", stop)
            states.append(tuple(int.from_bytes(bytes.fromhex(i.decode()), order) for i in items[:2]))
            stop = stub.request("s")
    return states


def without_slots(states):
    """Of mips: gdb steps over a branch and its slot at once."""
    return [state for i, state in enumerate(states)
            if not (0 < i < len(states) - 1 and 0 < state[0] - states[i - 1][0] <= 4
                    and not 0 <= states[i + 1][0] - state[0] <= 4)]


def backward(tools, trace, path, begin, steps, mask):
    script, out = trace + ".py", trace + ".walk"
    with open(script, "w") as f:
        f.write(WALK % (out, steps, mask, mask))
    done = subprocess.run(
        [*transcripts.gdb_command(path, "| %s -q --at=%d %s" % (tools.program("tracegdb"), begin, trace)),
         "-batch", "-x", script], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=common.PATIENCE)
    with open(out) as f:
        lines = f.read().splitlines()
    common.remove(script)
    common.remove(out)
    rest = done.stdout + "".join(lines[steps:])
    if len(lines) <= steps or not re.search("No more reverse-execution|Reached end of recorded", rest):
        raise Failure("%d steps backward of %d: %s" % (len(lines), steps, done.stderr[-300:]))
    return [tuple(map(int, line.split())) for line in lines[:steps]]


def run(tools, target, name, guest, folder, path, full):
    transcripts.common_gdb()
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "walk-%s-%s.ctr" % (target, name))
    common.record(tools, trace, guest, environment, folder, options=("--events", "all"))
    order = "big" if TARGETS[target].big_endian else "little"
    steps = FULL if full else STEPS
    states = forward(tools, trace, order, steps)
    if target in ("mips", "mipsel"):
        states = without_slots(states)
    seen = backward(tools, trace, path, steps, len(states) - 1, (1 << TARGETS[target].bits) - 1)
    expected = states[:0:-1]
    for i, (a, b) in enumerate(zip(seen, expected)):
        if a != b:
            raise Failure("after %d steps backward: pc 0x%x, sp 0x%x, forward 0x%x, 0x%x" % (i, *a, *b))
    common.drop_file(trace)
    return "%d steps backward meet the states of %d forward" % (len(seen), len(expected))
