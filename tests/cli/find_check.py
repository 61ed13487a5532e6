#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares tracedump --find with a slow search in the events of a whole trace.

find_check.py TRACE JOINED NOTHING CASE...

A CASE is "HEX WITHIN[; OPTION... [; FLOW...]]": the bytes, --within, other options, and
which of load, store, read and write these choose.  Each is run with one and with more
workers, with and without the index.  At least JOINED places must be found in pieces and
NOTHING in NOTHING cases, or the trace is too simple a test.
"""
import json
import os
import subprocess
import sys

FLOWS = ["load", "store", "read", "write"]


class Flow:
    """The places of which pieces were seen: {base: [ordinal, offsets, last piece]}."""

    def __init__(self, want, within):
        self.want = want
        self.within = within
        self.open = {}

    def access(self, ordinal, addr, size, data):
        """Yields the places that the access has whole, then those that it completes."""
        n = len(self.want)
        whole, pieces, done = [], {}, []
        for base in range(addr - n + 1, addr + len(data)):
            touched = [i for i in range(n) if addr <= base + i < addr + len(data)]
            if base < 0 or any(data[base + i - addr] != self.want[i] for i in touched):
                continue
            if len(touched) == n:
                whole.append(base)
            else:
                pieces[base] = touched
        if n == 1:
            return whole, done
        for base in list(self.open):
            if ordinal - self.open[base][0] > self.within:
                del self.open[base]
        self.clear(addr, len(data), pieces)
        for base, touched in pieces.items():
            place = self.open.get(base)
            if place and place[2] is not None:
                if set(touched) <= place[2]:
                    continue
                del self.open[base]
                place = None
            if not place:
                if not any(self.want[i] for i in touched):
                    continue  # zeros only
                place = self.open[base] = [ordinal, set(), None]
            place[0] = ordinal
            place[1] |= set(touched)
            if len(place[1]) == n:
                place[2] = set(touched)
                done.append(base)
        self.clear(addr + len(data), size - len(data), {})
        return whole, done

    def clear(self, addr, size, pieces):
        for base, (_, have, _) in list(self.open.items()):
            if base not in pieces and any(addr <= base + i < addr + size for i in have):
                del self.open[base]


def tracedump(args):
    """The objects that it prints, and its output."""
    p = subprocess.run([os.environ["BIN"] + "/tracedump", "--json", "--no-modules", "--no-disas"]
                       + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    events = [json.loads(line) for line in p.stdout.splitlines()]
    if p.returncode != (0 if events else 4) or (p.stderr != "") != (not events):
        sys.exit("%s: %d %s" % (args, p.returncode, p.stderr))
    return events, p.stdout


def accesses(events):
    """Yields thread, flow, ordinal, address, size and known bytes."""
    for e in events:
        thread = e["pid"], e["tid"]
        if e["kind"] in ("load", "store"):
            size = e["size"]
            data = (bytes.fromhex(e["data"]) if "data" in e else
                    int(e["value"], 16).to_bytes(size, "little"))
            yield thread, e["kind"], e["ordinal"], int(e["addr"], 16), size, data
        for m in e.get("memory", [e] if e["kind"] == "memory" else []):
            if m["size"]:
                data = bytes.fromhex(m["data"])[:m["size"]]
                yield thread, m["op"], e["ordinal"], int(m["addr"], 16), m["size"], data


def search(events, want, within, chosen):
    """What is to be found, by thread, and how much of it in pieces."""
    flows, found, joined = {}, {}, 0
    for thread, flow, ordinal, addr, size, data in accesses(events):
        if flow not in chosen:
            continue
        if (thread, flow) not in flows:
            flows[thread, flow] = Flow(want, within)
        whole, done = flows[thread, flow].access(ordinal, addr, size, data)
        joined += len(done)
        for base in whole + sorted(done):
            found.setdefault(thread, []).append((flow, ordinal, addr, size, base))
    return found, joined


def shown(events):
    found = {}
    for e in events:
        flow = e["op"] if e["kind"] == "memory" else e["kind"]
        found.setdefault((e["pid"], e["tid"]), []).append(
            (flow, e["ordinal"], int(e["addr"], 16), e["size"], int(e["found"], 16)))
    return found


def main():
    trace, least_joined, least_nothing = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    all_joined = nothing = 0
    for case in sys.argv[4:]:
        head, options, flows = (case + ";;").split(";")[:3]
        pattern, within = head.split()
        part = [o for o in options.split() if o.startswith(("--from", "--to", "-t"))]
        events, _ = tracedump(["-e", "mem,val,sys"] + part + [trace])
        want, joined = search(events, bytes.fromhex(pattern), int(within), flows.split() or FLOWS)
        all_joined += joined
        nothing += not want
        args = ["--find", pattern, "--within", within] + options.split() + [trace]
        got, first = tracedump(["-j1"] + args)
        if shown(got) != want:
            sys.exit("%s: found %s, not %s" % (case, shown(got), want))
        for how in (["-j2"], ["-j3", "--no-index"]):
            if tracedump(how + args)[1] != first:
                sys.exit("%s: another output with %s" % (case, how))
    if all_joined < least_joined or nothing < least_nothing:
        sys.exit("only %d in pieces, %d found nothing" % (all_joined, nothing))


main()
