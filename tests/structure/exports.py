#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What libctr exports: the functions that ctr.h declares with CTR_API, and nothing else.

usage: exports.py NM CTR_H LIBRARY...

A shared library is read by its dynamic symbols, a static one by its global ones: those
that could meet a name of a user's program.
"""
import re
import subprocess
import sys

DECLARATION = re.compile(r"^CTR_API\b[^;(]*?(\w+)\s*\(", re.MULTILINE)


def declared(path):
    with open(path, encoding="utf-8") as file:
        return set(DECLARATION.findall(file.read()))


def exported(nm, path):
    kind = "--dynamic" if ".so" in path else "--extern-only"
    out = subprocess.run([nm, kind, "--defined-only", "--format=posix", path],
                         check=True, capture_output=True, text=True).stdout
    # "name type value size"; an archive has a line "archive[member]:" before them
    return {line.split()[0] for line in out.splitlines() if len(line.split()) >= 2}


def main():
    nm, header, libraries = sys.argv[1], sys.argv[2], sys.argv[3:]
    expected = declared(header)
    wrong = 0
    if len(expected) < 20:
        sys.exit("only %d functions found in %s" % (len(expected), header))
    for path in libraries:
        found = exported(nm, path)
        for name in sorted(found - expected):
            print("%s exports %s, which is not in %s" % (path, name, header))
        for name in sorted(expected - found):
            print("%s lacks %s" % (path, name))
        wrong += found != expected
    wrong += any(not name.startswith("ctr_") for name in expected)
    sys.exit(1 if wrong or not libraries else 0)


if __name__ == "__main__":
    main()
