# SPDX-License-Identifier: MIT
"""Events of vCPUs that wait, are off or were reset.

power   each vCPU that halts has just executed an instruction that does, or waits after a reset
        to be started (x86_64, all but the first), and executes none before it goes on; reset by
        QEMU's monitor, firmware begins again at its reset vector
"""
import json
import os
import subprocess
import time

import common
import firmware
import machines
from common import Failure, Skip

# As tracedump shows the bytes
WAITS = {"aarch64-softmmu": "7f2003d5", "arm-softmmu": "03f020e3", "armv7m-softmmu": "30bf",
         "mips-softmmu": "42000020", "mipsel-softmmu": "20000042", "riscv32-softmmu": "73005010",
         "riscv64-softmmu": "73005010", "s390x-softmmu": "b2b21000", "x86_64-softmmu": "f4"}
RESET_VECTOR = {"aarch64-softmmu": 0, "arm-softmmu": 0,
                "mips-softmmu": 0xbfc00000, "mipsel-softmmu": 0xbfc00000,
                "riscv32-softmmu": 0x1000, "riscv64-softmmu": 0x1000, "x86_64-softmmu": 0xfffffff0}
NAMES = {target: ["power"] for target in WAITS}


class Vcpu:
    last = None  # the bytes of its last instruction
    ran = 0
    state = "wake"
    halts = offs = 0

    def take(self, o, wait):
        if o["kind"] == "exec":
            if self.state != "wake":
                raise Failure("runs, but is %s: %r" % (self.state, o))
            self.last = o["bytes"]
        elif o["kind"] == "power":
            starts = self.last is None and o["tid"] != o["pid"]
            if o["op"] == "halt" and self.last != wait and not starts:
                raise Failure("halts after %s: %r" % (self.last, o))
            if o["op"] == "wake" and self.state == "wake":
                raise Failure("goes on, but did not wait: %r" % o)
            self.halts += o["op"] == "halt"
            self.offs += o["op"] == "off"
            if o["op"] == "reset":
                self.last = None
            else:
                self.state = o["op"]


def follow(lines, wait):
    vcpus = {}
    for line in lines:
        o = json.loads(line)
        vcpus.setdefault(o["tid"], Vcpu()).take(o, wait)
    return vcpus.values()


def reset(tools, target):
    """The first instruction after the reset; None: the machine has not run since."""
    command = firmware.first(tools, target)
    command.remove("-no-reboot")
    trace = os.path.join(tools.work, "power-%s.ctr" % target)
    for seconds in (0.3, 1, 3, 10):
        recorder = subprocess.Popen([tools.program("cannoli-record"), "-q", "--events", "exec,pwr",
                                     "-o", trace, "--", *command],
                                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE)
        time.sleep(seconds)
        recorder.stdin.write(b"system_reset\n")
        recorder.stdin.flush()
        time.sleep(seconds)
        _, error = recorder.communicate(b"quit\n", timeout=common.PATIENCE)
        if recorder.returncode:
            raise Failure("status %d: %s" % (recorder.returncode, error.decode()[-300:]))
        for line in common.dump_lines(tools, trace, "--events", "pwr"):
            o = json.loads(line)
            if o["op"] == "reset":
                after = common.dump_lines(tools, trace, "--events", "exec", "--from",
                                          str(o["ordinal"]), "--count", "1")
                after = [json.loads(line) for line in after]
                common.drop_file(trace)
                if after:
                    return int(after[0]["pc"], 16)
    return None


def followed(tools, target, more, main=None):
    """A program's vCPUs: how often they halt and are off"""
    trace, _, _ = machines.record(tools, target, ("--events", "exec,pwr"), more, main)
    vcpus = follow(common.dump_lines(tools, trace, "--events", "exec,pwr"), WAITS[target])
    common.drop_file(trace)
    return sum(v.halts for v in vcpus), sum(v.offs for v in vcpus)


def power(tools, target):
    if target not in machines.MACHINES:
        raise Skip("no program for it")
    several = target in ("aarch64-softmmu", "arm-softmmu")
    halts, offs = followed(tools, target, machines.several(target) if several else [])
    if not halts or (several and offs < 3):
        raise Failure("%d halts, %d times off" % (halts, offs))
    said = "%d halts, %d times off" % (halts, offs)
    if target == "x86_64-softmmu":  # its vCPUs halt before they start, and at their end
        halts, _ = followed(tools, target, machines.several(target), machines.VCPUS_PROGRAM[target])
        if halts != 6:
            raise Failure("three vCPUs that start and end halt %d times" % halts)
        said += ", %d halts of several" % halts
    if target not in RESET_VECTOR:
        return said
    pc = reset(tools, target)
    if pc != RESET_VECTOR[target]:
        raise Failure("after the reset it is at %r" % pc)
    return "%s, reset to 0x%x" % (said, pc)


RUN = {"power": power}
