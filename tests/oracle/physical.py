# SPDX-License-Identifier: MIT
"""Physical addresses of a machine's accesses.

physical   QEMU's plugin execlog says where each access went, of a recording without
           filters and of one whose filters choose everything
"""
import json
import re

import common
import machines
from common import Failure

NAMES = {target: ["physical"] for target in machines.MACHINES}

EVENTS = ("--events", "exec,mem,phys")
ACCESS = re.compile(r", (load|store), 0x([0-9a-f]+)(?:, ([^,]+))?")


def logged(lines):
    """Each access: its kind, physical address, and whether it is of a device."""
    return [(kind, int(phys, 16), name.strip() != "RAM")
            for line in lines for kind, phys, name in ACCESS.findall(line)]


def recorded(tools, trace):
    seen = []
    for line in common.dump_lines(tools, trace, "--events", "mem", "--phys"):
        o = json.loads(line)
        if "phys" not in o:
            raise Failure("no physical address: " + line.strip())
        seen.append((o["kind"], int(o["phys"], 16), o.get("device", False)))
    return seen


def difference(seen, log):
    """A compare-and-swap that fails is a store to the plugin only.  The machine
    runs on for some accesses after it was switched off."""
    failed = i = 0
    while i < len(seen) and i + failed < len(log):
        at = i + failed
        if seen[i] == log[at]:
            i += 1
        elif at and log[at] == ("store", *log[at - 1][1:]) and log[at - 1][0] == "load":
            failed += 1
        else:
            return "access %d: %r, in the log %r" % (i, seen[i], log[at])
    if abs(len(seen) + failed - len(log)) > 20:
        return "%d accesses, %d in the log" % (len(seen), len(log) - failed)
    return None


def physical(tools, target):
    """The plugin attributes accesses to the wrong vCPU if there are several."""
    trace, command, _ = machines.record(tools, target, EVENTS)
    log = trace + ".log"
    machines.run_witness(command, ["-d", "plugin", "-plugin", tools.plugin("execlog")],
                         log).communicate(timeout=common.PATIENCE)
    with open(log, encoding="ascii", errors="replace") as f:
        witness = logged(f)
    for options in ((), ("--user", "--kernel")):
        if options:
            machines.record(tools, target, EVENTS + options)
        seen = recorded(tools, trace)
        wrong = difference(seen, witness)
        if wrong:
            raise Failure(" ".join((*options, wrong)))
    common.drop_file(trace)
    common.drop_file(log)
    return "%d accesses, %d of devices" % (len(seen), sum(device for _, _, device in seen))


RUN = {"physical": physical}
