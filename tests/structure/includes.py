#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which folder may include from which: reads the includes of the sources.

Fails on an include from a folder above the own one, from another folder of the same
line, on an include between top-level folders that TOP does not allow, on a folder that
the tables do not know, on a quoted include that is not found, and on files that include
each other in a circle.
"""
import os
import re
import sys

# Lowest first.  A folder includes from itself and from the lines before its own.
ORDER = [
    ["include/cannoli", "tracefmt/include"],
    ["tracefmt/base"],
    ["tracefmt/model"],
    ["tracefmt/write", "tracefmt/file"],
    ["tracefmt/decode"],
    ["tracefmt/maps", "tracefmt/replay"],
    ["tracefmt/memory"],
    ["common"],
    ["recorder", "jitter", "examples"],
    ["tools/guest", "tools/input"],
    ["tools/syscall", "tools/symbols", "tools/cannoli-ctl"],
    ["tools/query"],
    ["tools/dump", "tools/state", "tools/calltree", "tools/gdb", "tools/cannoli-locate"],
    ["tools/cannoli-expand", "tools/tracecov", "tools/tracediff", "tools/tracedump", "tools/tracegdb",
     "tools/tracesym"],
]
# From which top-level folders another one includes, beside itself.  Of tracefmt they see
# the public headers only.
TOP = {
    "include": [],
    "tracefmt": ["include"],
    "common": ["include", "tracefmt"],
    "recorder": ["include", "tracefmt", "common"],
    "tools": ["include", "tracefmt", "common"],
    "jitter": ["include"],
    "examples": ["include", "tracefmt"],
}
SEARCH = ["tracefmt", "tracefmt/include", "tools", "recorder", "include", "."]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
LEVEL = {folder: level for level, line in enumerate(ORDER) for folder in line}


def sources(root):
    for top in TOP:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def includes(root, path):
    """The files of the tree that a file includes."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        text = file.read()
    for quote, name in INCLUDE.findall(text):
        for folder in [os.path.dirname(path)] + SEARCH:
            found = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(os.path.join(root, found)):
                yield found
                break
        else:
            if quote == '"':
                sys.exit("%s: there is no %s" % (path, name))


def wrong_folders(graph):
    for path in sorted(graph):
        own = os.path.dirname(path)
        if own not in LEVEL:
            yield "%s: the folder %s is not in the table" % (path, own)
            continue
        for other in graph[path]:
            folder = os.path.dirname(other)
            if folder != own and LEVEL.get(folder, len(ORDER)) >= LEVEL[own]:
                yield "%s includes %s, which is not below it" % (path, other)


def wrong_tops(graph):
    for path in sorted(graph):
        own = path.split("/")[0]
        for other in graph[path]:
            top = other.split("/")[0]
            if top == own:
                continue
            if top not in TOP[own]:
                yield "%s includes %s: %s must not use %s" % (path, other, own, top)
            elif top == "tracefmt" and not other.startswith("tracefmt/include/"):
                yield "%s includes %s, which is not a public header" % (path, other)


def circles(graph):
    state = {}

    def visit(path, way):
        state[path] = "open"
        for other in graph.get(path, ()):
            if state.get(other) == "open":
                yield "a circle: " + " -> ".join(way[way.index(other):] + [other])
            elif other not in state:
                yield from visit(other, way + [other])
        state[path] = "done"

    for path in sorted(graph):
        if path not in state:
            yield from visit(path, [path])


def main():
    root = sys.argv[1]
    graph = {path: list(includes(root, path)) for path in sources(root)}
    if len(graph) < 100:
        sys.exit("only %d files found in %s" % (len(graph), root))
    problems = list(wrong_folders(graph)) + list(wrong_tops(graph))
    problems += circles(graph)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
