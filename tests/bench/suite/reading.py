# SPDX-License-Identifier: MIT
"""How fast the tools and the library read a trace, with one and more workers."""
import os
import re

from .stats import Spread

EVENTS = "exec,mem,map,thr"
TEXT_INSNS = 2000000


def work(context, program, trace, jobs):
    """[(what, command line, whether its amount is all instructions or what number, and of
    which jobs)]"""
    tool = context.tool
    where = ["--sysroot", program.sysroot] if program.sysroot else []
    text = ["--count", str(TEXT_INSNS)]
    some = ["-q", *where]
    listed = [
        ("dump, text", [tool("tracedump"), "-q", "--no-disas", *text], TEXT_INSNS),
        ("dump, disassembled", [tool("tracedump"), "-q", *text], TEXT_INSNS),
        ("dump, JSON", [tool("tracedump"), "-q", "--json", "--no-disas", *text], TEXT_INSNS),
        ("coverage, index", [tool("tracecov"), *some, "-f", "json"], None),
        ("coverage, replay", [tool("tracecov"), *some, "-f", "json", "--from", "1"], None),
        ("symbols, text", [tool("tracesym"), *some, *text], TEXT_INSNS),
        ("symbols, JSON", [tool("tracesym"), *some, "--json", *text], TEXT_INSNS),
        ("functions", [tool("tracesym"), *some, "--functions"], None),
        ("calls, folded", [tool("tracesym"), *some, "--calls", "-f", "folded"], None),
        ("calls, callgrind", [tool("tracesym"), *some, "--calls", "-f", "callgrind"], None),
        ("blocks for SimPoint", [tool("tracesym"), *some, "--bbv", "10000000"], None),
    ]
    return [(what, [*line, "-j", str(n), trace], amount, n)
            for what, line, amount in listed for n in jobs]


def jobs_here():
    cpus = len(os.sched_getaffinity(0))
    return (1, cpus) if cpus > 1 else (1,)


def measure(context, program):
    """One program's results, ready for JSON."""
    command = program.make(context.scale)
    trace = context.trace
    context.children.run(context.recorder(program, command, "-e", EVENTS, "-o", trace),
                         stdin=command.stdin)
    insns = context.info(trace)["instructions"]
    listed = work(context, program, trace, jobs_here())
    took = [[] for _ in listed]
    for _ in range(context.runs):
        for i, (_, line, _, _) in enumerate(listed):
            took[i].append(context.children.run(line, watch=True))
    rows = []
    for (what, _, amount, n), runs in zip(listed, took):
        rows.append({"what": what, "jobs": n, "amount": min(amount or insns, insns),
                     "seconds": Spread.of(r.wall for r in runs).to_json(),
                     "cpu_seconds": Spread.of(r.cpu for r in runs).to_json(),
                     "peak_mib": max(r.peak for r in runs)})
    result = {"program": program.name, "instructions": insns, "events": EVENTS,
              "bytes": os.path.getsize(trace), "rows": rows}
    os.remove(trace)
    return result
