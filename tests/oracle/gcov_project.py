# SPDX-License-Identifier: MIT
"""tracecov against gcov on a real program: this project's own tracedump.

It is built for x86_64 by the host's compiler and reads a trace under QEMU.  Its sources are
not written for this test: a statement may extend over several lines, some of which gcov
counts twice, and functions may be inlined by force, which gcov does not report.  So only
functions, and lines that are a whole statement, must be equal here; the number of the other
lines is printed.
"""
import glob
import os
import platform
import re
import shutil
import subprocess

from common import ROOT, Failure, Skip, plain, record

FOLDERS = ["tracefmt/" + part for part in ("base", "model", "write", "file", "decode", "maps",
                                           "replay")]
FOLDERS += ["common", "tools/guest", "tools/input", "tools/syscall", "tools/dump",
            "tools/tracedump"]
INCLUDE = [".", "tools", "include", "tracefmt", "tracefmt/include"]
LIBRARIES = ["-lzstd", "-lxxhash", "-lcapstone", "-lpthread"]
# How often these are called depends on time.
BY_TIME = re.compile(r"progress|now_and_then")


def sources():
    found = []
    for folder in FOLDERS:
        found += sorted(glob.glob(os.path.join(ROOT, folder, "*.c")))
    return found


def build(level, kind, work):
    """Returns the program.  Two compilers at a time; objects have the folders of sources."""
    folder = os.path.join(work, kind)
    flags = ["-g", level, "-w", "-std=gnu11", "-D_GNU_SOURCE", '-DCANNOLI_VERSION="0"']
    flags += ["-I" + os.path.join(ROOT, path) for path in INCLUDE]
    flags += ["--coverage"] if kind == "coverage" else []
    running = []
    for part in FOLDERS:
        os.makedirs(os.path.join(folder, part))
        files = [path for path in sources() if path.startswith(os.path.join(ROOT, part, ""))]
        for half in filter(None, (files[0::2], files[1::2])):
            running.append(subprocess.Popen(["gcc", *flags, "-c", *half], stderr=subprocess.PIPE,
                                            cwd=os.path.join(folder, part)))
        for process in running:
            error = process.communicate()[1]
            if process.returncode:
                raise Skip("cannot build tracedump: %s" % error.decode().strip()[:500])
        running = []
    objects = glob.glob(folder + "/**/*.o", recursive=True)
    done = subprocess.run(["gcc", "-o", "program", *flags, *objects, *LIBRARIES], cwd=folder,
                          capture_output=True, text=True)
    if done.returncode:
        raise Skip("cannot link tracedump: %s" % done.stderr.strip()[:500])
    return os.path.join(folder, "program")


def measure(tools, level, work):
    """Both results: as lcov has it, and gcov's JSON."""
    qemu = tools.qemu("x86_64")
    programs = {kind: build(level, kind, work) for kind in ("plain", "coverage")}
    read = os.path.join(work, "read.ctr")
    record(tools, read, [qemu, programs["plain"], "--version"])
    options = ["--json", "-q", "-n", "2000", "-j1", read]
    trace = os.path.join(work, "run.ctr")
    runs = [record(tools, trace, [qemu, programs["plain"], *options]),
            plain([qemu, programs["coverage"], *options], cwd=os.path.join(work, "coverage"))]
    if runs[0].status or runs[0].stdout != runs[1].stdout:
        raise Failure("the two runs of tracedump differ")
    ours = subprocess.run([*tools.tracecov, trace, "--elf", programs["plain"], "--only-elf"],
                          capture_output=True, text=True)
    folder = os.path.join(work, "coverage")
    theirs = subprocess.run(["gcov", "-b", "-c", "--json-format", "--stdout",
                             *glob.glob(folder + "/**/*.gcda", recursive=True)], cwd=folder,
                            capture_output=True, text=True)
    if ours.returncode or theirs.returncode:
        raise Failure("tracecov: %d %s; gcov: %d" % (ours.returncode, ours.stderr.strip(),
                                                     theirs.returncode))
    return ours.stdout, theirs.stdout


def bare(line):
    """Without comments."""
    return re.sub(r"/\*.*?\*/|^\s*/?\*.*", "", line).rstrip()


def is_statement(text, at):
    """Whether a line holds a whole statement, or the head of one."""
    line = bare(text[at - 1])
    if not line.endswith((";", "{", "}", ":")):
        return False
    if line.endswith("{") and not re.search(r"\b(if|for|while|switch|do|else)\b|^\S", line):
        return False  # a value of several lines
    for i in range(at - 2, -1, -1):
        if bare(text[i]) and not text[i].startswith("#"):
            return bare(text[i]).endswith((";", "{", "}", ":"))
    return True


def forced_lines(ours, gcov, text):
    """Lines of functions that gcov does not report, to their closing brace."""
    lines = set()
    for key in set(ours.functions) - set(gcov.functions):
        for at in range(key[0], len(text) + 1):
            lines.add(at)
            if text[at - 1].startswith("}"):
                break
    return lines


def compare_source(ours, gcov, text, total):
    """Returns the differences in one source."""
    wrong = []
    aside = forced_lines(ours, gcov, text)
    for key in set(gcov.functions):
        if BY_TIME.search(key[1]):
            end = next(i for i in range(key[0], len(text)) if text[i].startswith("}"))
            aside |= set(range(key[0], end + 2))
            continue
        total["functions"] += 1
        if ours.functions.get(key) != gcov.functions[key]:
            wrong.append("function %s: tracecov %s, gcov %d" % (
                key[1], ours.functions.get(key), gcov.functions[key]))
    for at in sorted(set(ours.lines) & set(gcov.lines)):
        total["lines"] += 1
        total["equal"] += ours.lines[at] == gcov.lines[at]
        if at in aside or not is_statement(text, at):
            continue
        total["statements"] += 1
        if ours.lines[at] != gcov.lines[at]:
            wrong.append("line %d: tracecov %d, gcov %d: %s" % (
                at, ours.lines[at], gcov.lines[at], text[at - 1]))
    for at, theirs in gcov.branches.items():
        mine = ours.branches.get(at, [])
        if at in aside or not is_statement(text, at) or [len(p) for p in theirs] != [2] \
                or len(mine) != 1:
            continue
        total["branches"] += 1
        if sorted(mine[0]) != sorted(theirs[0]):
            wrong.append("branch of line %d: tracecov %s, gcov %s" % (at, mine[0], theirs[0]))
    return wrong


def run_project(tools, work, read_lcov, read_gcov):
    """Returns whether it holds."""
    if platform.machine() != "x86_64" or not shutil.which("gcc") or not shutil.which("gcov"):
        raise Skip("no compiler of its own for x86_64")
    lcov, json = measure(tools, "-O0", work)
    names = [os.path.basename(path) for path in sources()]
    total = dict.fromkeys(("functions", "lines", "equal", "statements", "branches"), 0)
    wrong = []
    for path in sources():
        name = os.path.basename(path)
        if names.count(name) > 1:
            continue
        with open(path, encoding="utf-8") as f:
            text = f.read().splitlines()
        wrong += ["%s: %s" % (name, line) for line in compare_source(
            read_lcov(lcov, name), read_gcov(json, name), text, total)]
    print("tracedump -O0: %(functions)d functions, %(lines)d lines (%(equal)d equal), "
          "%(statements)d of them statements, %(branches)d branches" % total, flush=True)
    for line in wrong:
        print("  " + line)
    if total["functions"] < 100 or total["statements"] < 1000:
        raise Failure("too little to compare")
    return not wrong
