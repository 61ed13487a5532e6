# SPDX-License-Identifier: MIT
"""Physical addresses of a machine's accesses.

physical   QEMU's plugin execlog says where each access went, of a recording without
           filters and of one whose filters choose everything

Also, for outside.py and ram.py: pages of physical memory as tracedump --memory=phys: rebuilds
them, against what QEMU's monitor saves.
"""
import json
import os
import random
import re
import subprocess

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


PAGE = 4096


def rebuilt(tools, trace, moment, addrs):
    """Pages at a moment: {address: its bytes, None where they are not known}."""
    done = subprocess.run(
        [tools.program("tracedump"), "-q", "--json", "--state=" + moment, "--memory=phys:" +
         ",".join("0x%x+%d" % (addr, PAGE) for addr in addrs), trace],
        capture_output=True, text=True, timeout=common.PATIENCE)
    if done.returncode:
        raise Failure("tracedump --state=%s: %s" % (moment, done.stderr.strip()))
    pages = {addr: [None] * PAGE for addr in addrs}
    for o in map(json.loads, done.stdout.splitlines()):
        if o["kind"] == "memory" and o["bytes"]:
            at = int(o["phys"], 16)
            for i, byte in enumerate(bytes.fromhex(o["bytes"]), at % PAGE):
                pages[at - at % PAGE][i] = byte
    return pages


def some_pages(image, other, count, chance):
    """Offsets of pages: any, some that hold something, some that differ in the other image."""
    size = os.path.getsize(image)
    found = {chance.randrange(size // PAGE) * PAGE for _ in range(count)}
    with open(image, "rb") as f, open(other, "rb") as g:
        pages = [(f.read(PAGE), g.read(PAGE)) for _ in range(size // PAGE)]
    for wanted in ([i for i, (a, _) in enumerate(pages) if any(a)],
                   [i for i, (a, b) in enumerate(pages) if a != b]):
        found.update(i * PAGE for i in chance.sample(wanted, min(count, len(wanted))))
    return sorted(found)


def same_pages(tools, trace, moments, count=8):
    """moments: [(moment, [(address, what the monitor saved from there on)])].  All bytes of some
    pages must be known and right at each; returns how many there are."""
    chance = random.Random(1)
    total = 0
    for n, (moment, images) in enumerate(moments):
        for (begin, image), (_, other) in zip(images, moments[n - 1][1]):
            offsets = some_pages(image, other, count, chance)
            pages = rebuilt(tools, trace, moment, [begin + at for at in offsets])
            with open(image, "rb") as f:
                for at in offsets:
                    f.seek(at)
                    want, seen = f.read(PAGE), pages[begin + at]
                    wrong = [i for i in range(PAGE) if seen[i] != want[i]]
                    if wrong:
                        i = wrong[0]
                        raise Failure("at %s 0x%x has 0x%02x, not %r; %d bytes of its page differ"
                                      % (moment, begin + at + i, want[i], seen[i], len(wrong)))
            total += PAGE * len(offsets)
    return total


RUN = {"physical": physical}
