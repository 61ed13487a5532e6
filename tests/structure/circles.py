#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that need each other in a circle: reads the symbols of the objects.

usage: circles.py NM OBJECT...

An object needs another one if it uses a symbol that the other one defines.  Fails on
every circle.
"""
import os
import subprocess
import sys


def source(path):
    """tracefmt/CMakeFiles/x.dir/base/le.c.o in the build tree is of tracefmt/base/le.c."""
    before, after = path.split("/CMakeFiles/", 1)
    inside = after.split(".dir/", 1)[1]
    return os.path.normpath(os.path.basename(before) + "/" + inside[:inside.rindex(".")])


def needs(nm, objects):
    """{file: {files that it needs}}"""
    out = subprocess.run([nm, "--extern-only", "--format=posix", "-A", *objects], check=True,
                         capture_output=True, text=True).stdout
    defined, used = {}, {}
    for line in out.splitlines():
        path, rest = line.rsplit(": ", 1)
        name, kind = rest.split()[:2]
        if kind in "Uwv":
            used.setdefault(source(path), set()).add(name)
        else:
            defined.setdefault(name, source(path))
    return {path: {defined[name] for name in names if name in defined} - {path}
            for path, names in used.items()}


def circles(graph):
    """Sets of files that all reach each other (Tarjan's algorithm)."""
    index, low, stack, found = {}, {}, [], []

    def visit(path):
        index[path] = low[path] = len(index)
        stack.append(path)
        for other in graph.get(path, ()):
            if other not in index:
                visit(other)
                low[path] = min(low[path], low[other])
            elif other in stack:
                low[path] = min(low[path], index[other])
        if low[path] == index[path]:
            group = set()
            while path not in group:
                group.add(stack.pop())
            if len(group) > 1:
                found.append(group)

    for path in sorted(graph):
        if path not in index:
            visit(path)
    return found


def main():
    graph = needs(sys.argv[1], sys.argv[2:])
    found = circles(graph)
    if len(graph) < 100:
        sys.exit("only %d objects were given" % len(graph))
    for group in found:
        print("a circle:")
        for path in sorted(group):
            print("  %s needs %s" % (path, " ".join(sorted(graph[path] & group))))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
