# SPDX-License-Identifier: MIT
"""What recording costs: each program plain, with its events thrown away ("jit": what the
translated code alone costs) and recorded to a file, for each set of events, in turn,
again and again.  Once a round it runs plain beside a program that needs nothing but another
processor: what that costs is the machine's share, as processors may be threads of one
core, or a host's."""
import json
import os
from dataclasses import dataclass
from typing import Callable

from . import peers
from .children import BenchError
from .stats import Spread, ratios

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
    """Where things are, how much to do, and whom to tell what is being done."""
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

    def recorder(self, program, command, *options):
        jobs = ["-j", str(self.jobs)] if self.jobs else []
        return [self.tool("cannoli-record"), "-q", *jobs, *options, "--", self.qemu(program),
                *command.argv]

    def info(self, trace):
        """What tracedump --info tells, as a dictionary."""
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


class Times:
    """What the rounds gave: wall-clock and CPU seconds of each mode, bits of each set."""

    def __init__(self):
        self.wall, self.cpu, self.bits, self.insns = {}, {}, {}, 0

    def add(self, context, mode, took):
        self.wall.setdefault(mode, []).append(took.wall)
        self.cpu.setdefault(mode, []).append(took.cpu)
        name, how = mode
        if how == "file":
            self.insns = context.info(context.trace)["instructions"]
            bits = 8 * os.path.getsize(context.trace) / self.insns
            self.bits.setdefault(name, []).append(bits)

    def rows(self, sets, plain):
        """A row for each set, ready for JSON; plain: the Times of the plain runs."""
        plain_wall, plain_cpu = plain.wall[PLAIN], plain.cpu[PLAIN]
        for name in sets:
            jit, file = (name, "jit"), (name, "file")
            yield {
                "set": name,
                "jit": ratios(self.wall[jit], plain_wall).to_json(),
                "file": ratios(self.wall[file], plain_wall).to_json(),
                "jit_cpu": ratios(self.cpu[jit], plain_cpu).to_json(),
                "file_cpu": ratios(self.cpu[file], plain_cpu).to_json(),
                "bits_per_instruction": Spread.of(self.bits[name]).to_json(),
                "instructions_per_second":
                    Spread.of(self.insns / t for t in self.wall[file]).to_json(),
                "times": {"jit": self.wall[jit], "file": self.wall[file],
                          "jit_cpu": self.cpu[jit], "file_cpu": self.cpu[file]},
            }


PLAIN = (None, "plain")
BUSY = (None, "busy")
NEIGHBOUR = ["sha256sum", "/dev/zero"]


def run(context, mode, line, stdin):
    if mode == BUSY:
        return context.children.run_beside(NEIGHBOUR, line, stdin=stdin)
    return context.children.run(line, stdin=stdin)


def measure(context, program, sets, with_peers=(), base=None):
    """One program's results, ready for JSON.

    base: the Context of another build, to run in the same rounds; its rows are
    "base_sets", their ratios to the same plain runs.
    """
    if program.only:
        sets = [s for s in sets if s in program.only]
    command = program.make(context.scale)
    own, other = Times(), Times()
    plain = [context.qemu(program)] + command.argv
    order = [(own, context, PLAIN, plain)]
    if len(os.sched_getaffinity(0)) > 1:
        order.append((own, context, BUSY, plain))
    for times, where in ((own, context), (other, base)):
        if where:
            order += [(times, where, mode, line)
                      for mode, line in modes_of(where, program, command, sets).items()]
    helpers, failed = peers.prepare(context, program, with_peers), []
    for done in range(context.runs):
        context.progress("%s: round %d of %d" % (program.name, done + 1, context.runs))
        for times, where, mode, line in order:
            times.add(where, mode, run(where, mode, line, command.stdin))
        for helper in list(helpers):
            try:
                helper.run(own.insns)
            except BenchError as e:
                helpers.remove(helper)
                failed.append("%s: %s" % (helper.name, e))
        # another order in the next round, lest one always follow the same other
        order = order[1:] + order[:1]
    context.progress("")
    wall = own.wall[PLAIN]
    result = {
        "program": program.name,
        "worst_case": bool(program.only),
        "instructions": own.insns,
        "plain_seconds": Spread.of(wall).to_json(),
        "plain_cpu_seconds": Spread.of(own.cpu[PLAIN]).to_json(),
        "plain_instructions_per_second": Spread.of(own.insns / t for t in wall).to_json(),
        "times": {"plain": wall, "plain_cpu": own.cpu[PLAIN]},
        "sets": list(own.rows(sets, own)),
        "peers": [r for h in helpers for r in h.results([t / own.insns for t in wall])],
        "failed_peers": failed,
    }
    if BUSY in own.wall:
        result["busy"] = ratios(own.wall[BUSY], wall).to_json()
    if base:
        result["base_sets"] = list(other.rows(sets, own))
    return result
