# SPDX-License-Identifier: MIT
"""Checks the order of `tracedump --json -e sys,thr' against what happened.

order_real.py DUMP [CLOCK]

A thread or process comes after the line of the call that created it, and what a program
does after the execve that began it.  CLOCK is orderguest.c's output: of two calls with a
serial number of which one had returned before the other began, it is first.
"""
import json
import sys

CREATE = ("clone", "clone3", "fork", "vfork")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    first, calls, created, replaced = set(), [], {}, {}
    checks = 0
    for number, e in enumerate(lines):
        if e["kind"] == "syscall" and e["name"] in CREATE and e.get("result", 0) > 0:
            if e["result"] in first:
                sys.exit("line %d creates %d, which is above it" % (number + 1, e["result"]))
            created[e["result"]] = number
        elif e["kind"] == "syscall" and e["name"] == "execve" and "result" not in e and \
                "errno" not in e:
            replaced[e["pid"]] = True
        if e["kind"] == "thread" and e["op"] == "exec":
            if not replaced.pop(e["pid"], False):
                sys.exit("line %d: a program without an execve above" % (number + 1))
            checks += 1
        if e["tid"] not in first:
            checks += e["tid"] in created
            first.add(e["tid"])
        if e["kind"] == "syscall" and e["name"] == "write" and e["args"][0] in (2**32 - 1, 2**64 - 1):
            calls.append(e["args"][2])
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as f:
            clock = {int(w[0]): (int(w[1]), int(w[2])) for w in map(str.split, f)}
        if sorted(calls) != sorted(clock):
            sys.exit("%d calls with a serial number, not %d" % (len(calls), len(clock)))
        latest, which = 0, 0
        for serial in calls:
            before, after = clock[serial]
            if after < latest:
                sys.exit("call %d is after call %d, which began %d ns after its return"
                         % (serial, which, latest - after))
            if before > latest:
                latest, which = before, serial
    print(checks)


main()
