# SPDX-License-Identifier: MIT
"""calls_check.py WITNESS DUMP: compares the calls that a guest counted
(tests/guests/calltree.c) with those that calltree_dump found in its trace."""
import sys
from collections import defaultdict

seen = defaultdict(int)  # (pid, caller, callee)
for line in open(sys.argv[2]):
    words = line.split()
    if words[0] == "call":
        seen[words[1].rsplit("-", 1)[1], words[2], words[3]] += int(words[4])

failed = 0
counted = defaultdict(int)  # (pid, callee)
wanted = defaultdict(int)   # (pid, callers, callee)
for line in open(sys.argv[1]):
    pid, callers, callee, n = line.split()
    wanted[pid, callers, callee] += int(n)
    counted[pid, callee] += int(n)


def of(pid, callee, callers):
    return sum(n for (p, a, b), n in seen.items()
               if (p, b) == (pid, callee) and (callers is None or a in callers))


least = int(sys.argv[3]) if len(sys.argv) > 3 else 40
if len(wanted) < least:
    sys.exit("only %d lines of witness" % len(wanted))
for (pid, callers, callee), n in sorted(wanted.items()):
    # All lines that name one of these callers: a tail call may count for either.
    mine = set(callers.split("|"))
    group = [(c, m) for (p, c, b), m in wanted.items() if (p, b) == (pid, callee)]
    grown = True
    while grown:
        more = set().union(*[set(c.split("|")) for c, _ in group if mine & set(c.split("|"))])
        grown = not more <= mine
        mine |= more
    want = sum(m for c, m in group if mine & set(c.split("|")))
    got = of(pid, callee, None if callers == "*" else mine)
    if callers == "*":
        want = counted[pid, callee]
    if got != want:
        print("%s: %s -> %s: %d calls, not %d" % (pid, callers, callee, got, want))
        failed = 1
for (pid, callee), n in sorted(counted.items()):
    got = of(pid, callee, None)
    if got != n:
        print("%s: %s was entered %d times, not %d: %s" % (
            pid, callee, got, n,
            {a: m for (p, a, b), m in seen.items() if (p, b) == (pid, callee)}))
        failed = 1
sys.exit(failed)
