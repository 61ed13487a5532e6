#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""covfunctions.py BIN TRACE: functions that ran, of programs without debug information.

tracecov's functions that ran must be those, by the dynamic symbols of nm(1) and, where there
are none, the unwind tables of readelf(1), that contain one of tracedump's instructions; the
same holds for the number of instructions of each, and for how often its first one ran.
Where a function jumps to its own first instruction that may be a loop, which does not count,
or a call.
"""
import bisect
import collections
import json
import re
import subprocess
import sys

FRAME = re.compile(r"FDE cie=\S+ pc=([0-9a-f]+)\.\.([0-9a-f]+)")
INDEX = re.compile(r"^0x([0-9a-f]+)[: ]", re.M)
SECTION = re.compile(r" PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) +\S+ +AX ")
THREAD = re.compile(r'"tid":([0-9]+)')
LINE = re.compile(r'"module":"([^"]*)","module_offset":"(0x[0-9a-f]+)"')


def run(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def executed(tools, trace):
    """How often the instruction at each offset of each module ran, and after another one of
    the module, which was not the one before it: {module: ({at: n}, {(from, at): n})}."""
    command = [tools + "/tracedump", "-q", "--json", "--no-disas", "-e", "exec", trace]
    counts = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    last = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as p:
        for line in p.stdout:
            found = LINE.search(line)
            thread = THREAD.search(line)[1]
            if found:
                at = int(found[2], 16)
                counts[found[1]][0][at] += 1
                path, before = last.get(thread, ("", 0))
                if path == found[1] and not 0 < at - before <= 16:
                    counts[path][1][before, at] += 1
            last[thread] = (found[1], at) if found else ("", 0)
    if p.returncode:
        sys.exit("covfunctions.py: tracedump: status %d" % p.returncode)
    return counts


def unwound(path, arm):
    """(first, end) of each function of the unwind table; arm: up to the next one, or the end
    of the section."""
    if not arm:
        text = run(["readelf", "-W", "--debug-dump=frames", path])
        return [(int(a, 16), int(b, 16)) for a, b in FRAME.findall(text)]
    text = run(["readelf", "-W", "-u", path])
    first = {int(a, 16) for a in INDEX.findall(text)}
    ends = first | {int(a, 16) + int(n, 16)
                    for a, n in SECTION.findall(run(["readelf", "-W", "-S", path]))}
    return [(a, min(e for e in ends if e > a)) for a in sorted(first)]


def all_functions(path, arm):
    """Functions of symbols, and those of the unwind table that begin in none of them."""
    known = sorted(functions(path, arm))
    starts = sorted({a for a, _ in known} | {a for a, _ in unwound(path, arm)})
    found = set(known)
    for first, end in unwound(path, arm):
        if not any(a <= first < b for a, b in known):
            after = bisect.bisect_right(starts, first)
            found.add((first, min(end, starts[after] if after < len(starts) else end)))
    return found


def functions(path, thumb):
    """(first, end) of each function of nm; with `thumb' an odd address is a Thumb one."""
    found = set()
    for line in run(["nm", "-D", "-S", "--defined-only", path]).splitlines():
        field = line.split()
        if len(field) == 4 and field[2] in "TtWwi":
            first = int(field[0], 16) & ~int(thumb)
            found.add((first, first + int(field[1], 16)))
    return found


def main(tools, trace):
    counts = executed(tools, trace)
    j = json.loads(run([tools + "/tracecov", "-q", "-f", "json", trace]))
    wrong, ran = [], 0
    for m in j["modules"]:
        count, jumps = counts[m["path"]]
        places = sorted(count)
        got = {int(f["addr"], 16): (f["insns_hit"], f["count"])
               for s in j["sources"] for f in s["functions"]
               if f["module"] == m["index"] and f["insns_hit"]}
        want = {}
        symbols = all_functions(m["file"], j["target"] == "arm") if m["file"] else ()
        for first, end in symbols:
            hit = bisect.bisect_left(places, end) - bisect.bisect_left(places, first)
            if hit:
                # one that ran only in part counts once
                want[first] = (hit, count.get(first, 1))
                loops = sum(n for (a, b), n in jumps.items() if b == first <= a < end)
                if loops and first in got and got[first][0] == hit:
                    least = want[first][1] - loops
                    if least <= got[first][1] <= want[first][1]:
                        want[first] = got[first]
        ran += len(want)
        for addr in sorted(got.keys() | want.keys()):
            if got.get(addr) != want.get(addr):
                wrong.append("%s: 0x%x: (instructions, count) is %s, not %s"
                             % (m["path"], addr, got.get(addr), want.get(addr)))
    if wrong or ran < 100:
        sys.exit("covfunctions.py: %d functions ran; %d wrong: %s"
                 % (ran, len(wrong), "; ".join(wrong[:10])))
    print("%d functions" % ran)


main(*sys.argv[1:])
