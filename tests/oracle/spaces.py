# SPDX-License-Identifier: MIT
"""Address spaces and physical addresses after a snapshot was loaded.

spaces   the program takes turns with two page tables, in which a page is at different places of
         memory.  It is saved in one of them, and loaded while it uses the other one: what the
         trace says from there on is what QEMU's monitor (gva2gpa) and gdbstub have then, and no
         call of before goes on
"""
import json
import os
import re
import subprocess

import common
import description
import machines
import outside
from common import Failure
from gdbstep import Stub

SEEN = {"aarch64-softmmu": 0xc0000000, "riscv64-softmmu": 0xc0000000, "x86_64-softmmu": 0x30000000}
NAMES = {target: ["spaces"] for target in SEEN}
PAGE = 4096
LOADS = 3
ROUNDS = 20
LEAST = 500  # accesses that each load is followed by


def data_pages(tools, target):
    """Where the program has data, and its stack."""
    nm = machines.MACHINES[target].cc.replace("gcc", "nm")
    out = subprocess.run([nm, machines.program_of(tools, target, "spaces")], capture_output=True, text=True,
                         check=True).stdout
    words = [line.split() for line in out.splitlines() if line[0] != " "]
    return {int(at, 16) & -PAGE for at, kind, _ in words if kind in "bBdD"} | {
        (int(at, 16) - 8) & -PAGE for at, _, name in words if name == "stack_top"}


class Machine:
    def __init__(self, tools, target, running, stub):
        self.target, self.monitor, self.stub = target, running.monitor, stub
        self.pages = data_pages(tools, target) | {SEEN[target]}
        main = stub.read_object("target.xml").decode()
        features = description.Description(main, stub.read_object).features
        self.numbers = {r.name: r.number for registers in features.values() for r in registers}
        self.maps = {}  # by table: the physical address of each page

    def register(self, name):
        return int.from_bytes(bytes.fromhex(self.stub.request("p%x" % self.numbers[name]).decode()), "little")

    def table(self):
        if self.target == "aarch64-softmmu":
            return self.register("TTBR0_EL1")
        if self.target == "riscv64-softmmu":
            return (self.register("satp") & (1 << 44) - 1) << 12
        return self.register("cr3")

    def look(self):
        """The table of now; where its pages are is as before, or kept."""
        table = self.table()
        said = {page: re.search("gpa: (0x[0-9a-f]+)", self.monitor.human("gva2gpa 0x%x" % page))
                for page in self.pages}
        found = {page: int(m[1], 16) for page, m in said.items() if m}
        if self.maps.setdefault(table, found) != found:
            raise Failure("table 0x%x has changed" % table)
        return table

    def run_to(self, rounds, other_than):
        """For so many rounds, then to where the page is written by another table."""
        what = "2,%x,8" % SEEN[self.target]
        for i in range(2 * rounds):
            self.stub.request("Z" + what)
            if not self.stub.request("c").startswith(b"T05"):
                raise Failure("no stop")
            self.stub.request("z" + what)
            for _ in range(3):  # QEMU stops before the store, or after it
                self.stub.request("s")
            if i >= rounds and self.look() != other_than:
                return
        raise Failure("the other page table is not used")


def follow(events, seen, maps, want):
    """Each access from the first save on, by the address space that the trace has."""
    table, fresh, counts, loads, before = None, False, [], 0, None
    for o in events:
        if o["kind"] == "context":
            table = int(o["table"], 16)
        elif o["kind"] == "power" and o["op"] in ("saved", "loaded"):
            counts.append([0, 0])
            fresh = o["op"] == "loaded"
            loads += fresh
            before = table
        elif o["kind"] in ("load", "store") and counts:
            if fresh and table != want[loads - 1]:
                raise Failure("load %d: the address space is 0x%x instead of 0x%x, ordinal %d"
                              % (loads, table, want[loads - 1], o["ordinal"]))
            if fresh and table == before:
                raise Failure("load %d: it was in this address space before" % loads)
            fresh = False
            addr = int(o["addr"], 16)
            page = maps[table].get(addr & -PAGE)
            if page is None or int(o["phys"], 16) != page + addr % PAGE:
                raise Failure("%r: the page is at %r" % (o, page))
            counts[-1][0] += 1
            counts[-1][1] += addr & -PAGE == seen
    return counts


def calls(tools, target, trace):
    """No call of the tree goes on where a snapshot was loaded; returns how many there are."""
    done = subprocess.run(
        [tools.program("tracesym"), "-q", "--calls", "--by=cpu", "--format", "chrome", "--elf",
         machines.program_of(tools, target, "spaces"), trace], capture_output=True, text=True)
    if done.returncode:
        raise Failure("tracesym: " + done.stderr.strip())
    loads = [ordinal for op, ordinal in outside.moments(tools, trace) if op == "loaded"]
    spans = [e for e in json.loads(done.stdout)["traceEvents"] if e["ph"] == "X"]
    for e in spans:
        if any(e["args"]["from"] < at < e["args"]["to"] for at in loads):
            raise Failure("%s is called before a load, and goes on after it: %r" % (e["name"], e["args"]))
    if sum(e["name"] == "one_round" for e in spans) < ROUNDS:
        raise Failure("%d calls" % len(spans))
    return len(spans)


def spaces(tools, target, full):
    path = os.path.join(tools.work, "spaces-%s.gdb" % target)
    r = outside.Rounds(tools, target, "spaces", "--events", "exec,mem,ctx,phys,pwr", main="spaces",
                       more=["-gdb", "unix:%s,server=on,wait=off" % path])
    with r.running as running:
        monitor = running.monitor
        kept = outside.snapshot_disk(running)
        r.wait_until(20)
        monitor.call("stop")
        monitor.job("snapshot-save", **kept)
        machine = Machine(tools, target, running, Stub(path, running.recorder))
        saved = machine.look()
        want = []
        for _ in range(LOADS):
            machine.run_to(ROUNDS, saved)
            monitor.job("snapshot-load", **kept)
            want.append(machine.look())
        monitor.call("cont")
        r.wait_until(r.count() + 50)
        monitor.call("stop")
        running.quit()
    seen = SEEN[target]
    if len(machine.maps) != 2 or len({pages[seen] for pages in machine.maps.values()}) != 2:
        raise Failure("the tables do not differ: %r" % machine.maps)
    events = map(json.loads, common.dump_lines(tools, r.trace, "--events", "mem,ctx,pwr", "--phys"))
    counts = follow(events, seen, machine.maps, want)
    if len(counts) != 1 + LOADS or any(n < LEAST or not own for n, own in counts[1:]):
        raise Failure("accesses since the save and each load, and of the page: %r" % counts)
    nr_calls = calls(tools, target, r.trace)
    common.drop_file(r.trace)
    return "since the save and %d loads %d accesses, %d to the page of both tables; %d calls" % (
        LOADS, sum(n for n, _ in counts), sum(own for _, own in counts), nr_calls)


RUN = {"spaces": spaces}
