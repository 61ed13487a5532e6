# SPDX-License-Identifier: MIT
"""What recording a machine costs: a kernel boots to a shell, which does some work and switches
the machine off (tests/oracle/linux.py), in every run the same, because its clock counts
instructions."""
import os
import sys
from types import SimpleNamespace

from . import choices, recording
from .programs import HERE, Command, Program, Programs

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "oracle"))
import common  # noqa: E402
import linux  # noqa: E402
import machines  # noqa: E402

# (architecture, vCPUs)
BOOTS = [("aarch64", 1), ("aarch64", 2), ("riscv64", 1), ("x86_64", 1)]
SETS = ["exec", "mem", "default"]
# The kinds that are recorded by default have some that no range leaves out: exceptions, tasks,
# devices, DMA.
CHOICES = {"nothing": [*choices.CHOICES["nothing"], "--events", "exec,mem"],
           "nothing, default": choices.CHOICES["nothing"]}


def find(args, tmp):
    """Programs whose name contains args.only, and the reasons why others cannot run."""
    tools = SimpleNamespace(qemu_dir=args.qemu_dir, work=tmp, sysroot=args.sysroot)
    result = Programs()
    for architecture, vcpus in BOOTS:
        name = "boot %s%s" % (architecture, ", %d vCPUs" % vcpus if vcpus > 1 else "")
        if args.only not in name:
            continue
        try:
            line = linux.command(tools, architecture + "-softmmu", machines.CLOCK, "quiet", vcpus)
        except common.Skip as e:
            result.missing.append("%s: %s" % (name, e))
            continue
        result.found.append(Program(name, os.path.basename(line[0]),
                                    lambda scale, line=line: Command(line[1:]), machine=True))
    return result


def measure(context, program):
    """Results for one machine, ready for JSON."""
    result = recording.measure(context, program, SETS)
    result["choices"] = choices.measure(context, program, CHOICES)["choices"]
    return result
