# SPDX-License-Identifier: MIT
"""Compares the calls that tracesym --trace-calls --json lists with what the program printed.

compare.py OUTPUT JSON [FUNCTION,...]: each value must be the one that the program
printed; '?' is allowed in these functions only, which all must have one.
"""
import json
import re
import sys


def expected(path):
    """Lists [function, arguments, result or None] in the order of the begins."""
    calls, open_calls = [], []
    for line in open(path, errors="replace"):
        mark, _, rest = line.rstrip("\n").partition(" ")
        name, _, text = rest.partition("\t")
        if mark == ">":
            calls.append([name, text, None])
            open_calls.append(calls[-1])
        elif mark == "<":
            while open_calls[-1][0] != name or open_calls[-1][2] is not None:
                open_calls.pop()  # of a function that did not return
            open_calls.pop()[2] = text
    return calls


def pieces(text):
    """Values and what is between them: at each comma, brace and '='."""
    return [p for p in re.split(r'("(?:[^"\\]|\\.)*"|[,{}=] ?)', text) if p]


def agree(got, want):
    """Whether each value is right, and how many are not known: -1 if one is wrong."""
    if got == want:
        return 0
    if want == "*" and got:
        return 0
    if got == "?":
        return 1
    # '?' may be in the place of a whole structure
    unknown, parts, at = 0, pieces(got), 0
    rest = pieces(want)
    for part in parts:
        if at >= len(rest):
            return -1
        if part == rest[at] or rest[at] == "*":
            at += 1
        elif part == "?":
            unknown += 1
            depth = 0
            while at < len(rest):
                depth += (rest[at].strip() == "{") - (rest[at].strip() == "}")
                at += 1
                if depth == 0:
                    break
        else:
            return -1
    return unknown if at == len(rest) else -1


def main():
    want, got = expected(sys.argv[1]), [json.loads(line) for line in open(sys.argv[2])]
    bad, unknown = 0, set()
    if [w[0] for w in want] != [g["function"] for g in got]:
        print("other calls:", [g["function"] for g in got], "not", [w[0] for w in want])
        bad = 1
    for w, g in zip(want, got):
        args = agree(g["arguments"], w[1])
        result = 0
        if w[2] is not None:
            result = agree(g.get("result", ""), w[2])
        elif "result" in g:
            result = -1
        if args < 0 or result < 0 or g["returned"] != (w[2] is not None):
            bad += 1
            print("%s(%s) = %s%s" % (g["function"], g["arguments"], g.get("result"),
                                     "" if g["returned"] else " <no return>"))
            print("   not (%s) = %s" % (w[1], w[2]))
        elif args + result:
            unknown.add(w[0])
    allowed = set(filter(None, "".join(sys.argv[3:]).split(",")))
    if unknown != allowed:
        print("not known:", *sorted(unknown))
        bad = 1
    if len(got) < 60:
        print("only", len(got), "calls")
        bad = 1
    sys.exit(1 if bad else 0)


main()
