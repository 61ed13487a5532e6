#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a backtrace with gdb's.

  gdb.py GDB OURS

The files are what `bt full' and `tracesym --backtrace=crash --locals' print.  Frames must be
the same: function, source line, arguments, variables.  A value may be missing in both, or in
gdb's: the trace also knows what a function was called with.  What both have is the same.
Variables of one name, of blocks inside of others, have the same order.
Prints the differences, then the number of frames and values compared.
"""
import re
import sys

# "walk.constprop.0", the compiler's copy of walk, is walk in gdb
FRAME = re.compile(
    r"#(\d+) +(?:0x[0-9a-f]+ in )?(\w+)[.\w]* \((.*)\)(?: at (\S+):(\d+))?")
# What gdb 13 gets wrong: it takes the value that a floating-point register had at the entry
# of a function for an integer, and shows what memory has of a variable without a value.
# The length of an array that is not constant is not read here.
TRUTH = {("walk", "share"): "0.375", ("visit", "result"): "<not set yet>",
         ("blocks", "counted"): "<its length is not known>"}
MISSING = re.compile(r"<optimized out>|<[^>]*>|\?")


def values(text):
    """The values of "a=1, b="x, y"" by name, each a list of one."""
    found, at = {}, 0
    for m in re.finditer(r'(\w+)=("(?:[^"\\]|\\.)*"|\{[^}]*\}|<[^>]*>|[^,]*)(?:, |$)', text):
        found[m[1]] = [m[2]]
        at = m.end()
    if at != len(text):
        sys.exit("cannot read the arguments '%s'" % text)
    return found


def frames(path):
    found = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            m = FRAME.match(line)
            if m and found and found[-1][0] == "main":
                break  # what called main
            if m:
                place = "%s:%s" % ((m[4] or "").rsplit("/", 1)[-1], m[5])
                found.append((m[2], place, values(m[3]), {}))
            elif found and re.match(r" +\w+ = ", line):
                name, value = line.strip().split(" = ", 1)
                found[-1][3].setdefault(name, []).append(value)
    return found


def missing(value):
    """Also an address that gdb does not print."""
    return not value or MISSING.search(value)


def plain(value):
    """A character without its number."""
    return re.sub(r"^-?\d+ '", "'", value)


def main():
    theirs, ours = frames(sys.argv[1]), frames(sys.argv[2])
    bad = compared = 0
    if [f[:2] for f in theirs] != [f[:2] for f in ours]:
        bad = 1
        print("gdb:", [f[:2] for f in theirs])
        print("we: ", [f[:2] for f in ours])
    for t, o in zip(theirs, ours):
        for what in (2, 3):
            for name, given in t[what].items():
                ours = o[what].get(name, [])
                # gdb has no parameters among the variables
                for a, b in zip(given, ours + [None] * len(given)):
                    if missing(a):
                        continue
                    compared += 1
                    if b is None or b not in (plain(a), TRUTH.get((t[0], name))):
                        bad = 1
                        print("%s, %s: %s in gdb, here %s" % (t[0], name, a, b))
    print("%d frames, %d values" % (len(theirs), compared))
    if not theirs or not compared:
        bad = 1
    sys.exit(bad)


if __name__ == "__main__":
    main()
