#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random programs, compared event by event.

  randomrun.py --target T --seed S --count N     programs 0..N-1 of a seed
  randomrun.py --target T --seed S --only K      program K alone
  randomrun.py --target T --seed S --only K --show    its text

Program K of seed S has the same text on every machine: a function of straight
code, forward branches, loops of a few rounds and calls, built from the
templates of isa.py.  Many functions make one executable with random_harness.c;
every second hundred or so runs in QEMU's parallel context, where atomic operations
are helpers or single steps.

QEMU itself is not always the same in blocks of one instruction (isa.py names two
cases).  If pcs or accesses differ, but the accesses that the mem plugin sees in
ordinary blocks equal the trace's, the batch is named in the summary, its one
differing program is left out and the others are compared again.
"""
import argparse
import os
import random
import re
import shlex
import subprocess
import sys

import common
from common import Failure, Skip, TARGETS
from isa import ISAS
from table import COMMON, LINK

BATCH = 125
CPU = {"x86_64": "max", "i386": "max", "s390x": "max", "riscv64": "max", "aarch64": "max"}
FLAGS = {"x86_64": "-D_GNU_SOURCE", "i386": "-D_GNU_SOURCE",
         "arm": "-Wa,-mimplicit-it=always", "thumb": "-Wa,-mimplicit-it=always"}
TOKEN = re.compile(r"\{\{|\}\}|\{(\w+)\}")


class Writer:
    def __init__(self, target, seed, number):
        self.isa = ISAS[target]
        self.rng = random.Random("%s %d %d" % (target, seed, number))
        self.number = number
        self.lines = []

    def fill(self, text, **words):
        rng = self.rng

        def one(m):
            name = m.group(1)
            if not name:
                return m.group(0)[0]
            if name in words:
                return str(words[name])
            if name in self.isa.lists:
                return rng.choice(self.isa.lists[name])
            if name == "u":
                return str(rng.randrange(1000))
            if name == "sh":
                return str(rng.randrange(1, 16))
            size = int(name[1:])
            if name[0] == "i":
                return str(rng.randrange(1 << size))
            if name[0] == "o":
                return str(rng.randrange(1000 // size) * size)
            if name[0] == "s":
                return str(rng.randrange(252 // size) * size)
            if name[0] == "f":
                return str(rng.randrange(16 // size) * size)
            if name[0] == "x":
                return str(rng.randrange(0xe0, 0x100))
            raise KeyError(name)
        return TOKEN.sub(one, text)

    def put(self, text, **words):
        self.lines += ["\t" + part.strip() for part in self.fill(text, **words).split(";")]

    def label(self, n):
        return ".Lp%d_%d" % (self.number, n)

    def write(self):
        isa, rng = self.isa, self.rng
        weights = [w for w, _ in isa.templates]
        texts = [t for _, t in isa.templates]
        blocks = rng.randrange(3, 9)
        self.lines = ["\t.globl prog_%d" % self.number, "\t.balign 8",
                      "\t.type prog_%d, %%function" % self.number]
        if isa.function:
            self.lines.append("\t" + isa.function)
        self.lines.append("prog_%d:" % self.number)
        self.put(isa.prologue)
        for register in next(iter(isa.lists.values())):
            value = rng.choice([rng.randrange(1 << 31), rng.randrange(300), 0xffff])
            self.put(isa.setreg(register, value))
        for b in range(blocks):
            looping = rng.random() < 0.3
            self.lines.append("%s:" % self.label(b))
            if looping:
                self.put(isa.loop[0], n=rng.randrange(1, 6))
                self.lines.append("%s:" % self.label(100 + b))
            length = rng.randrange(100, 400) if rng.random() < 0.02 else rng.randrange(2, 9)
            for text in rng.choices(texts, weights, k=length):
                self.put(text)
            if rng.random() < 0.15:
                self.put(rng.choice(isa.call), leaf=".Lleaf%d" % self.number)
            if looping:
                self.put(isa.loop[1], label=self.label(100 + b))
            elif rng.random() < 0.5:
                self.put(rng.choice(isa.branch), label=self.label(rng.randrange(b + 1, blocks + 1)))
        self.lines.append("%s:" % self.label(blocks))
        self.put(isa.epilogue)
        self.lines += ["\t.type .Lleaf%d, %%function" % self.number]
        if isa.function:
            self.lines.append("\t" + isa.function)
        self.lines.append(".Lleaf%d:" % self.number)
        self.put(rng.choice(texts[:8]))
        self.put(isa.leaf)
        return "\n".join(self.lines)


def source(target, seed, numbers):
    isa = ISAS[target]
    word = ".long" if target in ("arm", "thumb", "mips", "mipsel", "i386") else ".quad"
    section = '.section .rtext, "awx", %progbits' if isa.writable else ".text"
    text = [section, isa.preamble]
    text += [Writer(target, seed, n).write() for n in numbers]
    text += ['\t.section .rodata', '\t.balign 8', '\t.globl program_table', 'program_table:']
    text += ["\t%s prog_%d" % (word, n) for n in numbers]
    text += ['\t.globl program_count', 'program_count:', '\t.long %d' % len(numbers),
             '\t.section .note.GNU-stack, "", %progbits', ""]
    return "\n".join(text)


def build(tools, target, seed, numbers):
    t = TARGETS[target]
    stem = os.path.join(tools.work, "random-%s-%d-%d" % (target, seed, numbers[0]))
    with open(stem + ".s", "w") as f:
        f.write(source(target, seed, numbers))
    done = subprocess.run([t.cc] + shlex.split(COMMON + " " + LINK["static"]) + shlex.split(t.flags)
                          + shlex.split(FLAGS.get(target, "")) + ["-I", common.GUESTS,
                          os.path.join(common.HERE, "random_harness.c"), stem + ".s", "-o", stem],
                          capture_output=True, text=True)
    if done.returncode:
        raise Failure("cannot build: %s" % done.stderr.strip()[:2000])
    return stem


def program_at(target, path, text):
    """The generated function that contains a difference, by the pc in the text."""
    nm = TARGETS[target].tool("nm")
    places = []
    for line in subprocess.run([nm, path], capture_output=True, text=True).stdout.splitlines():
        word = line.split()
        if len(word) == 3 and word[2].startswith("prog_"):
            places.append((int(word[0], 16), int(word[2][5:])))
    places.sort()
    for name in ("witness", "both"):
        for m in reversed(re.findall(r"^  %s +#\d+ pc 0x([0-9a-f]+)" % name, text, re.M)):
            inside = [n for at, n in places if at <= int(m, 16)]
            if inside and int(m, 16) < places[-1][0] + 4096:
                return inside[-1]
    return None


def run_batch(tools, target, seed, numbers, rounds=1):
    path = build(tools, target, seed, numbers)
    guest = ([tools.qemu(target)] + common.guest_options(target, CPU.get(target))
             + ["./" + os.path.basename(path)]
             + ["parallel" if numbers[0] // BATCH % 2 else "serial", str(rounds)])
    guest, environment = common.equal_runs(tools, guest)
    trace = path + ".ctr"
    recorded = common.record(tools, trace, guest, environment, tools.work,
                             options=("--events", "exec,mem,val"),
                             idle=tools.plugin() if target in common.SLIDE else None)
    if recorded.status:
        raise Failure("programs %d..%d of seed %d: exit status %d: %s"
                      % (numbers[0], numbers[-1], seed, recorded.status,
                         recorded.stderr.strip()[-300:]))
    try:
        summary, witness = common.compare_exactly(tools, target, guest, trace, environment,
                                                  tools.work, values=True)
    except Failure as err:
        guilty = program_at(target, path, str(err))
        # Does QEMU itself behave differently in long blocks?  Then the mem plugin's
        # accesses in such blocks decide.
        try:
            summary, witness = common.compare_exactly(tools, target, guest, trace, environment,
                                                      tools.work, blocks=True, values=True)
            if witness.stdout == recorded.stdout and guilty is not None:
                return 0, "QEMU itself differs in program %s" % guilty
        except Failure:
            pass
        raise Failure("%s: randomrun.py --target %s --seed %d --only %s\n%s"
                      % (os.path.basename(path), target, seed, guilty, err))
    if witness.stdout != recorded.stdout:
        raise Failure("recorded %r, unrecorded %r" % (recorded.stdout, witness.stdout))
    for suffix in ("", ".s", ".ctr"):
        common.drop_file(path + suffix)
    return int(re.search(r"equal: (\d+)", summary).group(1)), recorded.stdout.decode()


def run_target(tools, target, seed, count, first=0, rounds=1):
    total, finished, faults, wrong, notes = 0, 0, 0, [], []
    for at in range(first, first + count, BATCH):
        numbers = list(range(at, min(at + BATCH, first + count)))
        try:
            instructions, said = run_batch(tools, target, seed, numbers, rounds)
            while said.startswith("QEMU"):
                notes.append(said)
                numbers.remove(int(said.split()[-1]))
                instructions, said = run_batch(tools, target, seed, numbers, rounds)
        except Failure as err:
            wrong.append(str(err))
            continue
        total += instructions
        m = re.match(r"(\d+) of \d+ finished, (\d+) faults", said)
        finished += int(m.group(1))
        faults += int(m.group(2))
    if wrong:
        raise Failure("%d of %d batches differ\n%s"
                      % (len(wrong), (count + BATCH - 1) // BATCH, "\n".join(wrong[:4])))
    return ("%d programs of seed %d equal: %d instructions, %d ran to their end, %d faults%s"
            % (count, seed, total, finished, faults, "".join("; " + n for n in notes)))


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--target", required=True, choices=TARGETS)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--count", type=int, default=100)
    ap.add_argument("--first", type=int, default=0, help="number of the first program")
    ap.add_argument("--only", type=int, help="this program alone")
    ap.add_argument("--rounds", type=int, default=1, help="run each program so often")
    ap.add_argument("--show", action="store_true", help="print the text instead")
    ap.add_argument("--build", default=os.environ.get("CANNOLI_BUILD_DIR",
                                                      os.path.join(common.ROOT, "build")))
    ap.add_argument("--work", help="folder for traces (kept); default: a temporary one")
    args = ap.parse_args()
    numbers = [args.only] if args.only is not None else range(args.first, args.first + args.count)
    if args.show:
        print(source(args.target, args.seed, list(numbers)))
        return 0
    work, temporary = common.work_folder(args.work)
    try:
        tools = common.Tools(args.build, work)
        if args.only is not None:
            print(run_batch(tools, args.target, args.seed, [args.only], args.rounds)[1].strip(), "equal")
        else:
            print(run_target(tools, args.target, args.seed, args.count, args.first,
                             args.rounds))
        return 0
    except (Failure, Skip) as err:
        print(err)
        return 1
    finally:
        if temporary:
            common.drop_folder(work)


if __name__ == "__main__":
    sys.exit(main())
