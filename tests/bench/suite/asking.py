# SPDX-License-Identifier: MIT
"""How long a trace takes to answer, the program's start included: its first lines, any
place of it, who ran or wrote an address that few chunks know; with the index and without."""
import json
import os
import random

from .stats import Spread

EVENTS = "exec,mem,map,thr"
SEEKS = 40
CANDIDATES = 12
BEGINNING = 20000


def beginning(context, trace):
    """(first code address, addresses of the first stores): start-up touches what the
    program does not touch again."""
    done = context.children.run([context.tool("tracedump"), "-q", "--json", "--no-disas",
                                 "-e", "exec,store", "--count", str(BEGINNING), trace],
                                keep_output=True)
    pc, stores = None, {}
    for line in done.output.splitlines():
        o = json.loads(line)
        pc = pc or o.get("pc")
        if o["kind"] == "store":
            stores.setdefault(int(o["addr"], 16) >> 12, o["addr"])
    return pc, list(stores.values())[:CANDIDATES]


def rarest(context, trace, addresses):
    """That of which the index leaves the fewest chunks: the quickest."""
    def seconds(addr):
        return context.children.run([context.tool("tracedump"), "-q", "-e", "store", "--addr",
                                     addr, trace]).wall
    return min(addresses, key=seconds)


def measure(context, program):
    """One program's results, ready for JSON."""
    children, dump, trace = context.children, context.tool("tracedump"), context.trace
    command = program.make(context.scale)
    children.run(context.recorder(program, command, "-e", EVENTS, "-o", trace),
                 stdin=command.stdin)
    info = context.info(trace)
    insns = info["instructions"]
    pc, stores = beginning(context, trace)
    by_pc = ["-e", "exec", "--pc", pc]
    by_addr = ["-e", "store", "--addr", rarest(context, trace, stores)]
    full = [("who ran it", by_pc), ("who wrote there", by_addr)]
    rows = []

    def add(what, runs, peak=0, note=""):
        rows.append({"what": what, "seconds": Spread.of(r.wall for r in runs).to_json(),
                     "peak_mib": peak, "note": note})
    add("tracedump | head", [children.first_lines([dump, "-q", trace], 10)
                             for _ in range(2 * context.runs)])
    places = random.Random(1)
    seeks = [children.run([dump, "-q", "--from", str(places.randrange(insns)), "-n", "1", trace],
                          watch=True) for _ in range(SEEKS)]
    add("any place: --from N -n 1", seeks, max(s.peak for s in seeks), "%d places" % SEEKS)
    for what, options in full:
        took = {}
        for _ in range(context.runs):
            for more in (), ("--no-index",):
                took.setdefault(more, []).append(
                    children.run([dump, "-q", *options, *more, trace], watch=True))
        plain, without = Spread.of(r.wall for r in took[()]), Spread.of(
            r.wall for r in took["--no-index",])
        text = "%s: %s" % (what, " ".join(options[-2:]))
        add(text, took[()], max(r.peak for r in took[()]),
            "%.0f times faster by the index" % (without.median / plain.median))
        add(text + " --no-index", took["--no-index",], max(r.peak for r in took["--no-index",]))
    result = {"program": program.name, "instructions": insns, "events": EVENTS,
              "bytes": os.path.getsize(trace), "chunks": info["chunks"], "rows": rows}
    os.remove(trace)
    return result
