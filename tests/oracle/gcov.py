#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tracecov against gcov, on the programs of the folder gcov/.

Each program is built twice by a cross compiler: with -g alone, then recorded and given to
tracecov; and with --coverage, then run by the same QEMU and given to that compiler's
gcov.  The two are independent.

At -O0 all counts of functions, lines and two-way branches must be equal.  Some lines are
in one of them only, which is checked:

  only gcov      labels, which are no code
  only tracecov  braces: of a function's end, and of its beginning, where the compiler
                 puts its first instructions; heads of classes whose members the
                 compiler made

At -O2 gcov itself counts differently than at -O0 (what remains after its first
optimizations, without inlined code), though the program does the same.  So both are compared
with gcov's result at -O0: tracecov must agree on which lines and functions ran, of those
that still have code, and the number of equal counts is printed for both.

A line with "gcov: WHY" in a comment is one where gcov reports something else for the
reason that follows.
"""
import argparse
import collections
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from common import Failure, Skip, Tools, plain, record
from gcov_project import run_project

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gcov")
C = ["loops.c", "choices.c", "leaving.c", "inlined.c", "program.c"]
CC = ["classes.cc"]


class Build:
    def __init__(self, name, prefix, flags, programs):
        self.name = name
        self.prefix = prefix
        self.flags = flags
        self.programs = programs


BUILDS = {
    "arm": [Build("arm", "arm-linux-gnueabi", ["-marm"], C),
            Build("thumb", "arm-linux-gnueabihf", ["-mthumb"], C + CC)],
    "aarch64": [Build("aarch64", "aarch64-linux-gnu", [], C + CC)],
    "riscv64": [Build("riscv64", "riscv64-linux-gnu", [], C + CC)],
    "x86_64": [Build("x86_64", "x86_64-linux-gnu", [], C + CC)],
}


class Report:
    """The result of one of the two for one source file."""

    def __init__(self):
        self.lines = {}      # line: count
        self.functions = {}  # (line, name): count
        self.branches = collections.defaultdict(list)  # line: [(count, count), ..]
        self.throws = set()  # lines with arcs of exceptions


# --------------------------------------------------------------- the two results

@functools.lru_cache(maxsize=None)
def demangled(name):
    """Constructors have several linkage names; lcov wants no commas."""
    if not name.startswith("_Z"):
        return name
    return command(["c++filt", name], None).strip().replace(",", ";")


def read_lcov(text, source):
    """The part of a tracefile about one source, as lcov reads it."""
    report, here, lines, ways = Report(), False, {}, {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "SF":
            here = os.path.basename(value) == source
        elif not here:
            continue
        elif key == "FN":
            at, _, name = value.partition(",")
            lines[name] = int(at)
        elif key == "FNDA":
            count, _, name = value.partition(",")
            key = (lines[name], demangled(name))
            report.functions[key] = report.functions.get(key, 0) + int(count)
        elif key == "DA":
            at, count = value.split(",")[:2]
            report.lines[int(at)] = int(count)
        elif key == "BRDA":
            at, block, branch, count = value.split(",")
            ways[(int(at), int(block), int(branch))] = 0 if count == "-" else int(count)
    for at, block, branch in ways:
        if branch == 0:
            report.branches[at].append((ways[(at, block, 0)], ways[(at, block, 1)]))
    return report


def read_gcov(text, source):
    report = Report()
    for document in text.splitlines():
        if not document.startswith("{"):
            continue
        for f in json.loads(document)["files"]:
            if os.path.basename(f["file"]) != source:
                continue
            for x in f["functions"]:
                key = (x["start_line"], x["demangled_name"].replace(",", ";"))
                report.functions[key] = report.functions.get(key, 0) + x["execution_count"]
            for x in f["lines"]:
                at = x["line_number"]
                report.lines[at] = report.lines.get(at, 0) + x["count"]
                # The arcs of one block are adjacent: ordinary ones in pairs.
                arcs = x["branches"]
                if any(a["throw"] for a in arcs):
                    report.throws.add(at)
                elif len(arcs) % 2 == 0:
                    report.branches[at] += [(arcs[i]["count"], arcs[i + 1]["count"])
                                          for i in range(0, len(arcs), 2)]
                else:
                    report.branches[at].append(tuple(a["count"] for a in arcs))
    return report


# ------------------------------------------------------------------- comparison

LABEL = re.compile(r"\s*(case .*|default|\w+)\s*:")
BRACE = re.compile(r"\s*([{}]|\}.*;)?\s*$|\s*(class|struct) ")


HEAD = re.compile(r"\s*(class|struct) ")


class Result:
    def __init__(self):
        self.wrong = []
        self.lines = self.lines_equal = self.branches = self.shapes = self.functions = 0
        self.explained = 0  # lines whose source says why they differ
        self.statistics = ""


def why(text):
    m = re.search(r"gcov: (.*?)(\*/|$)", text)
    return m and m[1].strip()


def optimized(text):
    """At -O2 the compiler still runs it, and drops the result."""
    return "-O2: " in text


def compare_lines(ours, gcov, source, result):
    for at in sorted(set(ours.lines) | set(gcov.lines)):
        text = source[at - 1] if at <= len(source) else ""
        a, b = ours.lines.get(at), gcov.lines.get(at)
        if b is None:
            if not BRACE.match(text) and not why(text):
                result.wrong.append("line %d: only tracecov has it (%d): %s" % (at, a, text))
        elif a is None:
            if not LABEL.match(text) and not why(text):
                result.wrong.append("line %d: only gcov has it (%d): %s" % (at, b, text))
        else:
            result.lines += 1
            result.lines_equal += a == b
            if why(text):
                result.explained += 1
            elif a != b:
                result.wrong.append("line %d: tracecov %d, gcov %d: %s" % (at, a, b, text))


def compare_optimized(ours, gcov, truth, source):
    """Compares which of the remaining code ran; counts only for the statistics."""
    result = Result()
    same = same_gcov = lines = 0
    for at in sorted(set(ours.lines) & set(truth.lines)):
        text = source[at - 1]
        if not why(text) and not optimized(text) and (ours.lines[at] > 0) != (truth.lines[at] > 0):
            result.wrong.append("line %d: tracecov %d, in truth %d: %s" % (
                at, ours.lines[at], truth.lines[at], text))
        if at in gcov.lines:
            lines += 1
            same += ours.lines[at] == truth.lines[at]
            same_gcov += gcov.lines[at] == truth.lines[at]
    functions = sorted(set(ours.functions) & set(truth.functions))
    for key in functions:
        a, b = ours.functions[key], truth.functions[key]
        result.functions += a == b
        if (a > 0) != (b > 0):
            result.wrong.append("function %s: tracecov %d, in truth %d" % (key[1], a, b))
    if not functions or not lines:
        result.wrong.append("nothing to compare")
    result.statistics = (
        "counts as at -O0: %d of %d functions; of %d lines %d by tracecov, %d by gcov"
        % (result.functions, len(functions), lines, same, same_gcov))
    return result


def compare_functions(ours, gcov, source, result):
    for key in sorted(set(ours.functions) | set(gcov.functions)):
        a, b = ours.functions.get(key), gcov.functions.get(key)
        text = source[key[0] - 1] if key[0] <= len(source) else ""
        if b is None and (why(text) or HEAD.match(text)):
            continue  # made by the compiler
        if a is None or b is None:
            result.wrong.append("function %s:%d: only %s has it" % (
                key[1], key[0], "tracecov" if b is None else "gcov"))
            continue
        result.functions += 1
        if a != b:
            result.wrong.append("function %s: tracecov %d, gcov %d" % (key[1], a, b))


def compare_branches(ours, gcov, source, result):
    """Compares branches with two ways in both, equally many at that line: as sets."""
    def key(pairs):
        return sorted(tuple(sorted(p)) for p in pairs)

    for at in sorted(gcov.branches):
        theirs = gcov.branches[at]
        if not theirs or at in gcov.throws or why(source[at - 1]):
            continue
        mine = ours.branches.get(at, [])
        if len(mine) != len(theirs) or any(len(p) != 2 for p in theirs):
            result.shapes += 1  # a switch, or done without a branch, or with more
            continue
        result.branches += len(mine)
        if key(mine) != key(theirs):
            result.wrong.append("branches of line %d: tracecov %s, gcov %s: %s" % (
                at, key(mine), key(theirs), source[at - 1]))


def compare(ours, gcov, source):
    result = Result()
    if not ours.lines or not gcov.lines:
        result.wrong.append("no lines at all")
    compare_lines(ours, gcov, source, result)
    compare_functions(ours, gcov, source, result)
    compare_branches(ours, gcov, source, result)
    result.statistics = (
        "%d functions, %d lines (%d equal, %d explained), %d branches (%d lines with others)"
        % (result.functions, result.lines, result.lines_equal, result.explained, result.branches,
           result.shapes))
    return result


def selftest(ours, gcov, source):
    """Alters every count: the comparison must notice each of them."""
    def check(what):
        if not compare(ours, gcov, source).wrong:
            raise Failure("selftest: %s altered, but not noticed" % what)

    for at in [at for at in gcov.lines if at in ours.lines and not why(source[at - 1])]:
        ours.lines[at] += 1
        check("count of line %d" % at)
        ours.lines[at] -= 1
    for key in set(ours.functions) & set(gcov.functions):
        ours.functions[key] += 1
        check("count of %s" % key[1])
        ours.functions[key] -= 1
    for at, pairs in gcov.branches.items():
        mine = ours.branches.get(at, [])
        if (len(mine) != len(pairs) or at in gcov.throws or why(source[at - 1]) or
                any(len(p) != 2 for p in pairs)):
            continue
        for i, pair in enumerate(mine):
            mine[i] = (pair[0], pair[1] + 1)
            check("branch %d of line %d" % (i, at))
            mine[i] = pair


# ---------------------------------------------------------------------- running

def command(argv, cwd):
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise Failure("%s: status %d: %s" % (" ".join(argv[:2]), done.returncode,
                                             done.stderr.strip()[-2000:]))
    return done.stdout


def compilers(build, source):
    cc = build.prefix + ("-g++" if source.endswith(".cc") else "-gcc")
    gcov = build.prefix + "-gcov"
    for program in (cc, gcov):
        if not shutil.which(program):
            raise Skip("no %s" % program)
    return cc, gcov


def measure(tools, target, build, source, level, work):
    """Our result and gcov's for one program."""
    cc, gcov = compilers(build, source)
    qemu = tools.qemu(target)
    runs = []
    for kind, flags in (("plain", []), ("coverage", ["--coverage"])):
        os.makedirs(os.path.join(work, kind))
        command([cc, "-g", level, "-static", "-w", *build.flags, *flags, "-o", "program",
                 os.path.join(SOURCES, source)], os.path.join(work, kind))
        guest = [qemu, os.path.join(work, kind, "program")]
        trace = os.path.join(work, "run.ctr")
        runs.append(record(tools, trace, guest) if kind == "plain" else
                    plain(guest, cwd=os.path.join(work, kind)))
    if runs[0].stdout != runs[1].stdout or runs[0].status != runs[1].status:
        raise Failure("the two runs differ: %r, %r" % (runs[0].stdout, runs[1].stdout))
    ours = command([*tools.tracecov, trace, "--elf", os.path.join(work, "plain", "program")],
                   work)
    folder = os.path.join(work, "coverage")
    notes = [f for f in os.listdir(folder) if f.endswith(".gcda")]
    theirs = command([gcov, "-b", "-c", "--json-format", "--stdout", *notes], folder)
    return read_lcov(ours, source), read_gcov(theirs, source)


def check_instructions(tools, build, work):
    """The instructions that tracecov finds by walking code, run or not, are objdump's."""
    program = os.path.join(work, "plain", "program")
    text = command([*tools.tracecov, os.path.join(work, "run.ctr"), "--elf", program, "-q",
                    "-f", "text", "--disassembly", "--module", "program"], work)
    mine = {int(a, 16) for a in re.findall(r"^ *(?:\d+|#+): (0x[0-9a-f]+): ", text, re.M)}
    # -z: it leaves out zeros otherwise, as after riscv64's load_gp, which has no size
    text = command([build.prefix + "-objdump", "-dz", "--no-show-raw-insn", program], work)
    theirs = {int(a, 16) for a in re.findall(r"^ *([0-9a-f]+):\t", text, re.M)}
    if not mine or mine - theirs:
        raise Failure("of %d instructions, objdump does not know %s" % (
            len(mine), " ".join("0x%x" % a for a in sorted(mine - theirs)[:10]) or "any"))


def run_case(tools, target, build, source, options):
    """One program at both levels; returns how many of them hold."""
    with open(os.path.join(SOURCES, source), encoding="utf-8") as f:
        text = f.read().splitlines()
    good, truth = 0, None
    for level in ("-O0", "-O2"):
        with tempfile.TemporaryDirectory(dir=tools.work) as work:
            ours, gcov = measure(tools, target, build, source, level, work)
            check_instructions(tools, build, work)
        truth = truth or gcov
        result = (compare(ours, gcov, text) if level == "-O0" else
                  compare_optimized(ours, gcov, truth, text))
        print("%s %s %s: %s" % (build.name, source, level, result.statistics), flush=True)
        for at in sorted(set(ours.lines) & set(truth.lines)) if options.verbose else []:
            if ours.lines[at] != truth.lines[at]:
                print("    line %d: tracecov %d, gcov %s, in truth %d: %s" % (
                    at, ours.lines[at], gcov.lines.get(at), truth.lines[at], text[at - 1]))
        for key in sorted(set(ours.functions) & set(truth.functions)) if options.verbose else []:
            if ours.functions[key] != truth.functions[key]:
                print("    %s: tracecov %d, gcov %s, in truth %d" % (
                    key[1], ours.functions[key], gcov.functions.get(key), truth.functions[key]))
        for line in result.wrong:
            print("  " + line)
        if not result.wrong and level == "-O0":
            selftest(ours, gcov, text)
        good += not result.wrong
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--target", required=True, choices=sorted(BUILDS))
    parser.add_argument("--tracecov", help="another tracecov")
    parser.add_argument("--program", action="append", help="only these sources")
    parser.add_argument("--verbose", action="store_true", help="all lines that differ")
    options = parser.parse_args()
    good = ran = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as work:
        tools = Tools(os.path.abspath(options.build), work)
        try:
            tools.tracecov = [options.tracecov or tools.program("tracecov")]
            tools.qemu(options.target)
        except Skip as skip:
            print("skipped: %s" % skip)
            return 77
        cases = [(source, 2, lambda b=build, s=source: run_case(tools, options.target, b, s, options))
                 for build in BUILDS[options.target] for source in build.programs]
        if options.target == "x86_64":
            cases.append(("tracedump", 1, lambda: run_project(
                tools, os.path.join(work, "project"), read_lcov, read_gcov)))
        for name, levels, run in cases:
            if options.program and name not in options.program:
                continue
            try:
                good += run()
                ran += levels
            except Skip as skip:
                print("%s: skipped: %s" % (name, skip))
            except Failure as failure:
                print("%s: %s" % (name, failure))
                ran += levels
    print("%d of %d cases hold" % (good, ran))
    return 77 if not ran else 0 if good == ran else 1


if __name__ == "__main__":
    sys.exit(main())
