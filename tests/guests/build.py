#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Build the guest programs of table.py: OUT/<target>/<program>.

A program is built again when its source, a header or table.py is newer.  The
rule is the same for all: one source file, and by default (see table.py) a
static executable that is not position-independent, so that its addresses are the
same in every run.
"""
import argparse
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from table import COMMON, LINK, PROGRAMS, TARGETS  # noqa: E402


def command(program, target, output):
    t = TARGETS[target]
    link = t.link if t.link and program.link == "static" else LINK[program.link]
    return ([t.cc] + shlex.split(COMMON + " " + link) + shlex.split(t.flags) + shlex.split(program.flags)
            + [os.path.join(HERE, program.source), "-o", output] + shlex.split(program.libs))


def stale(program, output):
    if not os.path.exists(output):
        return True
    built = os.path.getmtime(output)
    return any(os.path.getmtime(os.path.join(HERE, f)) > built
               for f in (program.source, "guest.h", "bare.h", "emit.h", "table.py"))


def build_one(program, target, out):
    """Returns the path, or raises RuntimeError with the compiler's message."""
    folder = os.path.join(out, target)
    os.makedirs(folder, exist_ok=True)
    output = os.path.join(folder, program.name)
    if stale(program, output):
        part = "%s.%d" % (output, os.getpid())
        done = subprocess.run(command(program, target, part), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError("%s for %s: %s" % (program.name, target, done.stderr.strip()))
        os.rename(part, output)
    return output


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--out", required=True, help="folder for the programs")
    ap.add_argument("--target", action="append", choices=TARGETS, help="only this target")
    ap.add_argument("--program", action="append", help="only this program")
    ap.add_argument("-j", type=int, default=2)
    args = ap.parse_args()
    jobs = []
    for target in args.target or TARGETS:
        if TARGETS[target].missing():
            sys.exit("build.py: no %s: install the cross compiler of %s"
                     % (TARGETS[target].missing(), target))
        jobs += [(p, target) for p in PROGRAMS
                 if target in p.targets and (not args.program or p.name in args.program)]
    failed = 0
    with ThreadPoolExecutor(args.j) as pool:
        for job in [pool.submit(build_one, p, t, args.out) for p, t in jobs]:
            try:
                job.result()
            except RuntimeError as err:
                print(err, file=sys.stderr)
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
