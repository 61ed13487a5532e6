#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares what two configured QEMU builds compile.

usage: preprocess.py OBJ SRC OBJ SRC 'PROGRAM ...' TOUCHED

Both builds first make their generated sources.  Then source files of the programs
are preprocessed with their own compile command, without line markers and with
__LINE__ made 0 (a hook on a line of its own moves the numbers in assertions), and
the two trees' paths and the white space are made alike: every source of the first
program, and of the others those listed in the file TOUCHED; of system emulators, which
have a thousand sources each, only those.  What is the same then makes the same object.
A hook leaves an empty statement.  For the first program, and where anything else
differs, both texts are compiled and the objects compared byte for byte.
"""
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import tempfile


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


def commands(obj, src, programs):
    """Object name -> arguments that preprocess it, for all that is in the programs.
    meson names an object of a generated source by the source's whole path."""
    place = src.replace("/", "_")
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
        found[given[given.index("-o") + 1].replace(place + "_", "SRC_")] = args
    return found


def preprocessed(args, obj, src):
    """The text of one preprocessed file."""
    run = subprocess.run(args + ["-E", "-P", "-D__LINE__=0", "-Wno-builtin-macro-redefined", "-w"],
                         cwd=obj, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode:
        raise RuntimeError(run.stderr.decode(errors="replace"))
    text = run.stdout
    for path, name in ((obj, b"OBJ"), (src, b"SRC")):
        for form in (path, os.path.relpath(path, obj)):
            if form != ".":
                text = re.sub(re.escape(form.encode()) + rb"(?=[/\"])", name, text)
    return b"\n".join(line for line in (b" ".join(line.split()) for line in text.splitlines())
                      if line)


def without_empty(text):
    """The text without a ';' that follows ';', '{' or '}'.  Two texts that compile
    and are the same without these differ in empty statements only."""
    text = b" ".join(text.split())
    while True:
        shorter = re.sub(rb"(?<=[;{}]) ?;", b"", text)
        if shorter == text:
            return text
        text = shorter


def compiled(args, text, obj):
    """The object that a preprocessed text becomes."""
    args = [arg for arg in args if not re.search(r"\.(c|cc|S)$", arg)]
    with tempfile.NamedTemporaryFile(suffix=".o") as out:
        run = subprocess.run(args + ["-w", "-g0", "-c", "-x", "cpp-output", "-o", out.name, "-"],
                             cwd=obj, input=text, stderr=subprocess.PIPE)
        if run.returncode:
            raise RuntimeError(run.stderr.decode(errors="replace"))
        return out.read()


def main(argv):
    if len(argv) != 6:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    with open(argv[5], encoding="utf-8") as file:
        touched = tuple("/" + line.strip() for line in file)
    pairs = [(os.path.realpath(argv[0]), os.path.realpath(argv[1])),
             (os.path.realpath(argv[2]), os.path.realpath(argv[3]))]
    programs = argv[4].split()
    system = programs[0].startswith("qemu-system-")
    ours = r"libqemu-(.*)-softmmu\.a\.p/" if system else r"libqemu-(.*)-linux-user\.a\.p/"
    lists = []
    for obj, src in pairs:
        generate(obj, programs)
        lists.append(commands(obj, src, programs))
    bad = [f"only in one build: {name}" for name in sorted(lists[0].keys() ^ lists[1].keys())]
    first = programs[0].rpartition("-")[2]

    def wanted(name):
        target = re.match(ours, name)
        return (not system and (not target or target[1] == first)) or \
            any(arg.endswith(touched) for arg in lists[0][name])

    names = sorted(name for name in lists[0].keys() & lists[1].keys() if wanted(name))

    objects = []

    def compare(name):
        texts = [preprocessed(found[name], *pair) for found, pair in zip(lists, pairs)]
        if texts[0] == texts[1]:
            return None
        target = re.match(ours, name)
        if target and target[1] != first and without_empty(texts[0]) == without_empty(texts[1]):
            return None
        objects.append(name)
        made = [compiled(found[name], text, pair[0])
                for found, text, pair in zip(lists, texts, pairs)]
        if made[0] == made[1]:
            return None
        for old, new in zip(texts[0].splitlines(), texts[1].splitlines()):
            if old != new:
                return f"{name}: {old[:200]!r} became {new[:200]!r}"
        return f"{name}: one is longer"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bad += [line for line in pool.map(compare, names) if line]
    for line in bad:
        print(f"FAILED: {line}")
    print(f"{len(names)} sources preprocessed, {len(objects)} compiled, {len(bad)} differ "
          f"({' '.join(programs)})")
    few = len(names) < 10 or len(objects) < 5 if system else len(names) < 100 or len(objects) < 20
    return 1 if bad or few else 0


sys.exit(main(sys.argv[1:]))
