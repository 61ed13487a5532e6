# SPDX-License-Identifier: MIT
"""Large programs that do much at once, checked by the invariants of any trace.

python   threads under two interval timers, a child that is another interpreter
         (--follow-exec)
java     a virtual machine: code compiled at run time, threads that collect garbage,
         SIGSEGV that it handles itself

oracle-flow checks each thread with objdump's view of the files that the trace
itself lists as mapped; for code made at run time it knows only ordinals and accesses.
The program's own counts and output must agree with the trace.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile

import common
import props
from common import Failure, Skip

# name: (target, Debian architecture, package, the program in it)
PROGRAMS = {
    "python": ("aarch64", "arm64", "python3", "usr/bin/python3"),
    "java": ("x86_64", "amd64", "openjdk-17-jre-headless", "usr/lib/jvm/java-17-openjdk-amd64/bin/java"),
}


def number(v):
    return int(v, 0) if isinstance(v, str) else v


def program_of(tools, name):
    """(sysroot, path of the program in it)"""
    _, architecture, package, program = PROGRAMS[name]
    top = os.path.join(tools.sysroot, name)
    root = os.path.join(top, architecture)
    if not os.path.exists(os.path.join(root, program)):
        raise Skip("no %s of %s: run scripts/sysroot.sh --dir %s --packages %s %s"
                   % (package, architecture, top, package, architecture))
    return root, os.path.join(root, program)


def executable_maps(tools, trace):
    """[(start, end, path, offset)] of files whose code was mapped anywhere, once each;
    ranges that two of them used are left out."""
    found = set()
    files = {}  # the mappings, by process, for a later mprotect
    for line in common.dump_lines(tools, trace, "--events", "map"):
        e = json.loads(line)
        if e["kind"] != "map" or e["op"] not in ("initial", "mmap", "mprotect"):
            continue
        start, end = number(e["start"]), number(e["end"])
        if e["op"] == "mprotect":
            if "x" in e["prot"]:
                for s, t, path, offset in files.get(e["pid"], ()):
                    if s < end and start < t:
                        found.add((max(s, start), min(t, end), path, offset + max(s, start) - s))
            continue
        path = e.get("path", "")
        if path.startswith("/") and os.path.isfile(path):
            entry = (start, end, path, number(e.get("offset", 0)))
            files.setdefault(e["pid"], []).append(entry)
            if "x" in e["prot"]:
                found.add(entry)
    return [m for m in found
            if not any(n[0] < m[1] and m[0] < n[1]
                       and (n[2] != m[2] or n[0] - n[3] != m[0] - m[3]) for n in found)]


def segments(path):
    """[(address, end, offset)] of an ELF file's loaded segments."""
    out = []
    done = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        word = line.split()
        if word[:1] == ["LOAD"]:
            out.append((int(word[2], 16), int(word[2], 16) + int(word[4], 16), int(word[1], 16)))
    return out


def write_code(tools, target, trace, handlers, out):
    """The description for oracle-flow: the files' instructions where they ran."""
    by_file = {}
    for start, end, path, offset in executable_maps(tools, trace):
        by_file.setdefault(path, set()).add((start, end, offset))
    for path, ranges in by_file.items():
        loaded = segments(path)
        if not loaded:
            continue
        for start, end, offset in ranges:
            def place(pc):
                for low, high, at in loaded:
                    where = pc - low + at - offset + start
                    if low <= pc < high and start <= where < end:
                        return where
                return None
            props.instructions(target, path, out, place)
    for pc in handlers:
        out.write("h %x\n" % pc)
    out.flush()
    return len(by_file)


def signals(tools, trace):
    """({handler}, {signal: deliveries})"""
    handlers, count = set(), {}
    for line in common.dump_lines(tools, trace, "--events", "sys"):
        if '"signal"' not in line:
            continue
        e = json.loads(line)
        if e["kind"] == "signal" and e["op"] == "deliver" and "handler" in e:
            handlers.add(number(e["handler"]))
            count[e["signal"]] = count.get(e["signal"], 0) + 1
    return handlers, count


def check(good, text, *values):
    if not good:
        raise Failure(text % values)


def run_flow(tools, name, guest, environment, folder, *options, execs=0):
    target = PROGRAMS[name][0]
    trace = os.path.join(tools.work, "stress-%s.ctr" % name)
    recorded = common.record(tools, trace, guest, environment, folder, timeout=3 * common.PATIENCE,
                             options=("--events", "exec,mem,sys,map,thr,time", *options))
    check(recorded.status == 0, "exit status %d: %s", recorded.status,
          recorded.stderr.strip()[-500:])
    handlers, delivered = signals(tools, trace)
    with tempfile.NamedTemporaryFile("w", dir=tools.work, suffix=".code") as code:
        files = write_code(tools, target, trace, handlers, code)
        threads, _ = props.run_flow(tools, code.name, trace, True, "--events", "exec,mem")
    processes = len({t[0] for t in threads})
    props.check_info(tools, trace, threads, processes + execs)
    common.drop_file(trace)
    said = "%d threads, %d processes, %d instructions, %d accesses, code of %d files, %s" % (
        len(threads), processes, sum(t[2] for t in threads), sum(t[3] + t[4] for t in threads),
        files, ", ".join("%d %s" % (n, s) for s, n in sorted(delivered.items())))
    return recorded.stdout.decode(), len(threads), processes, delivered, said


def python(tools):
    root, program = program_of(tools, "python")
    guest = [tools.qemu("aarch64"), *common.guest_options("aarch64"), "-L", root, program, "-I", "-S",
             os.path.join(common.GUESTS, "stress-python.py")]
    text, threads, processes, delivered, said = run_flow(
        tools, "python", guest, {"LC_ALL": "C"}, tools.work, "--follow-exec", execs=1)
    m = re.fullmatch(r"ticks (\d+) alarms (\d+)\n\(3, 8999\) b'42\\n' 0\n", text)
    check(m, "it printed %r", text)
    # what Python's handlers count are one or more of the system's signals each
    check(delivered.get("SIGVTALRM", 0) >= int(m.group(1)) and
          delivered.get("SIGALRM", 0) >= int(m.group(2)), "of %s the trace has %s", text, delivered)
    # the program's five and its child's, which may be recorded as two: before and after execve
    check(processes == 2 and threads in (6, 7), "%d threads, %d processes", threads, processes)
    return said


def java(tools):
    root, program = program_of(tools, "java")
    if not shutil.which("javac"):
        raise Skip("no javac: install default-jdk-headless")
    done = subprocess.run(["javac", "--release", "17", "-d", tools.work,
                           os.path.join(common.GUESTS, "Stress.java")], capture_output=True,
                          text=True)
    check(done.returncode == 0, "javac: %s", done.stderr)
    guest = [tools.qemu("x86_64"), "-seed", "1", "-L", root, program, "-Xmx48m", "-XX:+UseParallelGC",
             "-XX:ParallelGCThreads=2", "-cp", tools.work, "Stress"]
    text, threads, processes, delivered, said = run_flow(tools, "java", guest, {"LC_ALL": "C"},
                                                         tools.work)
    check(text == "sum 23761636 caught 120\n", "it printed %r", text)
    check(delivered.get("SIGSEGV", 0) > 0 and threads >= 8 and processes == 1,
          "%d threads, %d processes, signals: %s", threads, processes, delivered)
    return said


RUN = {"python": python, "java": java}
