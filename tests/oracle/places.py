# SPDX-License-Identifier: MIT
"""Registers and memory at random places of a trace, against the live program.

places  the program stops in QEMU's gdbstub at random instructions of a run, in increasing
        order: a breakpoint there, passed as often as the trace says.  There, tracegdb has the
        same registers, and the same 64 KiB of memory: data, heap, stack, code; or does not
        know them
"""
import bisect
import collections
import os
import random
import re
import subprocess

import common
import gdbstep
from common import Failure, TARGETS

PLACES, FULL = 60, 1000
FAR = 300000  # places are among the first instructions
BLOCK, BLOCKS = 4096, 16
PART = 2048  # bytes in a packet of QEMU, and all of them are there or none
SKIP = 64  # bytes that are not compared where the trace does not know the first of them
EXCLUSIVE = 16  # instructions from an exclusive load to its store, at most
LEAST = 0.99  # of the bytes are known


def executed(tools, trace):
    """The pc of each instruction."""
    done = subprocess.run([tools.program("tracedump"), "--json", "--no-disas", "--no-modules",
                           "--events=exec", "--to=%d" % FAR, trace], stdout=subprocess.PIPE)
    return [int(pc, 16) for pc in re.findall(rb'"pc":"(0x[0-9a-f]+)"', done.stdout)]


def is_exclusive_load(target, code, order):
    word = int.from_bytes(code, order)
    if target == "thumb":
        return word & 0xfff0 in (0xe850, 0xe8d0)
    return gdbstep.exclusive(TARGETS[target].qemu, word) == "load"


class Places:
    """Where the live program can stop as the trace says."""

    def __init__(self, target, stub, pcs):
        self.pcs = pcs
        self.times = collections.defaultdict(list)  # ordinals of a pc
        for i, pc in enumerate(pcs):
            self.times[pc].append(i)
        self.bad = {a for a, b in zip(pcs, pcs[1:]) if a == b}
        order = "big" if TARGETS[target].big_endian else "little"
        for pc in self.times:
            data = stub.request("m%x,4" % pc)
            code = b"" if data[:1] == b"E" else bytes.fromhex(data.decode())
            if not code or (TARGETS[target].qemu == "arm" and pc >= 0xffff0000):
                self.bad.add(pc)  # QEMU's own page
            elif target in ("x86_64", "i386") and re.match(rb"[\x66\x67]*[\xf2\xf3]", code):
                self.bad.add(pc)  # one instruction of the trace, which stops after each round
            elif is_exclusive_load(target, code, order):
                for i in self.times[pc]:
                    self.bad.update(pcs[i + 1:i + EXCLUSIVE])  # its store would fail

    def hits(self, begin, end):
        """How often the pc at `end' is executed after `begin', up to there."""
        times = self.times[self.pcs[end]]
        return bisect.bisect_right(times, end) - bisect.bisect_right(times, begin)

    def choose(self, rng, n):
        """Of instructions near random ones, those that are met soonest."""
        at = 0
        for wish in sorted(rng.sample(range(1, len(self.pcs) - 40), n)):
            near = [i for i in range(max(wish, at + 1), wish + 40) if self.pcs[i] not in self.bad]
            if near:
                at = min(rng.sample(near, min(8, len(near))), key=lambda i: self.hits(at, i))
                yield at


def stop_at(stub, target, places, begin, end):
    """From one place to another."""
    pc = places.pcs[end]
    point = "0,%x,%x" % (pc, 2 if target == "thumb" else 4)
    if stub.request("Z" + point) != b"OK":
        raise Failure("no breakpoint at 0x%x" % pc)
    at = places.pcs[begin]
    for _ in range(places.hits(begin, end)):
        if at == pc:
            stub.request("s")  # it would stop at the same breakpoint again
        stop = stub.request("c")
        if stop[:3] != b"T05":
            raise Failure("before ordinal %d the live program stops with %r" % (end, stop))
        at = pc
    stub.request("z" + point)


def stack_pointer(stub, order):
    """The second register of tracegdb's stops."""
    items = re.findall(rb"(?<=;)[0-9a-f]+:([0-9a-f]+);", stub.request("?"))
    return int.from_bytes(bytes.fromhex(items[1].decode()), order)


def sections(target, path):
    """The addresses of what is loaded: [(begin, end)], and where the heap begins."""
    readelf = TARGETS[target].tool("readelf")
    done = subprocess.run([readelf, "-lW", path], capture_output=True, text=True, check=True)
    loads = re.findall(r"(?m)^  LOAD +0x\w+ 0x(\w+) 0x\w+ 0x\w+ 0x(\w+)", done.stdout)
    loads = [(int(a, 16), int(a, 16) + int(n, 16)) for a, n in loads]
    return loads, max(end for _, end in loads)


def blocks(rng, loads, heap, sp):
    """Addresses of BLOCKS blocks: the stack, the heap and the data, more seldom the code."""
    places = [sp - 256, sp + BLOCK - 256]
    data = loads[-1]
    while len(places) < BLOCKS:
        begin, end = rng.choice([data, data, data, (heap, heap + 0x8000), rng.choice(loads),
                                 (sp - 0x4000, sp + 0x4000)])
        places.append(rng.randrange(begin, max(begin + 1, end - BLOCK)))
    return places


class Comparison:
    def __init__(self, live, seen):
        self.live, self.seen = live, seen
        self.known = self.total = self.registers = 0
        self.ids = [self.process(live), self.process(seen)]

    @staticmethod
    def process(stub):
        return int(re.search(rb"thread:p?([0-9a-f]+)", stub.request("?"))[1], 16)

    def check_registers(self, where):
        live, seen = self.live.request("g").decode(), self.seen.request("g").decode()
        pairs = [(int(seen[i:i + 2], 16), int(live[i:i + 2], 16)) if "x" not in seen[i:i + 2] else (0, 0)
                 for i in range(0, len(seen), 2)]
        mine, theirs = map(list, zip(*pairs))
        for i, (a, b) in enumerate(pairs):
            if a != b and not self.is_id(mine, theirs, i):
                raise Failure("%s: byte %d of the registers is 0x%02x, of the live program 0x%02x; %s, %s" % (
                    where, i, a, b, seen, live))
        self.registers += seen.count("x") < len(seen) // 2

    def is_id(self, mine, theirs, i):
        """Whether a byte is one of the process's id, which each run has its own of."""
        for order in ("little", "big"):
            own = [list(n.to_bytes(4, order)) for n in self.ids]
            for begin in range(max(0, i - 3), i + 1):
                if [theirs[begin:begin + 4], mine[begin:begin + 4]] == own:
                    return True
        return False

    def live_memory(self, addr):
        """The bytes of a block; None where the live program has nothing."""
        out = []
        while len(out) < BLOCK:
            at = addr + len(out)
            n = min(BLOCK - len(out), -at % PART or PART)
            got = self.live.request("m%x,%x" % (at, n))
            out += [None] * n if got[:1] == b"E" else bytes.fromhex(got.decode())
        return out

    def check_memory(self, where, addr):
        live = self.live_memory(addr)
        self.total += BLOCK - live.count(None)
        at = 0
        while at < BLOCK:
            got = self.seen.request("m%x,%x" % (addr + at, BLOCK - at))
            if got[:1] == b"E":
                at += SKIP
                continue
            seen = list(bytes.fromhex(got.decode()))
            theirs = live[at:at + len(seen)]
            wrong = [] if seen == theirs else [
                i for i in range(len(seen)) if seen[i] != theirs[i]
                and (theirs[i] is None or not self.is_id(seen, theirs, i))]
            if wrong:
                raise Failure("%s: at 0x%x is %s, of the live program %s; %d bytes differ" % (
                    where, addr + at + wrong[0], seen[wrong[0]], theirs[wrong[0]], len(wrong)))
            self.known += len(seen)
            at += len(seen)


def goto(stub, ordinal):
    said = bytes.fromhex(stub.request("qRcmd," + ("goto %d" % ordinal).encode().hex()).decode())
    if b"ordinal %d of" % ordinal not in said:
        raise Failure("goto %d: %r" % (ordinal, said))


def run(tools, target, name, guest, folder, path, full):
    rng = random.Random("%s %s" % (target, name))
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "places-%s-%s.ctr" % (target, name))
    common.record(tools, trace, guest, environment, folder, options=("--events", "all"))
    pcs = executed(tools, trace)
    loads, heap = sections(target, path)
    met = stops = 0
    with gdbstep.stopped(guest, environment, folder) as live, \
            gdbstep.listening([tools.program("tracegdb"), "-q"], trace) as seen:
        comparison = Comparison(live, seen)
        places = Places(target, live, pcs)
        order = "big" if TARGETS[target].big_endian else "little"
        at = 0
        for ordinal in places.choose(rng, min(FULL if full else PLACES, len(pcs) // 50)):
            stops += places.hits(at, ordinal)
            stop_at(live, target, places, at, ordinal)
            at = ordinal
            goto(seen, ordinal)
            where = "ordinal %d, pc 0x%x" % (ordinal, pcs[ordinal])
            comparison.check_registers(where)
            sp = stack_pointer(seen, order)
            for addr in blocks(rng, loads, heap, sp):
                comparison.check_memory(where, addr)
            met += 1
    if comparison.known < LEAST * comparison.total or comparison.registers < met or not met:
        raise Failure("%d of %d bytes are known" % (comparison.known, comparison.total))
    common.drop_file(trace)
    return "%d places of %d instructions, %d stops: registers and %d of %d bytes equal" % (
        met, len(pcs), stops, comparison.known, comparison.total)
