# SPDX-License-Identifier: MIT
"""Accesses of a machine's instructions to device registers.

devices    each one, with its region, address, size and value, is what QEMU's own trace of an
           unrecorded run has (-d trace:memory_region_ops_*), and there is no other one
"""
import collections
import json
import re
import subprocess

import common
import machines
from common import Failure

# s390x has no device registers in memory.
NAMES = {target: ["devices"] for target in machines.MACHINES if target != "s390x-softmmu"}
TRACED = "trace:memory_region_ops_read,trace:memory_region_ops_write"
LINE = re.compile(r"memory_region_ops_(read|write) cpu \d+ mr \S+ addr (\S+) value (\S+) size (\d+) "
                  r"name '(.*)'")
# A device that another one passes accesses on to.
INNER = {"armv7m-softmmu": {"systick"}}
# One that is mapped by aliases: QEMU's trace has addresses from its begin.
ALIASED = {"malta-fpga": 0x1f000000}
LEAST = 200

Access = collections.namedtuple("Access", "op addr value size region")


def logged(target, path):
    with open(path, encoding="ascii", errors="replace") as f:
        for m in filter(None, map(LINE.match, f)):
            if m[5] not in INNER.get(target, ()):
                size = int(m[4])
                value = int(m[3], 16) & (1 << 8 * size) - 1
                yield Access(m[1], ALIASED.get(m[5], 0) + int(m[2], 16), value, size, m[5])


def recorded(tools, trace):
    """An access to what is no device has no region."""
    for o in map(json.loads, common.dump_lines(tools, trace, "--events", "io")):
        if o.get("region"):
            yield Access(o["op"], int(o.get("addr") or o["port"], 16), int(o["value"], 16), o["size"],
                         o["region"])


def devices(tools, target):
    trace, command, _ = machines.record(tools, target, ("--events", "exec,io"))
    log = trace + ".log"
    subprocess.run([*command, "-d", TRACED, "-D", log], stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=common.PATIENCE)
    seen, wanted = list(recorded(tools, trace)), list(logged(target, log))
    for i, pair in enumerate(zip(seen, wanted)):
        if pair[0] != pair[1]:
            raise Failure("access %d is %r, in QEMU's trace %r" % (i, *pair))
    if len(seen) != len(wanted) or len(seen) < LEAST:
        raise Failure("%d accesses, %d in QEMU's trace" % (len(seen), len(wanted)))
    for path in (trace, log):
        common.drop_file(path)
    return "%d accesses to %d regions" % (len(seen), len({access.region for access in seen}))


RUN = {"devices": devices}
