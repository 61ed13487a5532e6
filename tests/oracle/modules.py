# SPDX-License-Identifier: MIT
"""Names of what drivers execute that a machine's Linux has loaded, and of the kernel itself where
it has put itself at random (KASLR).

modules    each address of a module that runs has the function and offset that the kernel's own
           /proc/kallsyms gives it, by the module's file, wherever the kernel put it; each
           address of some functions of the kernel has theirs, by the kernel's image
"""
import bisect
import collections
import json
import os
import re
import subprocess

import common
import linux
import machines
import ram
from common import Failure

DRIVERS = {
    "aarch64-softmmu": "virtio_ring virtio virtio_mmio",
    "x86_64-softmmu": "virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci",
}
NAMES = {target: ["modules"] for target in DRIVERS}
# Where its code is without a slide
LINKED = {"aarch64-softmmu": 0xffff800008010000, "x86_64-softmmu": 0xffffffff81000000}
FUNCTIONS = "__schedule kfree vfs_read vfs_write do_idle kmem_cache_alloc d_lookup _stext".split()
DEVICE = {"aarch64-softmmu": "virtio-balloon-device", "x86_64-softmmu": "virtio-balloon-pci"}
INIT = """#!/bin/sh
mount -t proc proc /proc
for m in %s; do busybox insmod /drivers/$m.ko || echo "no driver $m"; done
echo "begin"
cat /proc/modules
busybox grep '\\[' /proc/kallsyms
busybox grep -A3 -E ' [tT] (%s)$' /proc/kallsyms
echo "end"
poweroff -f
"""
# Pieces of code for jumps that are too far, of which a kernel at random has more, are no functions
# of the file: they have the module's name only.
FEW = 20
PIECES = 1 / 4


def said(console):
    """The address and size of each module, and its symbols of code by address."""
    bases, symbols = {}, collections.defaultdict(lambda: collections.defaultdict(set))
    for m in re.finditer(r"^(\w+) (\d+) .* 0x([0-9a-f]+)", console, re.M):
        bases[m[1]] = int(m[3], 16), int(m[2])
    for m in re.finditer(r"^([0-9a-f]{16}) [tTwW] (\S+)\t\[(\w+)\]", console, re.M):
        if m[2][0] != "$":
            symbols[m[3]][int(m[1], 16)].add(m[2])
    return bases, symbols


def compare(tools, trace, files, base, size, symbols):
    """The number of addresses that ran in a module, and of those with another name."""
    command = [tools.program("tracesym"), "-q", "--json", "-e", "exec", "--pc",
               "0x%x+0x%x" % (base, size), *files, trace]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 4):
        raise Failure("tracesym: status %d: %s" % (done.returncode, done.stderr))
    begins, names = sorted(symbols), {}
    for row in map(json.loads, done.stdout.splitlines()):
        names[int(row["pc"], 16)] = row.get("function"), row.get("offset")
    wrong = []
    for pc, name in names.items():
        i = bisect.bisect_right(begins, pc) - 1
        if i < 0 or name not in {(f, hex(pc - begins[i])) for f in symbols[begins[i]]}:
            wrong.append((hex(pc), name, i >= 0 and symbols[begins[i]]))
    return len(names), wrong


def kernel(tools, target, trace, console):
    """The number of addresses that ran in functions of the kernel."""
    lines = [(int(m[1], 16), m[2]) for m in
             re.finditer(r"^([0-9a-f]{16}) [tTwW] (\S+)$", console, re.M)]
    begins = {name: addr for addr, name in lines if name in FUNCTIONS}
    if set(begins) != set(FUNCTIONS) or begins["_stext"] == LINKED[target]:
        raise Failure("no slide, or functions are missing: %r" % begins)
    files = ["--kallsyms", linux.kernel(tools, target)]
    total = 0
    for name in FUNCTIONS[:-1]:
        end = min(addr for addr, _ in lines if addr > begins[name])
        same = {begins[name]: {n for addr, n in lines if addr == begins[name]}}
        n, wrong = compare(tools, trace, files, begins[name], end - begins[name], same)
        if wrong or not n:
            raise Failure("%s: of %d addresses that ran %d have another name: %s"
                          % (name, n, len(wrong), wrong[:5]))
        total += n
    return total


def modules(tools, target, _full):
    names = DRIVERS[target]
    drivers = list(ram.drivers(tools, target, names))
    command = linux.command(tools, target, machines.CLOCK, "quiet", files=drivers, vcpus=1,
                            init=INIT % (names, "|".join(FUNCTIONS)))
    command = [w.replace("nokaslr", "").replace("dtb-randomness=off", "dtb-randomness=on")
               for w in command] + ["-device", DEVICE[target]]
    trace = os.path.join(tools.work, "modules-%s.ctr" % target)
    recorded = common.record(tools, trace, command, options=("--events", "exec"))
    console = recorded.stdout.decode(errors="replace").replace("\r", "")
    if recorded.status or "no driver" in console or "\nend\n" not in console:
        raise Failure("status %d: %r" % (recorded.status, console[-900:]))
    console = console.partition("begin\n")[2]
    bases, symbols = said(console)
    # What ran too little to be found has its place from there.
    copy = os.path.join(tools.work, "modules-%s.txt" % target)
    with open(copy, "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in console.splitlines() if " 0x" in line)
    files = ["--kallsyms", copy]
    for name, _, data in drivers:
        path = os.path.join(tools.work, os.path.basename(name))
        with open(path, "wb") as f:
            f.write(data)
        files += ["--elf", path]
    total = wrong = 0
    for name in names.split():
        n, others = compare(tools, trace, files, *bases[name], symbols[name])
        pieces = [o for o in others if o[1][0] == "[%s]" % name]
        total += n
        wrong += len(others) - len(pieces)
        if wrong > FEW or len(pieces) > max(FEW, PIECES * n):
            raise Failure("%s: of %d addresses %d have another name: %s"
                          % (name, n, len(others), others[:5]))
    if total < 200:
        raise Failure("only %d addresses of modules ran" % total)
    of_kernel = kernel(tools, target, trace, console)
    common.drop_file(trace)
    return "%d addresses of %d modules, %d of the kernel" % (total, len(bases), of_kernel)


RUN = {"modules": modules}
