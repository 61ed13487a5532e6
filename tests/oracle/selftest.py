#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Do the comparers see what they should?  Made-up logs and traces, no QEMU.

Each case is a pair of tellings and whether they are the same; then every line of
an exact pair is left out, doubled or changed, and the comparer must object.
"""
import json
import subprocess
import sys
import tempfile

import bytecheck


def block(pc, *accesses, cs_base=0, cflags=0x201, code="e1a00000"):
    """A Trace line with its accesses: (addr, bytes, 'load' or 'store')."""
    lines = ["0x%08x:  %s  text" % (pc, code),
             "Trace 0: 0x7f00 [%08x/%016x/00000000/%08x] sym" % (cs_base, pc, cflags)]
    return lines + ["0x%x,sym,0x%x,0x0,%d,%s,0x00" % (pc, a, 8 * n, kind)
                    for a, n, kind in accesses]


def trace(*instructions):
    """tracedump --json for [(pc, access..)]."""
    lines = []
    for ordinal, (pc, *accesses) in enumerate(instructions):
        at = {"ordinal": ordinal, "pid": 7, "tid": 7, "pc": "0x%x" % pc}
        lines.append(json.dumps({"kind": "exec", **at}))
        lines += [json.dumps({"kind": kind, **at, "addr": "0x%x" % a, "size": n})
                  for a, n, kind in accesses]
    return lines


L, S = (0x1000, 4, "load"), (0x2008, 8, "store")
LOG = (block(0x100) + block(0x104, L) + block(0x108, S, L) + block(0x104, L) + block(0x10c))
SAME = trace((0x100,), (0x104, L), (0x108, S, L), (0x104, L), (0x10c,))
WIDE = (0x3000, 16, "load")
HALVES = [(0x3000, 8, "load"), (0x3008, 8, "load")]
MVC = "d203 1000 2000"
PARALLEL, ALONE = 0x8201, 0x0601

CASES = [
    ("same", "arm", LOG, SAME, True),
    ("shorter trace", "arm", LOG, SAME[:-1], False),
    ("shorter log", "arm", LOG[:-2], SAME, False),
    ("other pc", "arm", LOG, trace((0x100,), (0x104, L), (0x10a, S, L), (0x104, L), (0x10c,)), False),
    ("order of accesses", "arm", LOG,
     trace((0x100,), (0x104, L), (0x108, L, S), (0x104, L), (0x10c,)), False),
    ("load for store", "arm", block(0x100, S), trace((0x100, (0x2008, 8, "load"))), False),
    ("size", "arm", block(0x100, S), trace((0x100, (0x2008, 4, "store"))), False),
    ("halves", "arm", block(0x100, WIDE), trace((0x100, *HALVES)), True),
    ("halves the other way", "arm", block(0x100, *HALVES), trace((0x100, WIDE)), True),
    ("one half", "arm", block(0x100, WIDE), trace((0x100, HALVES[0])), False),
    ("halves of 8", "arm", block(0x100, S), trace((0x100, (0x2008, 4, "store"), (0x200c, 4, "store"))),
     False),
    ("stopped", "arm",
     block(0x100) + block(0x104) + ["Stopped execution of TB chain before 0x7f00 [0104] sym"]
     + block(0x104, L), trace((0x100,), (0x104, L)), True),
    ("atomic", "arm", block(0x100, L, cflags=PARALLEL) + block(0x100, L, S, cflags=ALONE),
     trace((0x100, L, S)), True),
    ("atomic, kept twice", "arm", block(0x100, cflags=PARALLEL) + block(0x100, L, S, cflags=ALONE),
     trace((0x100,), (0x100, L, S)), False),
    ("execute", "s390x", block(0x100, code="4440 5000") + block(0x100, L, cs_base=5, code=MVC)
     + block(0x104), trace((0x100, L), (0x104,)), True),
    ("execute twice", "s390x", block(0x100, code="4440 5000")
     + block(0x100, L, cs_base=5, code=MVC), trace((0x100,), (0x100, L)), False),
    ("blind", "s390x", block(0x100, code=MVC) + block(0x106),
     trace((0x100, (0x10, 4, "load"), (0x20, 4, "store")), (0x106,)), True),
    ("blind, a byte too few", "s390x", block(0x100, code=MVC) + block(0x106),
     trace((0x100, (0x10, 3, "load"), (0x20, 4, "store")), (0x106,)), False),
    ("blind, nothing", "s390x", block(0x100, code=MVC) + block(0x106), trace((0x100,), (0x106,)), False),
    ("blind, a fault", "s390x", block(0x100, code=MVC) + block(0x900), trace((0x100,), (0x900,)), True),
    ("blind, not what the plugin saw", "s390x", block(0x100, (0x30, 1, "store"), code=MVC)
     + block(0x106), trace((0x100, (0x10, 4, "load"), (0x20, 4, "store")), (0x106,)), False),
]

CODE = ["i 100 4 -", "i 104 4 d 110", "i 108 4 -", "i 110 4 a", "i 200 4 D 300", "i 204 4 -",
        "i 300 4 -v", "h 800", "i 800 4 a", "w 2008"]
FLOWS = [
    ("straight and branch", trace((0x100,), (0x104,), (0x110,), (0x100,), (0x104,), (0x108,)), True),
    ("a jump from nowhere", trace((0x100,), (0x108,)), False),
    ("a branch to another place", trace((0x104,), (0x10c,)), False),
    ("a handler", trace((0x100,), (0x800,), (0x100,)), True),
    ("a delay slot", trace((0x200,), (0x204,), (0x300,)), True),
    ("an annulled slot", trace((0x200,), (0x208,)), True),
    ("before the delay slot", trace((0x200,), (0x300,)), False),
    ("other accesses", trace((0x100, L), (0x104,), (0x110,), (0x100,), (0x104,)), False),
    ("other accesses, interrupted", trace((0x100, L), (0x104,), (0x110,), (0x100,), (0x800,)), True),
    ("other accesses, conditional", trace((0x110,), (0x300, L), (0x304,), (0x300,), (0x304,)), True),
    ("a gap", [line for line in trace((0x100,), (0x104,), (0x108,))][::2], False),
]


def told(program, options, **files):
    """Write the tellings to files and ask the program."""
    command = [program, *options]
    handles = []
    for name, lines in files.items():
        f = tempfile.NamedTemporaryFile("w", suffix="." + name)
        f.write("".join(line + "\n" for line in lines))
        f.flush()
        handles.append(f)
        command += ["--" + name, f.name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError("%s: status %d: %s" % (program, done.returncode, done.stderr))
    return done.returncode == 0


def main():
    compare, flow = sys.argv[1:3]
    bad = count = 0

    def check(name, got, expected):
        nonlocal bad, count
        count += 1
        if got != expected:
            bad += 1
            print("%s: the comparer says %s" % (name, "equal" if got else "different"))

    for name, target, log, lines, same in CASES:
        check(name, told(compare, ["--target", target], witness=log, trace=lines), same)
    for i in range(len(SAME)):
        check("without line %d" % i, told(compare, ["--target", "arm"], witness=LOG,
                                          trace=SAME[:i] + SAME[i + 1:]), False)
        check("line %d twice" % i, told(compare, ["--target", "arm"], witness=LOG,
                                        trace=SAME[:i + 1] + SAME[i:]), False)
    for name, lines, good in FLOWS:
        check("flow: " + name, told(flow, [], code=CODE, trace=lines), good)
    said, _ = bytecheck.read_statement("X 0x100\nL 0x10 4\nS 0x20 2\ns 0x22 2\nF 0x100\n")
    for name, accesses, good in (
            ("bytes", [(0x10, 4, "load"), (0x20, 2, "store")], True),
            ("bytes in pieces", [(0x12, 2, "load"), (0x10, 2, "load"), (0x20, 4, "store")], True),
            ("a byte too few", [(0x10, 3, "load"), (0x20, 2, "store")], False),
            ("a byte too many", [(0x10, 5, "load"), (0x20, 2, "store")], False)):
        seen = bytecheck.read_trace(trace((0x100, *accesses), (0x100, L)), said)
        check(name, not bytecheck.compare(said, seen), good)
    print("%d passed, %d failed" % (count - bad, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
