#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares two configured QEMU builds after preprocessing.

usage: preprocess.py OBJ SRC OBJ SRC 'TARGET ...'

Both builds first make their generated sources.  Then every source file of the
programs is preprocessed with its own compile command, without line markers and
with __LINE__ made 0 (a line added to a file moves the numbers in assertions), the
two trees' paths and the white space are made alike, and the results are compared by hash.
"""
import concurrent.futures
import hashlib
import os
import re
import shlex
import subprocess
import sys


def environment(obj):
    """The environment that qemu.sh uses for this folder's meson."""
    env = dict(os.environ, PYTHONHASHSEED="0")
    meson = os.path.join(os.path.dirname(obj), "meson")
    if os.path.isdir(meson):
        env["PATH"] = f"{meson}/usr/bin:{env['PATH']}"
        env["PYTHONPATH"] = f"{meson}/usr/lib/python3/dist-packages"
    return env


def ninja(obj, *args):
    """What a ninja tool prints, as lines."""
    return subprocess.run(["ninja", "-C", obj, "-t", *args], env=environment(obj),
                          stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def generate(obj, programs):
    """Makes the generated sources that the programs need."""
    made = {line.rpartition(":")[0] for line in ninja(obj, "targets", "all")
            if line.endswith(": CUSTOM_COMMAND")}
    goals = [name for name in ninja(obj, "inputs", *programs)
             if name in made and re.search(r"\.(h|c|inc)$", name)]
    subprocess.run(["ninja", "-C", obj] + goals, env=environment(obj),
                   stdout=subprocess.DEVNULL, check=True)


def commands(obj, programs):
    """Object name -> arguments that preprocess it, for all that is in the programs."""
    found = {}
    for line in ninja(obj, "commands", *programs):
        given = shlex.split(line)
        if "-c" not in given or "-o" not in given or "-MF" not in given:
            continue
        args, drop = [], 0
        for arg in given:
            if drop:
                drop -= 1
            elif arg in ("-MQ", "-MF", "-o"):
                drop = 1
            elif arg not in ("-MD", "-c"):
                args.append(arg)
        found[given[given.index("-o") + 1]] = args + [
            "-E", "-P", "-D__LINE__=0", "-Wno-builtin-macro-redefined", "-w"]
    return found


def preprocessed(args, obj, src):
    """The hash and the text of one preprocessed file."""
    run = subprocess.run(args, cwd=obj, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode:
        raise RuntimeError(run.stderr.decode(errors="replace"))
    text = run.stdout
    for path, name in ((obj, b"OBJ"), (src, b"SRC")):
        for form in (path, os.path.relpath(path, obj)):
            if form != ".":
                text = re.sub(re.escape(form.encode()) + rb"(?=[/\"])", name, text)
    text = b"\n".join(line for line in (b" ".join(line.split()) for line in text.splitlines())
                      if line)
    return hashlib.sha256(text).digest(), text


def main(argv):
    if len(argv) != 5:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    pairs = [(os.path.realpath(argv[0]), os.path.realpath(argv[1])),
             (os.path.realpath(argv[2]), os.path.realpath(argv[3]))]
    programs = ["qemu-" + target for target in argv[4].split()]
    lists = []
    for obj, _ in pairs:
        generate(obj, programs)
        lists.append(commands(obj, programs))
    bad = [f"only in one build: {name}" for name in sorted(lists[0].keys() ^ lists[1].keys())]
    names = sorted(lists[0].keys() & lists[1].keys())

    def compare(name):
        got = [preprocessed(found[name], *pair) for found, pair in zip(lists, pairs)]
        if got[0][0] == got[1][0]:
            return None
        for old, new in zip(got[0][1].splitlines(), got[1][1].splitlines()):
            if old != new:
                return f"{name}: {old[:200]!r} became {new[:200]!r}"
        return f"{name}: one is longer"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bad += [line for line in pool.map(compare, names) if line]
    for line in bad:
        print(f"FAILED: {line}")
    print(f"{len(names)} sources preprocessed, {len(bad)} differ ({' '.join(programs)})")
    return 1 if bad or len(names) < 100 else 0


sys.exit(main(sys.argv[1:]))
