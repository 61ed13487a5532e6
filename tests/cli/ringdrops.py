# SPDX-License-Identifier: MIT
"""Checks traces of one recording with a ring, in the order in which they were written.

Each is complete; the numbers of each thread (tests/guests/numbers.c) are consecutive;
the sums of kept and dropped never decrease; each register state follows from the one
before and the recorded changes.
"""

import json
import os
import subprocess
import sys

STRIDE = 64


def lines(dump, *options):
    p = subprocess.run([dump, "-q", *options], capture_output=True, text=True)
    if p.returncode not in (0, 3, 4):
        sys.exit("tracedump %s: %s" % (options, p.stderr))
    return [json.loads(line) for line in p.stdout.splitlines()]


def main():
    dump, replay, base, *traces = sys.argv[1:]
    base = int(base, 0)
    before = {"instructions": 0, "loads": 0, "stores": 0}
    dropped = 0
    for trace in traces:
        info = lines(dump, "--info", "--json", trace)[0]
        if info["state"] != "complete":
            sys.exit("%s: %s" % (trace, info["state"]))
        subprocess.run(["zstd", "-tq", trace], check=True)
        now = {k: info[k] + info.get("dropped", {}).get(k, 0) for k in before}
        for k in ("instructions", "loads", "stores"):
            if now[k] < before[k]:
                sys.exit("%s: %s were %d, are %d" % (trace, k, before[k], now[k]))
        before = now
        dropped += "dropped" in info
        numbers, total = {}, 0
        for e in lines(dump, "--json", "--no-disas", "-e", "store,val", "--addr",
                       "%#x+%d" % (base, 16 * 4096), trace):
            key = (e["pid"], e["tid"], (int(e["addr"], 0) - base) // STRIDE)
            value, at = int(e["value"], 0), e["ordinal"]
            if key in numbers and numbers[key][0] + 1 != value:
                sys.exit("%s: %s: %d after %d" % (trace, key, value, numbers[key][0]))
            if key in numbers and at <= numbers[key][1]:
                sys.exit("%s: %s: ordinal %d after %d" % (trace, key, at, numbers[key][1]))
            numbers[key] = (value, at)
            total += 1
        if trace == traces[-1] and not total:
            sys.exit("%s: no numbers" % trace)
        if os.access(replay, os.X_OK):
            p = subprocess.run([replay, trace], capture_output=True, text=True)
            if p.returncode:
                sys.exit("%s: oracle-replay: %s" % (trace, p.stdout[-500:]))
    print("%d traces, %d with parts dropped, %s in all" %
          (len(traces), dropped, before["instructions"]))


if __name__ == "__main__":
    main()
