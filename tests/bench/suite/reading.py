# SPDX-License-Identifier: MIT
"""How fast the library and the tools read a trace, with one worker and with one for
each processor."""
import json
import os

from .stats import Spread

TEXT_INSNS = 8000000


def jobs_here():
    cpus = len(os.sched_getaffinity(0))
    return (1, cpus) if cpus > 1 else (1,)


def tool_lines(context, trace):
    """[(what, command line, jobs, instructions that it reads)]"""
    where = ["-q", *trace.options]
    dump, cov, sym = (context.tool(t) for t in ("tracedump", "tracecov", "tracesym"))
    text = ["--count", str(TEXT_INSNS)]
    listed = [
        ("dump, text", [dump, "-q", "--no-disas", *text], TEXT_INSNS),
        ("dump, disassembled", [dump, "-q", *text], TEXT_INSNS),
        ("dump, JSON", [dump, "-q", "--json", "--no-disas", *text], TEXT_INSNS),
        ("summary", [dump, "-q", "--summary"], trace.insns),
        ("coverage, index", [cov, *where, "-f", "json"], trace.insns),
        ("coverage, replay", [cov, *where, "-f", "json", "--from", "1"], trace.insns),
        ("symbols, text", [sym, *where, *text], TEXT_INSNS),
        ("symbols, JSON", [sym, *where, "--json", *text], TEXT_INSNS),
        ("functions", [sym, *where, "--functions"], trace.insns),
        ("calls, folded", [sym, *where, "--calls", "-f", "folded"], trace.insns),
        ("calls, callgrind", [sym, *where, "--calls", "-f", "callgrind"], trace.insns),
        ("blocks for SimPoint", [sym, *where, "--bbv", "10000000"], trace.insns),
    ]
    return [(what, [*line, "-j", str(n), trace.path], n, min(amount, trace.insns))
            for what, line, amount in listed for n in jobs_here()]


class Rows:
    """Collects the results of each round in rows; rows keep their order."""

    def __init__(self):
        self.rows = {}

    def add(self, what, jobs, amount, wall, cpu, peak=0):
        row = self.rows.setdefault((what, jobs), (amount, [], [], []))
        for values, value in zip(row[1:], (wall, cpu, peak)):
            values.append(value)

    def to_json(self):
        return [{"what": what, "jobs": jobs, "amount": amount,
                 "seconds": Spread.of(wall).to_json(), "cpu_seconds": Spread.of(cpu).to_json(),
                 "peak_mib": max(peak)}
                for (what, jobs), (amount, wall, cpu, peak) in self.rows.items()]


def library(context, trace, rows):
    """One round of replay_bench's replays, whose callbacks do almost nothing."""
    done = context.children.run(
        [context.tool("replay_bench"), "--json", "--repeat", "1", "--seeks", "0", "--workers",
         str(jobs_here()[-1]), trace.path], keep_output=True)
    for o in json.loads(done.output)["replay"]:
        rows.add("replay, " + o["case"], o["workers"], trace.insns, o["wall_s"], o["cpu_s"],
                 o["peak_kib"] / 1024)


def measure(context, trace):
    """Results for one trace, ready for JSON."""
    rows = Rows()
    for _ in range(context.runs):
        if os.access(context.tool("replay_bench"), os.X_OK):
            library(context, trace, rows)
        for what, line, jobs, amount in tool_lines(context, trace):
            took = context.children.run(line, watch=True)
            rows.add(what, jobs, amount, took.wall, took.cpu, took.peak)
    return trace.result(rows.to_json())
