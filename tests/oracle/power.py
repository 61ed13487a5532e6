# SPDX-License-Identifier: MIT
"""Events of vCPUs that wait, are off or were reset.

power   each vCPU that halts has just executed an instruction that does, and executes none
        before it goes on; reset by QEMU's monitor, firmware begins again at its reset vector
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
            if o["op"] == "halt" and self.last != wait:
                raise Failure("halts after %s: %r" % (self.last, o))
            if o["op"] == "wake" and self.state == "wake":
                raise Failure("goes on, but did not wait: %r" % o)
            self.halts += o["op"] == "halt"
            self.offs += o["op"] == "off"
            self.state = self.state if o["op"] == "reset" else o["op"]


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


def power(tools, target):
    if target not in machines.MACHINES:
        raise Skip("no program for it")
    several = target in ("aarch64-softmmu", "arm-softmmu")
    trace, _, _ = machines.record(tools, target, ("--events", "exec,pwr"),
                                  ["-smp", "4"] if several else [])
    vcpus = follow(common.dump_lines(tools, trace, "--events", "exec,pwr"), WAITS[target])
    common.drop_file(trace)
    halts, offs = sum(v.halts for v in vcpus), sum(v.offs for v in vcpus)
    if not halts or (several and offs < 3):
        raise Failure("%d halts, %d times off" % (halts, offs))
    said = "%d halts, %d times off" % (halts, offs)
    if target not in RESET_VECTOR:
        return said
    pc = reset(tools, target)
    if pc != RESET_VECTOR[target]:
        raise Failure("after the reset it is at %r" % pc)
    return "%s, reset to 0x%x" % (said, pc)


RUN = {"power": power}
