# SPDX-License-Identifier: MIT
"""What recording costs: each program unrecorded, with its events discarded ("jit": the cost
of the translated code alone) and recorded to a file, for each set of events, alternately
and repeatedly.  Each time is divided by the mean of the two unrecorded runs next to it,
because a machine on a shared host changes its speed within seconds.  Once a round the
program runs unrecorded beside a program that needs only another processor: the cost of that
is due to the machine, because processors may be threads of one core, or of a host."""
import contextlib
import json
import os
from dataclasses import dataclass
from statistics import median
from typing import Callable

from . import peers
from .children import BenchError
from .stats import Spread

SETS = {
    "exec": "exec",
    "mem": "exec,mem",
    "val": "exec,mem,val",
    "reg": "exec,reg",
    "sys": "exec,sys,time",
    "map": "exec,map",
    "thr": "exec,thr",
    "default": None,
    "all": "all",
}


@dataclass(frozen=True)
class Context:
    """Where things are, how much to do, and whom to inform about progress."""
    children: object
    build: str
    qemu_dir: str
    tmp: str
    runs: int
    scale: float = 1
    jobs: int = 0
    progress: Callable = lambda text: None

    def tool(self, name):
        return os.path.join(self.build, "bin", name)

    def qemu(self, program):
        return os.path.join(self.qemu_dir, program.qemu)

    @property
    def trace(self):
        return os.path.join(self.tmp, "bench.ctr")

    def remove_trace(self):
        """Otherwise the next run would pay for truncating it or writing it back."""
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.trace)

    def recorder(self, program, command, *options):
        jobs = ["-j", str(self.jobs)] if self.jobs else []
        return [self.tool("cannoli-record"), "-q", *jobs, *options, "--", self.qemu(program),
                *command.argv]

    def info(self, trace):
        """The output of tracedump --info, as a dictionary."""
        done = self.children.run([self.tool("tracedump"), "--info", "--json", trace],
                                 keep_output=True)
        return json.loads(done.output.splitlines()[0])


def modes_of(context, program, command, sets):
    """{(set, how): command line}"""
    modes = {}
    for name in sets:
        events = ["--events", SETS[name]] if SETS[name] else []
        modes[name, "jit"] = context.recorder(program, command, "--discard", *events)
        modes[name, "file"] = context.recorder(program, command, "-o", context.trace, *events)
    return modes


@dataclass(frozen=True)
class Cost:
    """Wall-clock and CPU seconds."""
    wall: float
    cpu: float

    @classmethod
    def between(cls, one, other):
        return cls((one.wall + other.wall) / 2, (one.cpu + other.cpu) / 2)


class Times:
    """The results of the rounds: seconds of each mode, and divided by those of the
    unrecorded program just before and after; bits of each set."""

    def __init__(self):
        self.wall, self.cpu, self.bits, self.insns = {}, {}, {}, 0
        self.wall_ratios, self.cpu_ratios = {}, {}

    def add(self, mode, took, plain):
        for values, value in ((self.wall, took.wall), (self.cpu, took.cpu),
                              (self.wall_ratios, took.wall / plain.wall),
                              (self.cpu_ratios, took.cpu / plain.cpu)):
            values.setdefault(mode, []).append(value)

    def weigh(self, context, mode):
        """The file that was just recorded; removes it."""
        name, how = mode
        if how == "file":
            info = context.info(context.trace)
            self.insns = info["instructions"]
            # The files that were mapped do not grow with what ran.
            events = os.path.getsize(context.trace) - info.get("file_bytes_stored", 0)
            bits = 8 * events / self.insns
            self.bits.setdefault(name, []).append(bits)
        context.remove_trace()

    def rows(self, sets):
        """A row for each set, ready for JSON."""
        for name in sets:
            jit, file = (name, "jit"), (name, "file")
            yield {
                "set": name,
                "jit": Spread.of(self.wall_ratios[jit]).to_json(),
                "file": Spread.of(self.wall_ratios[file]).to_json(),
                "jit_cpu": Spread.of(self.cpu_ratios[jit]).to_json(),
                "file_cpu": Spread.of(self.cpu_ratios[file]).to_json(),
                "bits_per_instruction": Spread.of(self.bits[name]).to_json(),
                "instructions_per_second":
                    Spread.of(self.insns / t for t in self.wall[file]).to_json(),
                "times": {"jit": self.wall[jit], "file": self.wall[file],
                          "jit_cpu": self.cpu[jit], "file_cpu": self.cpu[file]},
            }


BUSY = (None, "busy")
NEIGHBOUR = ["sha256sum", "/dev/zero"]


def run(context, mode, line, stdin):
    if mode == BUSY:
        return context.children.run_beside(NEIGHBOUR, line, stdin=stdin)
    return context.children.run(line, stdin=stdin)


def round_of(context, order, unrecorded, stdin):
    """Runs everything once, and the unrecorded program before, between and after; returns
    the median times."""
    before = context.children.run(unrecorded, stdin=stdin)
    plain = [before]
    for times, where, mode, line in order:
        took = run(where, mode, line, stdin)
        times.weigh(where, mode)
        after = context.children.run(unrecorded, stdin=stdin)
        times.add(mode, took, Cost.between(before, after))
        plain.append(after)
        before = after
    return Cost(median(p.wall for p in plain), median(p.cpu for p in plain))


def measure(context, program, sets, with_peers=(), base=None):
    """Results for one program, ready for JSON.

    base: the Context of another build, to run in the same rounds; its rows are "base_sets".
    """
    if program.only:
        sets = [s for s in sets if s in program.only]
    command = program.make(context.scale)
    own, other, plain = Times(), Times(), []
    unrecorded = [context.qemu(program)] + command.argv
    order = []
    if len(os.sched_getaffinity(0)) > 1:
        order.append((own, context, BUSY, unrecorded))
    for times, where in ((own, context), (other, base)):
        if where:
            order += [(times, where, mode, line)
                      for mode, line in modes_of(where, program, command, sets).items()]
    helpers, failed = peers.prepare(context, program, with_peers), []
    for done in range(context.runs):
        context.progress("%s: round %d of %d" % (program.name, done + 1, context.runs))
        plain.append(round_of(context, order, unrecorded, command.stdin))
        for helper in list(helpers):
            try:
                helper.run(own.insns)
            except BenchError as e:
                helpers.remove(helper)
                failed.append("%s: %s" % (helper.name, e))
        # another order in the next round, so that no mode always follows the same other
        order = order[1:] + order[:1]
    context.progress("")
    wall, cpu = [p.wall for p in plain], [p.cpu for p in plain]
    result = {
        "program": program.name,
        "worst_case": bool(program.only),
        "instructions": own.insns,
        "plain_seconds": Spread.of(wall).to_json(),
        "plain_cpu_seconds": Spread.of(cpu).to_json(),
        "plain_instructions_per_second": Spread.of(own.insns / t for t in wall).to_json(),
        "times": {"plain": wall, "plain_cpu": cpu},
        "sets": list(own.rows(sets)),
        "peers": [r for h in helpers for r in h.results([t / own.insns for t in wall])],
        "failed_peers": failed,
    }
    if BUSY in own.wall:
        result["busy"] = Spread.of(own.wall_ratios[BUSY]).to_json()
    if base:
        result["base_sets"] = list(other.rows(sets))
    return result
