# SPDX-License-Identifier: MIT
"""The byte witness: a guest program that knows which bytes it accessed.

The program prints, per execution of a watched instruction, "X pc", and then
"L addr len" and "S addr len" lines (see guest.h).  The trace must hold, for
each execution of that pc in order, exactly these bytes: each byte loaded is in
a load, each byte stored in a store, and no other byte.  "l addr len" and
"s addr len" are bytes that may be there or not (reserved fields of fxsave, the
other operand of XC).  "F pc" is an execution that faulted: its accesses
are not compared.  "C pc bytes" names the instruction that ran at a pc,
where the program rewrites itself.
"""
import json


class Execution:
    def __init__(self, faulted):
        self.faulted = faulted
        self.load = set()
        self.store = set()
        self.may = {"load": set(), "store": set()}

    def add(self, kind, addr, size):
        (self.load if kind == "load" else self.store).update(range(addr, addr + size))


def read_statement(text):
    """The program's output: {pc: [Execution]}, and the total number of bytes."""
    said = {}
    total = 0
    last = None
    for line in text.splitlines():
        word = line.split()
        if len(word) >= 2 and word[0] in "XF":
            last = Execution(word[0] == "F")
            said.setdefault(int(word[1], 16), []).append(last)
        elif len(word) == 3 and word[0] in "LS" and last:
            last.add("load" if word[0] == "L" else "store", int(word[1], 16), int(word[2]))
            total += int(word[2])
        elif len(word) == 3 and word[0] in "ls" and last:
            at = int(word[1], 16)
            last.may["load" if word[0] == "l" else "store"].update(range(at, at + int(word[2])))
    return said, total


def read_trace(lines, watched):
    """The trace's executions of these pcs: {pc: [Execution]}."""
    seen = {pc: [] for pc in watched}
    wanted = {'"0x%x"' % pc for pc in watched}
    last = {}
    for line in lines:
        at = line.find('"pc":')
        end = line.find('"', at + 6 + (line[at + 5] == " "))
        if line[at + 5:end + 1].strip() not in wanted:
            continue
        event = json.loads(line)
        pc = int(event["pc"], 16)
        key = (event["pid"], event["tid"], event["ordinal"])
        if event["kind"] == "exec":
            last[pc] = (key, Execution(False))
            seen[pc].append(last[pc][1])
        elif pc in last and last[pc][0] == key:
            last[pc][1].add(event["kind"], int(event["addr"], 16), event["size"])
    return seen


def ranges(points):
    """A set of addresses as text: 0x10+4 0x20+1"""
    out = []
    points = sorted(points)
    at = 0
    while at < len(points):
        end = at
        while end + 1 < len(points) and points[end + 1] == points[end] + 1:
            end += 1
        out.append("0x%x+%d" % (points[at], end - at + 1))
        at = end + 1
    return " ".join(out[:12]) + (" .." if len(out) > 12 else "") or "nothing"


def compare(said, seen):
    """Differences as text lines; empty when the trace is exact."""
    wrong = []
    for pc, expected in sorted(said.items()):
        got = seen[pc]
        if len(got) != len(expected):
            wrong.append("pc 0x%x: executed %d times, the trace has %d"
                         % (pc, len(expected), len(got)))
            continue
        for i, (e, g) in enumerate(zip(expected, got)):
            if e.faulted:
                continue
            for kind in ("load", "store"):
                a, b = getattr(e, kind), getattr(g, kind)
                if a - b or b - a - e.may[kind]:
                    wrong.append("pc 0x%x execution %d, %s: missing %s, too many %s"
                                 % (pc, i, kind, ranges(a - b), ranges(b - a - e.may[kind])))
    return wrong


def code_said(text):
    """{pc: [bytes as hex]} of the program's C lines."""
    said = {}
    for line in text.splitlines():
        word = line.split()
        if len(word) == 3 and word[0] == "C":
            said.setdefault(int(word[1], 16), []).append(word[2])
    return said


def code_differences(said, dump):
    """dump(pc) gives tracedump's text lines for one pc."""
    wrong = []
    for pc, expected in said.items():
        got = [line.split()[3] for line in dump(pc) if len(line.split()) >= 4]
        if got != expected:
            wrong.append("pc 0x%x: executed %s, the trace has %s"
                         % (pc, " ".join(expected), " ".join(got)))
    return wrong
