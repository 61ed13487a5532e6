# SPDX-License-Identifier: MIT
"""A recording of a part of a machine is the same part of a recording of everything.

chosen     the machine's program does the same each time: it is recorded whole, and once for
           each way of choosing, as programs are in choices.py
ring       a program that counts for ever, recorded with --ring: the ring has all up to where the
           machine stopped, and its begin and end are those of another recording
"""
import json

import choices
import common
import firmware
import machines
import outside
from choices import System
from common import Failure

NAMES = {target: ["chosen", "ring"] for target in machines.MACHINES}
EVENTS = ("--events", "exec,mem,val,int,ctx")
# The target whose instructions these are, in choices.py
LIKE = {"armv7m-softmmu": "thumb"}
# Mnemonics, where not those of choices.py: an exception in an IT block returns into it, and the
# block that QEMU begins there does not know the conditions that are part of these names
OPCODES = {"armv7m-softmmu": ("cmp", "bl")}
# Where an address space has an event; how many page tables the program uses, 0 among them
TABLES = {"aarch64-softmmu": 2, "arm-softmmu": 3, "riscv32-softmmu": 2, "riscv64-softmmu": 2,
          "x86_64-softmmu": 2}
START = System({"kind": "context", "ordinal": 0, "table": "0x0", "asid": 0, "id": 0})
ROUNDS = 30000  # four times what a ring of 1 MiB holds
TAIL = 3000     # instructions


class Machine(choices.Checker):
    """A machine's program, up to the instruction that switches the machine off."""

    def __init__(self, tools, target):
        self.tools, self.machine = tools, target
        self.target = LIKE.get(target, machines.architecture(target))
        self.program = choices.Program(self.target, machines.program_of(tools, target),
                                       machines.MACHINES[target].cc.replace("gcc", "objdump"))
        self.modules = self.slides = self.clock = False
        self.said, self.wrong = [], []
        self.end = machines.symbol(tools, target, "machine_ends")
        self.full = self.recording()

    def record(self, *options, events=EVENTS):
        return machines.record(self.tools, self.machine, (*events, *options))[0]

    def recording(self, *options):
        return self.up_to_end(super().recording(*options))

    def up_to_end(self, recording):
        """... and without what RAM held at first: in it are random numbers for a system."""
        recording.pid = 0  # no value is the number of a process
        recording.items = [i for i in recording.items if (
            i.kind != "ram" if isinstance(i, System) else not self.end < i.pc < self.end + 16)]
        return recording

    def code(self):
        """(options, predicate): of the program's functions objdump knows each instruction, but
        machine_main() has data among them."""
        low, high = min(a for _, a, _ in self.program.spans), max(b for _, _, b in self.program.spans)
        a, b = self.program.functions["machine_main"]
        return (("--range", "0x%x-0x%x" % (low, high), "--not", "--range", "0x%x-0x%x" % (a, b)),
                lambda i: low <= i.pc < high and not a <= i.pc < b)

    def during(self, chosen):
        """What happens while chosen(ordinal, page table).  That another page table is used is
        recorded when it matters: with what is recorded then."""
        changes = {i.ordinal: i for i in self.full.items if isinstance(i, System) and i.kind == "context"}
        out, last, now, table = [], START, START, "0x0"
        for i in self.full.items:
            if i.ordinal in changes:
                table = json.loads(changes[i.ordinal].text)["table"]
            if i is changes.get(i.ordinal):
                now = i
            if chosen(i.ordinal, table):
                if now.text != last.text:
                    out.append(now)
                    last = now
                if not isinstance(i, System) or i.kind != "context":
                    out.append(i)
        return out

    def tables(self):
        return sorted({"0x0", *(json.loads(i.text)["table"] for i in self.full.items
                                if isinstance(i, System) and i.kind == "context")})

    def once(self):
        """Each instruction until it has run once without a fault; whether one that always
        faults is there again is not determined."""
        part = self.recording("--once")
        expected, tried = [], set()
        for i in self.first_times():
            if isinstance(i, choices.Insn) and i.faulted:
                key = i.pc, i.code
                at = len(expected)
                if key in tried and not (at < len(part.items)
                                         and choices.same(i, part.items[at], (0, 0))):
                    continue
                tried.add(key)
            expected.append(i)
        self.check("--once", expected, part)

    def coverage(self):
        """All pcs and no others, in order; which blocks, oracle-coverage knows."""
        trace = self.record("--coverage", events=())
        part = self.up_to_end(choices.Recording(self.tools, trace)).insns()
        common.drop_file(trace)
        pcs = [{i.pc for i in insns} for insns in (self.full.insns(), part)]
        for what, more in (("does not record", pcs[0] - pcs[1]), ("records", pcs[1] - pcs[0])):
            if more:
                self.wrong.append("--coverage: it %s 0x%x" % (what, min(more)))
        whole = iter(self.full.insns())
        for n, i in enumerate(part):
            if all((j.pc, j.code) != (i.pc, i.code) for j in whole):
                self.wrong.append("--coverage: number %d: %s comes too late" % (n, i))
                break
        self.said.append("coverage " + choices.coverage(
            self.tools, self.machine, "machine", machines.command_of(self.tools, self.machine), {},
            self.tools.work, how="--set", events=("--events", "exec")))


def by_place(c):
    pcs = sorted({i.pc for i in c.full.insns()})
    low, high = pcs[len(pcs) // 4], pcs[len(pcs) // 2]
    place = "0x%x-0x%x" % (low, high)
    c.part(("--range", place), c.keep(lambda i: low <= i.pc < high))
    c.part(("--not", "--range", place), c.keep(lambda i: not low <= i.pc < high))


def by_instruction(c):
    options, inside = c.code()
    c.part(("--branches", *options), c.keep(c.program.branches(), inside))
    for name in OPCODES.get(c.machine) or choices.OPCODES[c.target]:
        c.part(("--opcode", name, *options), c.keep(c.program.mnemonic(name), inside))
    c.accesses(("--loads",), {"load"})
    c.accesses(("--stores",), {"store"})


def by_context(c):
    tables = c.tables()
    if len(tables) != TABLES[c.machine]:
        raise Failure("the page tables are %r" % tables)
    for table in tables:
        c.part(("--context", table), c.during(lambda ordinal, now, table=table: now == table))


def by_time(c):
    begin, end = c.quiet_place(0.3), c.quiet_place(0.4)
    c.part(("--after-instructions", str(begin), "--for-instructions", str(end - begin)),
           c.during(lambda ordinal, table: begin <= ordinal < end), gates=3)


def chosen(tools, target):
    c = Machine(tools, target)
    by_place(c)
    by_instruction(c)
    if target in TABLES:
        by_context(c)
    by_time(c)
    c.once()
    c.coverage()
    return c.result()


def lines_of(tools, trace, first, count, before=0):
    """... of instructions; `before': how many others the trace does not count."""
    lines = outside.last_lines(tools, trace, first - before, count)
    return [{**o, "ordinal": o["ordinal"] + before} for o in lines]


def ring(tools, target):
    events = "exec,mem,val,reg"
    r = outside.Rounds(tools, target, "ring", "--events", events, "--ring=1M", slow=False)
    with r.running as machine:
        r.wait_until(ROUNDS)
        machine.monitor.call("stop")
        count = r.count()
        machine.quit()
    held = outside.info(tools, r.trace)
    gone, insns = held["dropped"]["instructions"], held["instructions"]
    numbers = [n for _, n in r.stores()]
    if not gone or insns < 2 * TAIL or numbers != list(range(count - len(numbers) + 1, count + 1)):
        raise Failure("%d of %d instructions, %d numbers of %d: %r ..."
                      % (insns, gone + insns, len(numbers), count, numbers[:3]))
    w = outside.Rounds(tools, target, "whole", "--events", events, "--after-instructions", str(gone),
                       "--for-instructions", str(insns), slow=False)
    with w.running as machine:
        firmware.wait_for_end_of_window(tools, w.trace, machine.recorder)
        machine.quit()
    for first in (gone, gone + insns - TAIL):
        part = lines_of(tools, r.trace, first, TAIL)
        whole = lines_of(tools, w.trace, first, TAIL, gone)
        for a, b in zip(whole, part):
            if a != b:
                raise Failure("the ring has\n  %s\ninstead of\n  %s" % (b, a))
        if len(part) != len(whole) or len(part) < TAIL:
            raise Failure("from %d on the ring has %d lines instead of %d" % (first, len(part), len(whole)))
    for trace in (r.trace, w.trace):
        common.drop_file(trace)
    return "of %d instructions the last %d" % (gone + insns, insns)


RUN = {"chosen": chosen, "ring": ring}
