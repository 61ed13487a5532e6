# SPDX-License-Identifier: MIT
"""How long a trace needs to answer, including the program's start: its first lines, any
place of it, who ran or wrote an address that few chunks have; with the index and without."""
import json
import os
import random

from .stats import Spread

SEEKS = 40
CANDIDATES = 12
BEGINNING = 20000


def beginning(context, trace):
    """(first code address, addresses of the first stores): start-up accesses some that the
    program does not access again."""
    done = context.children.run([context.tool("tracedump"), "-q", "--json", "--no-disas",
                                 "-e", "exec,store", "--count", str(BEGINNING), trace.path],
                                keep_output=True)
    pc, stores = None, {}
    for line in done.output.splitlines():
        o = json.loads(line)
        pc = pc or o.get("pc")
        if o["kind"] == "store":
            stores.setdefault(int(o["addr"], 16) >> 12, o["addr"])
    return pc, list(stores.values())[:CANDIDATES]


def rarest(context, trace, addresses):
    """The one for which the index leaves the fewest chunks: the quickest."""
    def seconds(addr):
        return context.children.run([context.tool("tracedump"), "-q", "--writes", "--addr",
                                     addr, trace.path]).wall
    return min(addresses, key=seconds)


def row(what, seconds, peak=0, note=""):
    return {"what": what, "seconds": Spread.of(seconds).to_json(), "peak_mib": peak, "note": note}


def places(context, trace):
    """tracedump at random places and times, and the library's cursor."""
    dump, chosen, many = context.tool("tracedump"), random.Random(1), "%d places" % SEEKS
    for what, options in (("any place: --from N -n 1", ["-n", "1", "--from", "%d"]),
                          ("any place: --state N", ["--state", "%d/1"])):
        took = []
        for _ in range(SEEKS):
            *before, place = options
            line = [dump, "-q", *before, place % chosen.randrange(trace.insns), trace.path]
            took.append(context.children.run(line, watch=True))
        yield row(what, (t.wall for t in took), max(t.peak for t in took), many)
    times = ["%.9f" % (chosen.random() * trace.info["duration"]) for _ in range(SEEKS)]
    took = [context.children.first_lines([dump, "-q", "--from-time", t, trace.path], 1)
            for t in times]
    yield row("any time: --from-time T | head -n 1", (t.wall for t in took), 0, many)
    if not os.access(context.tool("replay_bench"), os.X_OK):
        return
    done = context.children.run([context.tool("replay_bench"), "--json", "--repeat", "1",
                                 "--seeks", "200", trace.path], keep_output=True)
    for kind, o in json.loads(done.output)["seek"].items():
        # only the middle and the end are reported, which is enough
        half = o["p50_ms"] / 1e3
        yield {"what": "cursor, seek to " + kind, "peak_mib": 0, "note": "%d places" % o["n"],
               "seconds": {"median": half, "min": half, "max": o["max_ms"] / 1e3, "runs": o["n"]}}


def by_index(context, trace, what, options):
    """The same query with the index and without."""
    line = [context.tool("tracedump"), "-q", *options, trace.path]
    took = {"": [], " --no-index": []}
    for _ in range(context.runs):
        for more, runs in took.items():
            runs.append(context.children.run(line + more.split(), watch=True))
    medians = {more: Spread.of(r.wall for r in runs).median for more, runs in took.items()}
    gain = "%.0f times faster by the index" % (medians[" --no-index"] / medians[""])
    for more, runs in took.items():
        yield row(what + more, (r.wall for r in runs), max(r.peak for r in runs),
                  "" if more else gain)


def measure(context, trace):
    """Results for one trace, ready for JSON."""
    dump = [context.tool("tracedump"), "-q"]
    rows = [row("tracedump | head", (context.children.first_lines([*dump, trace.path], 10).wall
                                     for _ in range(2 * context.runs)))]
    rows += places(context, trace)
    pc, stores = beginning(context, trace)
    rows += by_index(context, trace, "who ran it: --pc " + pc, ["-e", "exec", "--pc", pc])
    if stores:
        addr = rarest(context, trace, stores)
        end = "%d/1" % trace.info["threads"][0]["instructions"]
        took = [context.children.run([*dump, "--last-write-before", end, "--addr", addr,
                                      trace.path], watch=True) for _ in range(context.runs)]
        rows.append(row("who wrote there last, from the end", (t.wall for t in took),
                        max(t.peak for t in took)))
        rows += by_index(context, trace, "who wrote there: --addr " + addr,
                         ["--writes", "--addr", addr])
    return trace.result(rows)
