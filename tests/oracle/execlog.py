# SPDX-License-Identifier: MIT
"""What QEMU's plugin execlog says of registers of big-endian targets, as a trace has it: the
plugin takes the first byte of a value for the lowest one.  Of s390x gdb has vector registers
0 to 15 in halves, and EXECUTE has two lines, the second one of what it executes."""
import os
import re

CHANGE = re.compile(r", (\w+) -> 0x(\w+)")
HALF = re.compile(r"f(\d+)$|v(\d+)l$")
BEGIN = re.compile(r"\d+, (0x\w+), 0x(\w+), ")
EXECUTE = (0x44, 0xc6)
NAMES = {"last_break": "bea"}


class BigEndian:
    def changes(self, line):
        return {name: bytes.fromhex(value)[::-1].hex() for name, value in CHANGE.findall(line)}


class S390x(BigEndian):
    def __init__(self):
        self.high, self.low = ["0" * 16] * 16, ["0" * 16] * 16

    def changes(self, line):
        found = {}
        for name, value in super().changes(line).items():
            half = HALF.match(name)
            if half:
                n = int(half[1] or half[2])
                (self.high if half[1] else self.low)[n] = value
                name, value = "v%d" % n, self.high[n] + self.low[n]
            found[NAMES.get(name, name)] = value
        return found


def is_executed(before, line):
    """Is it the second line of EXECUTE?  That may be of another EXECUTE, which is an exception."""
    a, b = BEGIN.match(before), BEGIN.match(line)
    return a and b and a[1] == b[1] and int(a[2], 16) & 0xff in EXECUTE


def instructions(lines):
    """The lines, and one for EXECUTE."""
    before = ""
    for line in map(str.rstrip, lines):
        if is_executed(before, line):
            yield before + "".join(m[0] for m in CHANGE.finditer(line))
            line = ""
        elif before:
            yield before
        before = line
    yield before


def convert(log, target):
    """Changes the log in place."""
    s390x = target == "s390x-softmmu"
    registers = S390x() if s390x else BigEndian()
    with open(log, encoding="ascii") as f, open(log + ".part", "w", encoding="ascii") as out:
        for line in instructions(f) if s390x else map(str.rstrip, f):
            found = registers.changes(line)
            out.write(CHANGE.sub("", line) + "".join(", %s -> 0x%s" % change for change in found.items())
                      + "\n")
    os.rename(log + ".part", log)
