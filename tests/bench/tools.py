#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast tracecov and tracesym read traces, with one and two workers.

Each program of bench.py is recorded once (events exec and mem); then every tool runs over
the trace in turn, again and again.  The table shows the median of the wall-clock times,
millions of instructions a second, and the most memory that a run had resident.  Nothing
is asserted: machines differ, and this one may be busy.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import bench

# (name, command, instructions of each thread that it looks at, 0: all)
WORK = [
    ("coverage, index", ["tracecov", "-q", "-f", "json"], 0),
    ("coverage, replay", ["tracecov", "-q", "-f", "json", "--from", "1"], 0),
    ("symbols, text", ["tracesym", "-q", "--count", "{count}"], 4000000),
    ("symbols, JSON", ["tracesym", "-q", "--json", "--count", "{count}"], 4000000),
    ("functions", ["tracesym", "-q", "--functions"], 0),
    ("calls, folded", ["tracesym", "-q", "--calls", "-f", "folded"], 0),
    ("calls, callgrind", ["tracesym", "-q", "--calls", "-f", "callgrind"], 0),
    ("bbv", ["tracesym", "-q", "--bbv", "10000000"], 0),
]
JOBS = (1, 2)


def arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(bench.ROOT, "build"),
                   help="build folder with bin/, libexec/ and sysroot/")
    p.add_argument("--qemu-dir", help="folder of the patched QEMUs")
    p.add_argument("--sysroot", help="folder made by scripts/sysroot.sh")
    p.add_argument("--runs", type=int, default=3, help="runs of each (default 3)")
    p.add_argument("--only", default="", help="programs whose name contains this")
    p.add_argument("--json", metavar="FILE", help="write all times to FILE, too")
    args = p.parse_args()
    args.qemu_dir = args.qemu_dir or os.path.join(args.build, "libexec/cannoli")
    args.sysroot = args.sysroot or os.path.join(args.build, "sysroot")
    return args


def run(command):
    """Seconds of wall-clock time, and peak resident MiB."""
    begin = time.monotonic()
    peak = 0
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    while True:
        # its own, which wait4 does not tell: what we had when it was forked counts there
        with open("/proc/%d/status" % child.pid) as f:
            peak = max([peak] + [int(line.split()[1]) for line in f if line.startswith("VmHWM")])
        try:
            child.wait(0.01)
            break
        except subprocess.TimeoutExpired:
            pass
    if child.returncode != 0:
        sys.exit("%s: status %d" % (" ".join(command), child.returncode))
    return time.monotonic() - begin, peak / 1024


def measure(args, program, tmp):
    name, qemu, command, stdin = program
    trace = os.path.join(tmp, "bench.ctr")
    tool = lambda t: os.path.join(args.build, "bin", t)
    bench.run([tool("cannoli-record"), "-q", "--events", "exec,mem,map,thr", "-o", trace,
               "--", qemu] + command, stdin)
    info = json.loads(subprocess.run([tool("tracedump"), "--info", "--json", trace],
                                     check=True, capture_output=True).stdout)
    insns = info["instructions"]
    where = ["--sysroot", command[1]] if command[0] == "-L" else []
    runs = {}
    for _ in range(args.runs):
        for what, line, count in WORK:
            for jobs in JOBS:
                line_now = [tool(line[0])] + [w.format(count=count) for w in line[1:]]
                got = run(line_now + where + ["-j", str(jobs), trace])
                runs.setdefault((what, jobs), []).append(got)
    print("%s: %.0f M instructions, %.1f MiB" % (name, insns / 1e6,
                                                 os.path.getsize(trace) / 2**20))
    results = []
    for what, _, count in WORK:
        row = "  %-18s" % what
        for jobs in JOBS:
            seconds = statistics.median(t for t, _ in runs[what, jobs])
            peak = max(m for _, m in runs[what, jobs])
            row += " %8.2f %9.1f %7.0f" % (seconds, (count or insns) / seconds / 1e6, peak)
            results.append({"what": what, "jobs": jobs, "seconds": seconds, "MiB": peak})
        print(row, flush=True)
    os.remove(trace)
    return {"program": name, "instructions": insns, "results": results}


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as tmp:
        print("%-20s %s" % ("", "".join(" %8s %9s %7s" % ("s, %d job%s" % (j, "s"[:j > 1]),
                                                         "Minsn/s", "MiB") for j in JOBS)))
        results = [measure(args, program, tmp) for program in bench.make_programs(args, tmp)
                   if not program[0].startswith(bench.EXTREME)]
        bench.finish(args, results)


if __name__ == "__main__":
    main()
