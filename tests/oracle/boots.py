# SPDX-License-Identifier: MIT
"""Long runs of machines, in the full run: the instructions in their order, and the addresses and
sizes of what they loaded and stored, as a plugin of ours sees them with one-insn-per-tb: windows.h.

boot       a whole boot of Debian's kernel, from its first instruction to the power switch; of
           one that is never the same (ppc64, s390x) the plugin is in the recorded run, and only
           the order of instructions is compared: it shows the store of a compare-and-swap that
           fails, and does not see what some helpers access
far        firmware, as far as it takes to get into what it starts: U-Boot after OpenSBI, EDK2's
           later phases
"""
import os
import shlex
import subprocess
import time

import common
import firmware
import linux
import machines
from common import Failure, Skip

NAMES = {**{target: ["boot", "far"] for target in ("aarch64-softmmu", "x86_64-softmmu", "riscv64-softmmu")},
         "arm-softmmu": ["far"], "ppc64-softmmu": ["boot"], "s390x-softmmu": ["boot"]}
FAR = 40000000  # instructions; OpenSBI takes 12 million


def plugin(tools):
    """Built here, with the header that QEMU's plugins were built with."""
    header = os.path.join(tools.plugins, "qemu-plugin.h")
    if not os.path.exists(header):
        raise Skip("no " + header)
    flags = subprocess.run(["pkg-config", "--cflags", "glib-2.0"], capture_output=True, text=True)
    if flags.returncode:
        raise Skip("no glib-2.0")
    out = os.path.join(tools.work, "windows.%d.so" % os.getpid())
    common.compile_library(out, os.path.join(common.HERE, "windows_plugin.c"), "-I" + tools.plugins,
                           *shlex.split(flags.stdout))
    return out


def lines_of(tools, trace, *options):
    done = subprocess.run([tools.windows, *options, trace], capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.stderr.strip())
    return done.stdout.splitlines()


def same(what, seen, wanted, columns=None):
    """Windows are what the plugin has, or so many columns of each."""
    for a, b in zip(seen, wanted):
        if a.split()[:columns] != b.split()[:columns]:
            raise Failure("%s: up to instruction %s: %s, the plugin has %s"
                          % (what, a.split()[0], a, b))


def boot(tools, target, full):
    if not full:
        raise Skip("in the full run only")
    library = plugin(tools)
    command = linux.command(tools, target, machines.CLOCK, "quiet", vcpus=1)
    trace = os.path.join(tools.work, "boot-%s.ctr" % target)
    witness = trace + ".witness"
    watched = [*command, "-plugin", "%s,out=%s" % (library, witness)]
    varies = target in machines.VARY
    recorded = common.record(tools, trace, watched if varies else command,
                             options=("--events", "exec,mem"))
    printed = recorded.stdout if varies else subprocess.run(
        [*watched, "-accel", "tcg,one-insn-per-tb=on"], stdin=subprocess.DEVNULL,
        capture_output=True, timeout=common.PATIENCE).stdout
    if printed != recorded.stdout or b"end\r\n" not in printed:
        raise Failure("the console has %r, recorded %r" % (printed[-200:], recorded.stdout[-200:]))
    with open(witness, encoding="ascii") as f:
        wanted = f.read().splitlines()
    seen = lines_of(tools, trace)
    # The machine runs on until QEMU notices the power switch, which takes a while where others
    # keep the processors busy.
    whole = min(len(seen), len(wanted)) - 1
    same(target, seen[:whole], wanted, 2 if varies else None)
    if abs(len(seen) - len(wanted)) > 50 or whole < 1000:
        raise Failure("%d windows, the plugin has %d" % (len(seen), len(wanted)))
    less = lines_of(tools, trace, "--forget", "100000000")
    if [a == b for a, b in zip(seen[:whole], less)].count(False) != 1:
        raise Failure("a missing access is not noticed")
    for path in (trace, witness, library):
        common.drop_file(path)
    return "%s instructions in %d windows" % (seen[whole - 1].split()[0], whole)


def run_plugin(words, library, witness, lines):
    """What the plugin has of the machine when it has so many lines; QEMU's monitor ends it."""
    plain = subprocess.Popen([*words, "-accel", "tcg,one-insn-per-tb=on", "-plugin",
                              "%s,out=%s" % (library, witness)],
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    wanted = []
    while len(wanted) < lines and plain.poll() is None:
        time.sleep(0.2)
        if os.path.exists(witness):
            with open(witness, encoding="ascii") as f:
                wanted = f.read().splitlines()
    plain.communicate(b"quit\n", timeout=common.PATIENCE)
    return wanted


def far(tools, target, full):
    if not full:
        raise Skip("in the full run only")
    library = plugin(tools)
    said = []
    for options in firmware.FIRMWARE[target]:
        name = options.split()[-1]
        words = firmware.command(tools, target, options)
        trace = firmware.record(tools, target, words, FAR, "exec,mem")
        seen = lines_of(tools, trace)[:-1]
        wanted = run_plugin(words, library, trace + ".witness", len(seen))
        same(name, seen, wanted)
        if len(wanted) < len(seen) or len(seen) < 100:
            raise Failure("%s: %d windows, the plugin has %d" % (name, len(seen), len(wanted)))
        for path in (trace, trace + ".witness"):
            common.drop_file(path)
        said.append("%s %s instructions" % (name, seen[-1].split()[0]))
    common.drop_file(library)
    return "; ".join(said)


RUN = {"boot": boot, "far": far}
