# SPDX-License-Identifier: MIT
"""Breakpoints and watchpoints at random places of a trace, against tracedump.

hits  from random instructions of its processes, tracegdb goes on, backward and forward, to
      breakpoints and watchpoints: where it stops is where tracedump says that the instruction
      ran next, or the bytes were accessed next; among threads, where that thread's next one is,
      or where another one's is.  The programs have signals, longjmp, threads,
      fork, execve and dlopen
"""
import bisect
import collections
import os
import random
import re
import subprocess

import common
import gdbstep
from common import Failure

PLACES, FULL = 60, 1000
IN_A_ROW = 5  # places of one session, where there is one thread
# Where gdb looks at memory before the access, it gets the stop an instruction early.
STEPS_OVER = {"arm", "thumb", "aarch64", "mipsel", "mips", "riscv64", "ppc64le"}
EVENT = re.compile(r'"kind":"(exec|load|store)","ordinal":(\d+),"pid":(\d+),"tid":(\d+),"pc":"(\w+)"'
                   r'(?:.*?"addr":"(\w+)","size":(\d+))?')
WRITTEN = re.compile(r'"op":"(?:write|read)","addr":"(\w+)","size":(\d+)')
REASON = re.compile(rb"swbreak:|watch:|replaylog:")


def lines_of(*command):
    """The lines of a program's output, without its remarks."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        yield from process.stdout


class Process:
    """What a process did, in the order of its threads."""

    def __init__(self, pid, number):
        self.pid = pid
        self.number = number  # among those that have the id: one more after each execve
        self.execs = []  # (tid, ordinal, pc)
        self.accesses = []  # (index in execs, is a store, begin, end)
        self.where = {}
        self.last = {}
        self.by_pc = collections.defaultdict(list)

    def add(self, kind, tid, ordinal, pc, addr, size):
        if kind == "exec":
            self.where[tid, ordinal] = len(self.execs)
            self.by_pc[pc].append(len(self.execs))
            self.execs.append((tid, ordinal, pc))
            self.last[tid] = ordinal
        elif (tid, ordinal) in self.where:
            self.accesses.append((self.where[tid, ordinal], kind == "store", addr, addr + size))


def processes(tools, trace):
    """Those of some length; and the ranges that the system read or wrote in any of them."""
    dump = [tools.program("tracedump"), "--json", "--no-disas", "--no-modules"]
    found = collections.defaultdict(list)
    for line in lines_of(*dump, "--events=exec,mem", trace):
        m = EVENT.search(line)
        pid = int(m[3])
        tid, ordinal = int(m[4]), int(m[2])
        if not found[pid] or (m[1] == "exec" and (tid, ordinal) in found[pid][-1].where):
            found[pid].append(Process(pid, len(found[pid]) + 1))
        found[pid][-1].add(m[1], tid, ordinal, int(m[5], 16), int(m[6] or "0", 16), int(m[7] or 0))
    system = {(int(a, 16), int(a, 16) + int(n)) for line in lines_of(*dump, "--events=sys", trace)
              if '"ordinal":0,' not in line for a, n in WRITTEN.findall(line)}
    return [p for every in found.values() for p in every if len(p.execs) > 100], sorted(system)


class Session:
    """A tracegdb at a place of a process."""

    def __init__(self, target, stub, process, system, rng):
        self.stub, self.process, self.system, self.rng = stub, process, system, rng
        self.early = target in STEPS_OVER
        self.slots = target in ("mips", "mipsel")
        self.kind = 2 if target == "thumb" else 4
        stub.request("qSupported:swbreak+")

    def place(self):
        text = bytes.fromhex(self.stub.request("qRcmd," + b"where".hex()).decode()).decode()
        words = text.replace(",", "").split()
        return int(words[1]), int(words[3])

    def index(self):
        return self.process.where[self.place()]

    def branch_of(self, place):
        """Of mips a watchpoint in a delay slot stops it at the branch."""
        return (place[0], place[1] - 1) if self.slots else place

    def set(self, point, what="Z"):
        answer = self.stub.request(what + point)
        if answer != b"OK":
            raise Failure("%s%s: %r" % (what, point, answer))

    def on(self, back):
        """Goes on, over signals."""
        stop = self.stub.request("bc" if back else "c")
        while not REASON.search(stop) and not back:
            stop = self.stub.request("c")
        return stop

    def go(self, back, want, stop_is, what):
        """want: the place, or None for the end of the trace in this direction."""
        before = self.place()
        stop = self.on(back)
        seen = self.place()
        if want is None:
            good = (b"replaylog:begin" if back else b"replaylog:end") in stop
        else:
            good = seen in (want, self.branch_of(want)) and b"replaylog" not in stop and stop_is in stop
        if not good:
            raise Failure("process %d, from %r %s to %s: at %r, not at %r: %r" % (
                self.process.pid, before, "backward" if back else "forward", what, seen, want, stop))

    def among_threads(self, point, what, hits, early):
        """Two threads that run at the same time have no order in the list: the stop is where the
        thread itself comes next, or where another one comes.  hits: places (tid, ordinal)."""
        tid, ordinal = self.place()
        back = self.rng.random() < .6
        own = sorted(at for of, at in hits if of == tid and (at < ordinal if back else at >= ordinal + early))
        self.set(point)
        stop = self.on(back)
        seen = self.place()
        hit = seen if early else (seen[0], seen[1] - (back if self.early else not back))
        if b"replaylog" in stop:
            good = not own or (not early and own == [self.process.last[tid]])
        else:
            if hit not in hits and self.slots:
                hit = hit[0], hit[1] + 1
            good = hit in hits and (hit[0] != tid or hit[1] == own[-1 if back else 0])
        if not good:
            raise Failure("process %d, from %r %s to the %s %s: at %r: %r" % (
                self.process.pid, (tid, ordinal), "backward" if back else "forward", what, point, seen, stop))

    def breakpoint_among_threads(self):
        pc = self.rng.choice(self.process.execs)[2]
        self.among_threads("0,%x,%x" % (pc, self.kind), "breakpoint",
                           {self.process.execs[i][:2] for i in self.process.by_pc[pc]}, True)

    def watchpoint_among_threads(self):
        _, store, begin, end = self.rng.choice(self.process.accesses)
        if any(a < end and begin < b for a, b in self.system):
            return
        self.among_threads("%d,%x,%x" % (2 if store else 3, begin, end - begin), "watchpoint",
                           {self.process.execs[a[0]][:2] for a in self.process.accesses
                            if a[1] == store and a[2] < end and begin < a[3]}, False)

    def breakpoint(self):
        at, execs = self.index(), self.process.execs
        pc = execs[min(len(execs) - 1, max(0, at + self.rng.randrange(-3000, 3000)))][2]
        back = self.rng.random() < .6
        times = self.process.by_pc[pc]
        i = bisect.bisect_left(times, at) - 1 if back else bisect.bisect_right(times, at)
        want = execs[times[i]][:2] if 0 <= i < len(times) else None
        point = "0,%x,%x" % (pc, self.kind)
        self.set(point)
        self.go(back, want, b"swbreak:", "the breakpoint at 0x%x" % pc)
        self.set(point, "z")

    def watchpoint(self):
        at, accesses = self.index(), self.process.accesses
        near = bisect.bisect_left(accesses, (at,)) + self.rng.randrange(-500, 500)
        _, _, begin, end = accesses[min(len(accesses) - 1, max(0, near))]
        if any(a < end and begin < b for a, b in self.system):
            return
        kind = self.rng.choice("2234")
        fit = [a[0] for a in accesses
               if a[2] < end and begin < a[3] and (kind == "4" or a[1] == (kind == "2"))]
        back = self.rng.random() < .6
        i = bisect.bisect_left(fit, at) - (1 if back else 0)
        want = self.process.execs[fit[i]][:2] if 0 <= i < len(fit) else None
        self.check_watch("%s,%x,%x" % (kind, begin, end - begin), back, want)

    def check_watch(self, point, back, want):
        if want and not back and want[1] == self.process.last[want[0]]:
            return  # the end is before it
        if want:
            # With the access ahead, or made; where gdb steps over it, the other way round.
            want = want[0], want[1] + (back if self.early else not back)
        self.set(point)
        self.go(back, want, b"watch:", "the watchpoint Z" + point)
        self.set(point, "z")
        if want and self.early:
            self.stub.request("bs" if back else "s")  # as gdb does


def run(tools, target, name, guest, folder, full):
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "hits-%s-%s.ctr" % (target, name))
    common.record(tools, trace, guest, environment, folder, options=("--events", "all", "--follow-exec"))
    every, system = processes(tools, trace)
    rng = random.Random(name + target)
    count, done = FULL if full else PLACES, 0
    while done < count:
        process = rng.choice(every)
        row = IN_A_ROW if len(process.last) == 1 else 1
        tid, ordinal, _ = rng.choice(process.execs)
        options = ["-q", "--pid=%d" % process.pid, "--thread=%d" % tid,
                   "--at=%d/%d" % (ordinal, process.number)]

        with gdbstep.listening([tools.program("tracegdb"), *options], trace) as stub:
            session = Session(target, stub, process, system, rng)
            kinds = ([session.breakpoint, session.watchpoint] if row > 1 else
                     [session.breakpoint_among_threads, session.watchpoint_among_threads])
            for _ in range(row):
                rng.choice(kinds if process.accesses else kinds[:1])()
        done += row
    common.drop_file(trace)
    return "%d places of %d processes with %d threads" % (
        count, len(every), sum(len(p.last) for p in every))
