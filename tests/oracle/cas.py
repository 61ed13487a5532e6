#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compare-and-swap by several threads on the same words.

  cas.py [--build DIR] [--target T]...

The guest (tests/guests/cas.c) reports which numbers must have been stored in each word,
each once, and how many attempts failed.  The trace must have exactly these stores,
made by instructions or by the system instead of them (arm's kernel helpers, hppa's
light-weight system calls): a failed attempt is no store, and each store has the value
that this attempt wrote.  If one instruction loads and stores, the numbers must
be consecutive: each store finds the value of the store before it.

On x86 a comparison that fails stores the old value; these stores are counted.

A target whose compiler or QEMU is missing is skipped; exit status 77 if all are.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import common
from common import Failure, Skip

# Also targets that the other tests of this folder do not cover.
COMPILERS = {"arm": ("arm-linux-gnueabi-gcc", "-march=armv7-a"),
             "aarch64": ("aarch64-linux-gnu-gcc",),
             "mipsel": ("mipsel-linux-gnu-gcc",),
             "mips": ("mips-linux-gnu-gcc",),
             "riscv64": ("riscv64-linux-gnu-gcc",),
             "x86_64": ("x86_64-linux-gnu-gcc",),
             "i386": ("i686-linux-gnu-gcc",),
             "s390x": ("s390x-linux-gnu-gcc", "-march=z13"),
             "ppc64le": ("powerpc64le-linux-gnu-gcc",),
             "hppa": ("hppa-linux-gnu-gcc",),
             "sparc64": ("sparc64-linux-gnu-gcc",)}
BIG_ENDIAN = {"mips", "s390x", "hppa", "sparc64"}
X86 = {"x86_64", "i386"}


def number(v):
    return int(v, 0) if isinstance(v, str) else v


def build(target, folder):
    compiler, *flags = COMPILERS[target]
    if not shutil.which(compiler):
        raise Skip("no %s" % compiler)
    path = os.path.join(folder, "cas-" + target)
    source = os.path.join(common.GUESTS, "cas.c")
    done = subprocess.run([compiler, *flags, "-O1", "-static", "-pthread", "-o", path, source,
                           "-Wl,--as-needed", "-latomic"], capture_output=True, text=True)
    if done.returncode:
        # a compiler without its C library, or a library without this archive
        done = subprocess.run([compiler, *flags, "-O1", "-static", "-pthread", "-o", path, source],
                              capture_output=True, text=True)
    if done.returncode:
        raise Skip("%s: %s" % (compiler, done.stderr.strip()[-200:]))
    return path


class Word:
    def __init__(self, line):
        _, self.way, addr, size, last, failed = line.split()
        self.addr, self.size, self.last = int(addr, 16), int(size), int(last)
        self.failed = int(failed)
        self.stores = []    # numbers
        self.pairs = []     # (number found, number stored) of one instruction
        self.kept = 0       # x86: failures, which store the old value
        self.alone = 0      # loads without a store, by an instruction that may make both

    def __str__(self):
        return "%s of %d bytes" % (self.way, self.size)

    def part(self, addr, size, value, big_endian):
        """The word's bytes of an access, as a number; None: it does not contain them."""
        if addr > self.addr or addr + size < self.addr + self.size:
            return None
        data = value.to_bytes(size, "big" if big_endian else "little")
        at = self.addr - addr
        whole = int.from_bytes(data[at:at + self.size], "big" if big_endian else "little")
        if self.size == 8:
            if whole >> 32 != whole & 0xffffffff:
                raise Failure("%s: %#x is no value that was written" % (self, whole))
            whole >>= 32
        return whole


def read_accesses(tools, trace, words, big_endian):
    """Stores of instructions, with the value that the load before them in it found."""
    ranges = ",".join("0x%x-0x%x" % (w.addr & ~7, w.addr + 8) for w in words)
    last = None
    for line in common.dump_lines(tools, trace, "--events", "mem,val", "--addr", ranges):
        e = json.loads(line)
        if e["kind"] not in ("load", "store"):
            continue
        addr = number(e["addr"])
        for w in words:
            if not w.addr & ~7 <= addr < w.addr + 8:
                continue
            n = w.part(addr, e["size"], number(e["value"]), big_endian)
            if n is None:
                if e["kind"] == "load":
                    continue
                raise Failure("%s: a store to a part of it: %s" % (w, line.strip()))
            place = e["tid"], e["ordinal"], addr
            if e["kind"] == "load":
                last = (place, n)
            else:
                w.stores.append(n)
                if last and last[0] == place:
                    w.pairs.append((last[1], n))
                last = None


def read_system(tools, trace, words, big_endian):
    """Stores that the system made, outside of its calls."""
    for line in common.dump_lines(tools, trace, "--events", "sys"):
        e = json.loads(line)
        if e["kind"] != "memory" or e["op"] != "write":
            continue
        addr = number(e["addr"])
        for w in words:
            if w.addr & ~7 <= addr < w.addr + 8:
                data = bytes.fromhex(e["data"])
                n = w.part(addr, e["size"], int.from_bytes(
                    data, "big" if big_endian else "little"), big_endian)
                if n is None:
                    raise Failure("%s: the system wrote a part of it: %s" % (w, line.strip()))
                w.stores.append(n)


def judge(target, w):
    if target in X86:
        w.kept = sum(a == b for a, b in w.pairs)
        if w.failed >= 0 and w.kept != w.failed:
            raise Failure("%s: %d attempts failed, the trace has %d" % (w, w.failed, w.kept))
        made = [b for a, b in w.pairs if a != b]
        if len(w.pairs) != len(w.stores):
            raise Failure("%s: a store without a load" % w)
    else:
        made = w.stores
        same = [a for a, b in w.pairs if a == b]
        if same:
            raise Failure("%s: %d attempts that failed are stores" % (w, len(same)))
    wanted = set(range(1, w.last + 1))
    twice = len(made) - len(set(made))
    if set(made) != wanted or twice:
        strange = sorted(set(made) - wanted)[:5]
        raise Failure("%s: %d stores instead of %d: %d are missing, %d are there twice%s"
                      % (w, len(made), w.last, len(wanted - set(made)), twice,
                         ", and there are %s" % strange if strange else ""))
    for a, b in w.pairs:
        if a != b and w.way != "conditional" and b != a + 1:
            raise Failure("%s: %d was stored where there was %d" % (w, b, a))


def run_target(tools, target):
    qemu = tools.qemu(target)
    path = build(target, tools.work)
    trace = os.path.join(tools.work, "cas-%s.ctr" % target)
    run = common.record(tools, trace, [qemu, path], cwd=tools.work,
                        options=("--events", "exec,mem,val,sys"))
    if run.status != 0:
        raise Failure("exit status %d: %s" % (run.status, run.stderr.strip()[-300:]))
    words = [Word(line) for line in run.stdout.decode().splitlines()]
    read_accesses(tools, trace, words, target in BIG_ENDIAN)
    read_system(tools, trace, words, target in BIG_ENDIAN)
    for w in words:
        judge(target, w)
    common.drop_file(trace)
    return "%d words, %d stores, %d attempts failed" % (
        len(words), sum(w.last for w in words), sum(max(w.failed, 0) for w in words))


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--target", action="append", choices=COMPILERS)
    ap.add_argument("--build", default=os.environ.get("CANNOLI_BUILD_DIR",
                                                      os.path.join(common.ROOT, "build")))
    args = ap.parse_args()
    count = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    with tempfile.TemporaryDirectory(prefix="cas.") as work:
        tools = common.Tools(args.build, work)
        for target in args.target or COMPILERS:
            try:
                text, word = run_target(tools, target), "PASS"
            except Failure as err:
                text, word = str(err), "FAIL"
            except Skip as err:
                text, word = str(err), "SKIP"
            count[word] += 1
            print("%s cas:%s %s" % (word, target, text), flush=True)
    return 1 if count["FAIL"] else 0 if count["PASS"] else 77


if __name__ == "__main__":
    sys.exit(main())
