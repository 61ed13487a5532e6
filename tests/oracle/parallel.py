# SPDX-License-Identifier: MIT
"""Machines whose vCPUs run in parallel (thread=multi).

parallel   each of four vCPUs executes what QEMU's log of the same run says; what they add to
           shared counters, with a lock and by atomic instructions, is nothing but that; each
           of Linux's tasks runs where its program and the scheduler's log say it does

No two runs are the same: the witnesses are of the recorded ones.
"""
import collections
import json
import os
import re

import common
import machines
import tasks
from common import Failure

# Not riscv64: OpenSBI 1.1 says that a hart may start before it says where, so that some boots
# end with two harts that both begin the kernel.
NAMES = {target: ["parallel"] for target in ("aarch64-softmmu", "x86_64-softmmu")}
ACCEL = "tcg,thread=multi"
CLOCK = machines.CLOCK.replace("-icount shift=0,sleep=off", "-accel " + ACCEL)
VCPUS = 4
STOPPED = re.compile(r"Stopped execution of TB chain before \S+ \[(\w+)\]")
ROUNDS = 300  # of vcpus.h, for each vCPU


def record(tools, target, options, accel=ACCEL, more=()):
    """A program of machines.py, without its clock."""
    trace = os.path.join(tools.work, "parallel-%s.ctr" % target)
    command = machines.command_of(tools, target, machines.VCPUS_PROGRAM.get(target))
    at = command.index("-icount")
    command[at:at + 2] = ["-accel", accel, *more]
    command += machines.several(target)
    recorded = common.record(tools, trace, command, options=options)
    if recorded.status or b"calls 1010" not in recorded.stdout:
        raise Failure("status %d: %r" % (recorded.status, recorded.stdout[-300:]))
    return trace


def read_log(path):
    """By vCPU: (pc, whether it may not have been executed).  The log does not say which vCPU
    has stopped before a block: one of those whose last one it is."""
    logged = collections.defaultdict(list)
    with open(path, encoding="ascii", errors="replace") as f:
        for line in f:
            ran, stopped = machines.TRACE.match(line), STOPPED.match(line)
            if ran:
                logged[int(line.split(":")[0].split()[1])].append((int(ran[1], 16), False))
            elif stopped:
                pc = int(stopped[1], 16)
                for seen in logged.values():
                    if seen[-1][0] == pc:
                        seen[-1] = pc, True
    return logged


def wrong_code(seen, logged, end):
    """The first difference, up to the instruction that switches the machine off."""
    i = 0
    for j, (pc, doubtful) in enumerate(logged):
        if i == len(seen) or i and seen[i - 1] == end:
            break
        again = j + 1 < len(logged) and logged[j + 1][0] == pc and seen[i + 1:i + 2] != [pc]
        if doubtful and (seen[i] != pc or again):
            continue
        if seen[i] != pc:
            return "instruction %d is 0x%x, in the log 0x%x" % (i, seen[i], pc)
        i += 1
    if len(seen) - i > 1 and seen[i - 1] != end:
        return "%d instructions are not in the log" % (len(seen) - i)
    return None


def code(tools, target):
    """The instructions of each vCPU."""
    log = os.path.join(tools.work, "parallel-%s.log" % target)
    trace = record(tools, target, ("--events", "exec"),
                   ACCEL + ",one-insn-per-tb=on", ["-d", "exec,nochain", "-D", log])
    end = int(machines.end_of(tools, target, machines.VCPUS_PROGRAM.get(target))[1], 16)
    logged, seen = read_log(log), collections.defaultdict(list)
    for o in map(json.loads, common.dump_lines(tools, trace, "--events", "exec", "--no-disas")):
        seen[o["tid"] - o["pid"]].append(int(o["pc"], 16))
    for vcpu in range(VCPUS):
        wrong = wrong_code(seen[vcpu], logged[vcpu], end)
        if wrong:
            raise Failure("cpu%d: %s" % (vcpu, wrong))
        less = seen[vcpu][:1000] + seen[vcpu][1001:]
        if len(less) < 2000 or not wrong_code(less, logged[vcpu], end):
            raise Failure("cpu%d: a missing instruction of %d is not noticed" % (vcpu, len(less)))
    common.drop_file(trace)
    common.drop_file(log)
    return sum(map(len, seen.values()))


def wrong_chain(name, pairs, n):
    """Each addition finds what another one has left: (before, after), in any order."""
    if len(pairs) != n:
        return "%s: %d additions, not %d" % (name, len(pairs), n)
    at = 0
    for before, after in sorted(pairs):
        if before != at:
            return "%s: nobody has left 0x%x, but 0x%x" % (name, before, at)
        at = after
    return None


def additions(tools, target):
    """What the vCPUs did to the counters that they share, with blocks as they are."""
    trace = record(tools, target, ("--events", "exec,mem,val"))
    shared = machines.symbol(tools, target, "shared", machines.VCPUS_PROGRAM.get(target))
    # as vcpus.h has them
    counters = {"guarded": (shared + 8, 8), "added": (shared + 16, 8), "done": (shared + 24 + 8 * VCPUS, 8)}
    loaded, pairs = {}, collections.defaultdict(list)
    for o in map(json.loads, common.dump_lines(tools, trace, "--events", "mem,val", "--addr",
                                               "0x%x-0x%x" % (shared, shared + 4095))):
        for name, (addr, size) in counters.items():
            if (int(o["addr"], 16), o["size"]) != (addr, size):
                continue
            key = name, o["tid"]
            if o["kind"] == "load":
                loaded[key] = int(o["value"], 16)
            else:
                pairs[name].append((loaded.pop(key), int(o["value"], 16)))
    n = VCPUS * ROUNDS
    wrong = [wrong_chain("guarded", pairs["guarded"], n), wrong_chain("added", pairs["added"], n),
             wrong_chain("done", pairs["done"], VCPUS)]
    if any(wrong):
        raise Failure("; ".join(filter(None, wrong)))
    if not wrong_chain("added", pairs["added"][1:] + [pairs["added"][1]], n):
        raise Failure("a false chain is not noticed")
    common.drop_file(trace)
    return sum(map(len, pairs.values()))


def parallel(tools, target):
    said = "%d instructions; %d additions; " % (code(tools, target), additions(tools, target))
    return said + tasks.same_run(tools, target, CLOCK)


RUN = {"parallel": parallel}
