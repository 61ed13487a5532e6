# SPDX-License-Identifier: MIT
"""Checks that lines of `tracedump --json' are in order of time.

order_check.py GROUPED ORDERED INFO

GROUPED is the output with --group, where each thread's lines are as they were recorded;
INFO that of --info --json, for the order of the threads.  ORDERED must be a stable sort of
them: by the time of a line, then by thread.  A line without a time has that of the line
before it, and a line within a call (it is before the call's and has a later time) that of
the call.  Prints how many lines have another place than in GROUPED.
"""
import json
import sys
from decimal import Decimal


def lines_of(name):
    """(thread, line as written, object with exact times) of each line."""
    result = []
    with open(name, encoding="utf-8") as f:
        for line in f:
            e = json.loads(line, parse_float=Decimal)
            result.append(((e["pid"], e["tid"]), line, e))
    return result


def with_keys(lines):
    """The lines of one thread, each with its place in time."""
    keys, last = [], Decimal(0)
    for _, _, e in lines:
        last = max(last, e["time"]) if e["kind"] != "syscall" and "time" in e else e.get("time", last)
        keys.append(last)
    for i in range(len(keys) - 2, -1, -1):
        keys[i] = min(keys[i], keys[i + 1])
    return zip(keys, lines)


def without_first(lines):
    """Leaves out what a thread has before its first time: only its chunk's begin places it."""
    begun = set()
    for line in lines:
        if "time" in line[2]:
            begun.add(line[0])
        if line[0] in begun:
            yield line


def main():
    grouped, ordered = (list(without_first(lines_of(name))) for name in sys.argv[1:3])
    with open(sys.argv[3], encoding="utf-8") as f:
        # a process that execve replaced has the ids of the one before
        threads = list(dict.fromkeys((t["pid"], t["tid"]) for t in json.load(f)["threads"]))
    want = []
    for number, thread in enumerate(threads):
        mine = [g for g in grouped if g[0] == thread]
        want += [(key, number, g[1]) for key, g in with_keys(mine)]
    want.sort(key=lambda w: w[:2])
    if len(want) != len(ordered):
        sys.exit("%d lines, not %d" % (len(ordered), len(want)))
    for i, (w, o) in enumerate(zip(want, ordered)):
        if w[2] != o[1]:
            sys.exit("line %d is\n%sand should be (key %s)\n%s" % (i + 1, o[1], w[0], w[2]))
    print(sum(a[1] != b[1] for a, b in zip(grouped, ordered)))


main()
