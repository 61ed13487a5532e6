#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes one folder the same as another, leaving every file alone that is the
same already, so that a build by file times compiles only what changed.

usage: update-tree.py FROM TO
"""
import filecmp
import os
import shutil
import sys


def files(top):
    """Paths below a folder of all that is no folder."""
    for folder, dirs, names in os.walk(top):
        links = [name for name in dirs if os.path.islink(os.path.join(folder, name))]
        for name in names + links:
            yield os.path.relpath(os.path.join(folder, name), top)


def same(a, b):
    if os.path.islink(a) or os.path.islink(b):
        return os.path.islink(a) and os.path.islink(b) and os.readlink(a) == os.readlink(b)
    return os.path.isfile(b) and filecmp.cmp(a, b, shallow=False) \
        and os.stat(a).st_mode == os.stat(b).st_mode


def main(source, target):
    wanted = set(files(source))
    for path in set(files(target)) - wanted:
        os.unlink(os.path.join(target, path))
    for path in wanted:
        a, b = os.path.join(source, path), os.path.join(target, path)
        if same(a, b):
            continue
        os.makedirs(os.path.dirname(b), exist_ok=True)
        if os.path.lexists(b):
            os.unlink(b)
        shutil.copy(a, b, follow_symlinks=False)


if len(sys.argv) != 3:
    print("usage: update-tree.py FROM TO", file=sys.stderr)
    sys.exit(2)
main(sys.argv[1], sys.argv[2])
