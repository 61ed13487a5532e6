#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""covsums.py BIN TRACE...: tracecov's counts equal the contents of a trace.

The sum over all files and `elsewhere' is the number of instructions, of the whole trace and
of each thread; the JSON is the same from the index, by replay, without an index, and with any
number of workers; and each file's instructions are those that tracedump shows for it.
"""
import collections
import json
import subprocess
import sys


def fail(text):
    sys.exit("covsums.py: " + text)


def run(command, allowed=(0,)):
    p = subprocess.run(command, capture_output=True, text=True)
    if p.returncode not in allowed:
        fail("%s: status %d: %s" % (" ".join(command), p.returncode, p.stderr))
    return p.stdout


def check(tools, trace):
    # a killed process gives status 3
    def cov(*options):
        return run([tools + "/tracecov", "-q", "-f", "json", *options, trace], (0, 3))

    def part(option):
        # On a busy machine all of a short program may have run before, or after: status 4.
        text = run([tools + "/tracecov", "-q", "-f", "json", option, trace], (0, 3, 4))
        return json.loads(text)["instructions"] if text else 0

    def check_sum(text, instructions, what):
        j = json.loads(text)
        total = sum(m["instructions"] for m in j["modules"]) + j["elsewhere"]
        if not total == j["instructions"] == instructions:
            fail("%s: %s: %d instructions in files and elsewhere, %d reported, not %d"
                 % (trace, what, total, j["instructions"], instructions))
        return j

    info = json.loads(run([tools + "/tracedump", "-q", "--info", "--json", trace], (0, 3)))
    whole = cov()
    j = check_sum(whole, info["instructions"], "whole")
    for how in (["-j1"], ["-j2"], ["--no-index"], ["--from=0", "-n999999999999", "-j1"],
                ["--from=0", "-n999999999999", "-j2"], ["--to-time=999999"]):
        if cov(*how) != whole:
            fail("%s: %s makes a difference" % (trace, " ".join(how)))

    threads = collections.defaultdict(int)
    for t in info["threads"]:
        threads[t["tid"]] += t["instructions"]
    for tid, instructions in threads.items():
        text = cov("-t", str(tid))
        check_sum(text, instructions, "thread %d" % tid)
        if cov("-t", str(tid), "--from=0", "-n999999999999") != text:
            fail("%s: thread %d: a replay gives another count" % (trace, tid))
    first = sum(min(1000, t["instructions"]) for t in info["threads"])
    check_sum(cov("-n1000"), first, "-n1000")
    check_sum(cov("--from=1000"), info["instructions"] - first, "--from=1000")
    cut = "%.9f" % (info["duration"] / 2)
    parts = [part(o + cut) for o in ("--to-time=", "--from-time=")]
    if sum(parts) != info["instructions"]:
        fail("%s: before and after %s s: %s" % (trace, cut, parts))

    shown = collections.Counter()
    dump = subprocess.Popen([tools + "/tracedump", "-q", "--json", "-e", "exec", "--no-disas",
                             trace], stdout=subprocess.PIPE, text=True)
    for line in dump.stdout:
        shown[json.loads(line).get("module", "")] += 1
    counted = {m["path"]: m["instructions"] for m in j["modules"]}
    for path, n in counted.items():
        if shown[path] != n:
            fail("%s: %s: %d instructions, tracedump shows %d" % (trace, path, n, shown[path]))


for name in sys.argv[2:]:
    check(sys.argv[1], name)
