# SPDX-License-Identifier: MIT
"""What recording costs: each program plain, with its events thrown away ("jit": what the
translated code alone costs) and recorded to a file, for each set of events, in turn,
again and again."""
import json
import os
from dataclasses import dataclass

from . import peers
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
    """Where things are, and how much to do."""
    children: object
    build: str
    qemu_dir: str
    tmp: str
    runs: int
    scale: float = 1
    jobs: int = 0

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
    """{(set, how): command line}, plain as (None, "plain")."""
    modes = {(None, "plain"): [context.qemu(program)] + command.argv}
    for name in sets:
        events = ["--events", SETS[name]] if SETS[name] else []
        modes[name, "jit"] = context.recorder(program, command, "--discard", *events)
        modes[name, "file"] = context.recorder(program, command, "-o", context.trace, *events)
    return modes


def measure(context, program, sets, with_peers=()):
    """One program's results, ready for JSON."""
    if program.only:
        sets = [s for s in sets if s in program.only]
    command = program.make(context.scale)
    modes = modes_of(context, program, command, sets)
    wall = {mode: [] for mode in modes}
    cpu = {mode: [] for mode in modes}
    bits = {name: [] for name in sets}
    insns = 0
    helpers = peers.prepare(context, program, with_peers)
    order = list(modes)
    for _ in range(context.runs):
        for mode in order:
            took = context.children.run(modes[mode], stdin=command.stdin)
            wall[mode].append(took.wall)
            cpu[mode].append(took.cpu)
            if mode[1] == "file":
                insns = context.info(context.trace)["instructions"]
                bits[mode[0]].append(8 * os.path.getsize(context.trace) / insns)
        for helper in helpers:
            helper.run()
        # another order in the next round, lest one always follow the same other
        order = order[1:] + order[:1]
    plain_wall, plain_cpu = wall[None, "plain"], cpu[None, "plain"]
    rows = []
    for name in sets:
        file_wall = wall[name, "file"]
        rows.append({
            "set": name,
            "jit": ratios(wall[name, "jit"], plain_wall).to_json(),
            "file": ratios(file_wall, plain_wall).to_json(),
            "jit_cpu": ratios(cpu[name, "jit"], plain_cpu).to_json(),
            "file_cpu": ratios(cpu[name, "file"], plain_cpu).to_json(),
            "bits_per_instruction": Spread.of(bits[name]).to_json(),
            "instructions_per_second": Spread.of(insns / t for t in file_wall).to_json(),
            "times": {"jit": wall[name, "jit"], "file": file_wall,
                      "jit_cpu": cpu[name, "jit"], "file_cpu": cpu[name, "file"]},
        })
    return {
        "program": program.name,
        "worst_case": bool(program.only),
        "instructions": insns,
        "plain_seconds": Spread.of(plain_wall).to_json(),
        "plain_cpu_seconds": Spread.of(plain_cpu).to_json(),
        "plain_instructions_per_second": Spread.of(insns / t for t in plain_wall).to_json(),
        "times": {"plain": plain_wall, "plain_cpu": plain_cpu},
        "sets": rows,
        "peers": [h.result([t / insns for t in plain_wall]) for h in helpers],
    }
