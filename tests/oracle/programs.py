# SPDX-License-Identifier: MIT
"""Functions of the programs that the tasks of a machine's Linux run.

programs   each process calls its functions as often as it prints; twins have other names at the
           same addresses, also of the same code; a program and a library are where the kernel
           has loaded them; /proc/PID/maps

The programs are tests/guests/twins.c.
"""
import collections
import json
import os
import re
import subprocess
import sys

import common
import linux
import machines
from common import Failure, Skip, TARGETS

sys.path.insert(0, common.GUESTS)
import build  # noqa: E402
from table import BY_NAME  # noqa: E402

NAMES = {target: ["programs"] for target in ("aarch64-softmmu", "riscv64-softmmu", "x86_64-softmmu")}
INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t devtmpfs dev /dev
echo 2 >/proc/sys/kernel/randomize_va_space
echo "begin"
/bin/twin-alpha 100 /bin/twin-gamma &
/bin/twin-gamma 110 /bin/twin-alpha &
wait
/bin/twin-alpha 130 /bin/twin-gamma || echo "failed"
/bin/twin-moved 170 || echo "failed"
/bin/twin-moved 190 || echo "failed"
echo "end"
poweroff -f
"""
APPEND = "quiet cryptomgr.notests"
FUNCTIONS = ("alpha", "gamma", "moved")


def library(target, name):
    """A file of the compiler's C library, in the folder of its machine, or where it finds it."""
    root = "/usr/" + TARGETS[target].cc.replace("-gcc", "")
    for folder in ("lib", "lib64"):
        path = os.path.join(root, folder, name)
        if os.path.exists(path):
            return path
    found = subprocess.run([TARGETS[target].cc, "-print-file-name=" + name], capture_output=True,
                           text=True, check=True).stdout.strip()
    if not os.path.exists(found):
        raise Skip("no %s of %s" % (name, target))
    return found


def interpreter(program):
    with open(program, "rb") as f:
        return re.search(rb"/lib[a-z0-9/-]*/ld[A-Za-z0-9_.-]*\.so\.\d", f.read())[0].decode()


def files_of(tools, target):
    """The programs and libraries by their paths in the machine; below a folder here, too."""
    if TARGETS[target].missing():
        raise Skip("no %s" % TARGETS[target].missing())
    found = {"/bin/twin-" + name: build.build_one(BY_NAME["twin-" + name], target, tools.guests)
             for name in FUNCTIONS}
    loader = interpreter(found["/bin/twin-moved"])
    found[loader] = library(target, os.path.basename(loader))
    found["/lib/libc.so.6"] = library(target, "libc.so.6")
    root = os.path.join(tools.work, "programs-" + target)
    for path, file in found.items():
        link = root + path
        os.makedirs(os.path.dirname(link), exist_ok=True)
        if os.path.lexists(link):
            os.remove(link)
        os.symlink(file, link)
    return root, found


def archive_of(found):
    files, folders = [], {"lib": 1, "bin": 0}
    for path, file in found.items():
        for part in path.strip("/").split("/")[:-1]:
            if part not in ("bin", "lib"):
                folders[path.strip("/").rsplit("/", 1)[0]] = 1
        with open(file, "rb") as f:
            files.append((path.strip("/"), 0o100755, f.read()))
    return [*((name, 0o40755, b"") for name, new in folders.items() if new), *files]


def said(console):
    """By process and function, the calls that the programs count."""
    calls = {}
    for m in re.finditer(rb"twin (\d+) (\w+) (\d+) other (\d+) child (\d+) (\d+)\r\n", console):
        name = m[2].decode()
        other = {"alpha": "gamma", "gamma": "alpha"}.get(name)
        calls[int(m[1]), name] = int(m[3])
        calls[int(m[5]), name] = int(m[6])
        if int(m[4]):
            calls[int(m[1]), other] = int(m[4])
    return calls


def said_areas(console):
    """By process, the lists of its areas, in order."""
    lists = collections.defaultdict(list)
    for m in re.finditer(rb"areas (\d+) ([^\r\n]*)\r\n", console):
        lists[int(m[1])].append(sorted(m[2].decode().split()))
    return lists


def seen_areas(tools, trace):
    lists, now = collections.defaultdict(list), collections.defaultdict(dict)
    for e in tool(tools, "tracedump", "--json", "-e", "task", trace):
        if e["kind"] != "area":
            continue
        areas = now[e["of"]]
        if e["op"] == "anew":
            areas.clear()
        elif e["op"] == "removed":
            del areas[e["start"], e["end"]]
        else:
            areas[e["start"], e["end"]] = "%x-%x:%x:%s" % (
                int(e["start"], 16), int(e["end"], 16), int(e["offset"], 16), e["path"])
        lists[e["of"]].append(sorted(areas.values()))
    return lists


def compare_areas(said_lists, seen_lists):
    """Each list that a process prints is one that the trace has, in the same order."""
    for pid, lists in said_lists.items():
        seen_before = iter(seen_lists[pid])
        for areas in lists:
            if not any(areas == seen for seen in seen_before):
                raise Failure("process %d has %r, the trace has %r" % (pid, areas, seen_lists[pid]))


def tool(tools, program, *arguments):
    done = subprocess.run([tools.program(program), "-q", *arguments], capture_output=True, text=True)
    if done.returncode or done.stderr:
        raise Failure("%s: status %d: %s" % (program, done.returncode, done.stderr))
    return map(json.loads, done.stdout.splitlines())


def seen(tools, trace, root):
    """The same by tracesym, and the modules of each process."""
    calls, modules = {}, collections.defaultdict(set)
    for row in tool(tools, "tracesym", "--functions", "--by=task", "--json", "--sysroot", root,
                    trace):
        pid = re.search(r"-(\d+)$", row.get("thread") or "")
        if not pid or not row["module"]:
            continue
        modules[int(pid[1])].add(row["module"])
        if row["function"] in FUNCTIONS:
            name = row["function"]
            if row["module"] != "/bin/twin-" + name:
                raise Failure("%s is in %s" % (name, row["module"]))
            calls[int(pid[1]), name] = calls.get((int(pid[1]), name), 0) + row["calls"]
    return calls, modules


def lines(tools, trace, root, wanted):
    """The lines of tracedump at the functions, whatever their addresses, are as many as calls."""
    for name in FUNCTIONS:
        total = 0
        for row in tool(tools, "tracesym", "--json", "-e", "exec", "--sysroot", root,
                        "--pc", "twin-%s!%s+0" % (name, name), trace):
            total += row.get("function") == name and row.get("offset") == "0x0"
        calls = sum(n for (_, of), n in wanted.items() if of == name)
        if total != calls:
            raise Failure("tracesym shows the begin of %s %d times, not %d" % (name, total, calls))


def counts(tools, trace, root, wanted):
    """Coverage has as many calls."""
    done = subprocess.run([tools.program("tracecov"), "-q", "--sysroot", root, "-f", "json", trace],
                          capture_output=True, text=True, check=True)
    found = {function["name"]: function["count"]
             for source in json.loads(done.stdout)["sources"] for function in source["functions"]}
    for name in FUNCTIONS:
        calls = sum(n for (_, of), n in wanted.items() if of == name)
        if found.get(name) != calls:
            raise Failure("tracecov counts %r calls of %s, not %d" % (found.get(name), name, calls))


def programs(tools, target, full):
    root, found = files_of(tools, target.split("-")[0])
    command = linux.command(tools, target, machines.CLOCK.replace("shift=0", "shift=3"), APPEND,
                            init=INIT, files=archive_of(found))
    trace = os.path.join(tools.work, "programs-%s.ctr" % target)
    recorded = common.record(tools, trace, command, options=("--events", "exec,int,task"))
    wanted = said(recorded.stdout)
    if recorded.status or len(wanted) != 13 or b"failed" in recorded.stdout:
        raise Failure("status %d: %r" % (recorded.status, recorded.stdout[-900:]))
    areas = said_areas(recorded.stdout)
    if sum(map(len, areas.values())) != 18:
        raise Failure("%r" % areas)
    compare_areas(areas, seen_areas(tools, trace))
    calls, modules = seen(tools, trace, root)
    if calls != wanted:
        raise Failure("calls by process and function: %r, the programs say %r" % (calls, wanted))
    for (pid, name) in wanted:
        if name == "moved" and "/lib/libc.so.6" not in modules[pid]:
            raise Failure("process %d has no library, but %r" % (pid, modules[pid]))
    lines(tools, trace, root, wanted)
    counts(tools, trace, root, wanted)
    common.drop_file(trace)
    return "%d calls of %d functions in %d processes" % (
        sum(wanted.values()), len(FUNCTIONS), len({pid for pid, _ in wanted}))


RUN = {"programs": programs}
