# SPDX-License-Identifier: MIT
"""Firmware that begins again and again.

loop       it is reset at random moments: the resets are events, each of them leads to the reset
           vector, and memory of QEMU and of the recorder stays as it is.  A minute has a thousand
           resets: run.py --count=60000 takes an hour
"""
import json
import os
import random
import time

import common
import firmware
import power
from common import Failure
from monitor import Running
from outside import info

NAMES = {"riscv64-softmmu": ["loop"], "x86_64-softmmu": ["loop"]}
RESETS, RESETS_FULL = 60, 3600
GROWTH = 16 << 20  # bytes; a recorder that has begun still fills its buffers


def memory_of(pid):
    """Bytes that it does not share."""
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("RssAnon:"))


def loop(tools, target, boots):
    """QEMU's translated code has little room: it is thrown away again and again."""
    trace = os.path.join(tools.work, "loop-%s.ctr" % target)
    command = firmware.command(tools, target, firmware.FIRMWARE[target][0])
    command = [w for w in command if w not in ("-no-reboot", "-monitor", "stdio")]
    command += ["-monitor", "none", "-accel", "tcg,tb-size=8"]
    samples = []
    with Running(tools, trace, command, "--events", "exec,mem,int,pwr") as machine:
        for i in range(12):
            for _ in range(boots // 12):
                time.sleep(random.uniform(0.01, 0.1))
                resets = machine.monitor.resets
                machine.monitor.call("system_reset")
                if machine.monitor.resets == resets:
                    machine.monitor.wait("RESET")
            # the recorder keeps the index of what is in the file
            samples.append((memory_of(machine.qemu),
                            memory_of(machine.recorder.pid) - os.path.getsize(trace) // 16))
        machine.quit()
    resets = machine.monitor.resets
    for name, early, late in zip(("QEMU", "the recorder"), samples[3], samples[-1]):
        if late > early + GROWTH:
            raise Failure("the memory of %s grows: %r" % (name, samples))
    seen = [json.loads(line) for line in common.dump_lines(tools, trace, "--events", "exec,pwr",
                                                           "--pc=0x%x" % power.RESET_VECTOR[target])]
    size = os.path.getsize(trace)
    whole = info(tools, trace)
    events = [json.loads(line) for line in common.dump_lines(tools, trace, "--events", "pwr")]
    events = [o["ordinal"] for o in events if o["op"] == "reset"]
    # Firmware resets itself, too.  Resets are one where no vCPU runs in between, and none at the end.
    few = 1 + resets // 50
    wanted = {0, *events} - {whole["instructions"]}
    begun = [o["ordinal"] for o in seen if o["kind"] == "exec"]
    if resets < boots or not resets - few <= len(events) <= resets or begun != sorted(wanted):
        raise Failure("%d resets, %d events, %d times at the reset vector: %r"
                      % (resets, len(events), len(begun), sorted(wanted.symmetric_difference(begun))[:5]))
    common.drop_file(trace)
    return "%d resets, %d instructions, %d bytes; memory of QEMU and the recorder %r, at the end %r" % (
        len(events), whole["instructions"], size, samples[3], samples[-1])


def run(job):
    return loop(job.tools, job.target, job.count or (RESETS_FULL if job.full else RESETS))
