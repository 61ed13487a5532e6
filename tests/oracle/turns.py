# SPDX-License-Identifier: MIT
"""Threads of programs that run one at a time (cannoli-record --order).

raced      all threads and processes of turns.c race for the same memory: in the order of the
           trace each load must find what was stored last; a seed that varies turns, too
repeated   the same seed, or none, gives the same turns again; others give others
lost       among seeds there is one with which two threads lose an addition
waits      system calls that wait have the same results as unrecorded
stopped    others run on while a process that had the turn is stopped; when one is killed
"""
import json
import os
import signal
import subprocess
import time

import common
import scenarios
from common import Failure, TARGETS
from scenarios import check

SEEDS = 100
# All kinds would take long: what decides the order, and what it is compared by.
KINDS = "exec,mem,val,sys,thr,map"


def record(tools, target, name, guest, folder, *options, events=KINDS):
    trace = os.path.join(tools.work, "turns-%s-%s.ctr" % (target, name))
    run = common.record(tools, trace, guest, None, folder, options=("--events", events, *options))
    check(run.status == 0, "exit status %d: %s%s", run.status, run.stdout[-300:], run.stderr[-300:])
    return trace, run.stdout.decode()


def range_of_shared(target, path):
    text = subprocess.run([TARGETS[target].tool("nm"), path], capture_output=True, text=True,
                          check=True).stdout
    at = next(int(line.split()[0], 16) for line in text.splitlines() if line.endswith(" shared"))
    return "0x%x-0x%x" % (at + 16384, at + 65536)


def raced(tools, target, guest, folder, path):
    said = []
    span = range_of_shared(target, path)
    for options in (("--order", "--quantum=20000"), ("--order=%d" % len(target), "--quantum=3000")):
        trace, text = record(tools, target, "raced", guest, folder, *options)
        check(text == "met 420 times\n", "it printed %r", text)
        done = subprocess.run([tools.order, span, trace], capture_output=True, text=True)
        check(done.returncode == 0, "%s: %s", options, done.stdout.strip())
        said.append(done.stdout.strip())
    for missing in ("1", "10", "100", "1000"):  # another store may replace what it changed
        less = subprocess.run([tools.order, "--forget", missing, span, trace], capture_output=True,
                              text=True)
        if less.returncode == 1 and ": loads 0x" in less.stdout:
            break
    else:
        raise Failure("a missing store is not noticed: " + less.stdout.strip())
    common.drop_file(trace)
    return "; ".join(said)


def turns_of(tools, trace):
    """Where each turn begins: (number of the thread, instructions that it had executed)."""
    events = list(map(json.loads, scenarios.lines_of(tools, trace, "order")))
    first = min(e["tid"] for e in events)
    return [(e["tid"] - first, e["ordinal"]) for e in events]


def repeated(tools, target, guest, folder):
    turns = []
    for options in (("--order",), ("--order",), ("--order=6",), ("--order=6",), ("--order=7",)):
        trace, text = record(tools, target, "repeated", [*guest, "switch"], folder, *options,
                             "--no-aslr", events="exec")
        turns.append((text, turns_of(tools, trace)))
        common.drop_file(trace)
    check(turns[0][0] == turns[1][0] and turns[2][0] == turns[3][0], "other results: %r",
          [t[0] for t in turns])
    for a, b in ((0, 1), (2, 3)):
        check([t[1] for t in turns[a][1]] == [t[1] for t in turns[b][1]],
              "the same seed, other turns: %r %r", turns[a][1][:40], turns[b][1][:40])
    check(turns[2][1] != turns[4][1] and turns[0][1] != turns[2][1], "other seeds, the same turns")
    check(len(turns[0][1]) > 300, "%d turns", len(turns[0][1]))
    return "%d and %d turns, twice" % (len(turns[0][1]), len(turns[2][1]))


def lost(tools, target, guest, folder):
    for seed in range(1, SEEDS + 1):
        trace, text = record(tools, target, "lost", [*guest, "lost", "200"], folder, "--order=%d" % seed,
                             events="exec")
        common.drop_file(trace)
        if int(text) < 400:
            break
    else:
        raise Failure("no seed up to %d loses an addition" % SEEDS)
    for _ in range(3):
        trace, again = record(tools, target, "lost", [*guest, "lost", "200"], folder, "--order=%d" % seed,
                              events="exec")
        common.drop_file(trace)
        check(again == text, "seed %d: %s, then %s", seed, text, again)
    return "%s with seed %d" % (text.strip(), seed)


def processes_of(recorder):
    """The recorder's guests, by their parents."""
    found, queue = [], [recorder]
    while queue:
        pid = queue.pop()
        try:
            with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
                children = list(map(int, f.read().split()))
        except FileNotFoundError:
            continue
        queue += children
        found += children
    named = []
    for pid in found:
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                if b"-cannoli\0" in f.read():
                    named.append(pid)
        except FileNotFoundError:
            pass
    return sorted(named)


def ticks(pid):
    """Processor time that the process has used, or None: it has ended."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            word = f.read().rsplit(")", 1)[1].split()
        return sum(map(int, word[11:13])) if word[0] != "Z" else None
    except (FileNotFoundError, ProcessLookupError):
        return None


def wait_until(what, text, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        check(time.monotonic() < end, "%s", text)
        time.sleep(0.02)


def gone_on(pid, before):
    now = ticks(pid)
    return now is None or now >= before + 20


def disturb(tools, target, guest, folder, sig):
    """Processes that compute, and one of them gets a signal: the others end well."""
    trace = os.path.join(tools.work, "turns-%s-%d.ctr" % (target, sig))
    command = [tools.program("cannoli-record"), "-q", "--qemu-dir", tools.qemu_dir, "-e", "exec", "--order",
               "-o", trace, "--", *guest, "compute"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as recorder:
        wait_until(lambda: len(processes_of(recorder.pid)) == 4, "it has not begun")
        pids = processes_of(recorder.pid)
        try:
            wait_until(lambda: all(gone_on(p, -14) for p in pids[1:]), "they do not compute")
            os.kill(pids[1], sig)
            if sig == signal.SIGSTOP:
                before = [ticks(p) or 0 for p in pids[2:]]
                wait_until(lambda: all(gone_on(p, b) for p, b in zip(pids[2:], before)),
                           "the others do not go on while one is stopped")
                os.kill(pids[1], signal.SIGCONT)
        except Failure:
            recorder.kill()
            raise
        out = recorder.communicate(timeout=common.PATIENCE)[0].decode()
    check(out == "%d well\n" % (2 if sig == signal.SIGKILL else 3), "it printed %r", out)
    said = scenarios.info(tools, trace)
    check(len(said["processes"]) == 4, "%d processes", len(said["processes"]))
    common.drop_file(trace)


def stopped(tools, target, guest, folder):
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        disturb(tools, target, guest, folder, sig)
    return "stopped and killed"


def run(tools, target, guest, folder, path):
    return "; ".join([raced(tools, target, guest, folder, path), repeated(tools, target, guest, folder),
                      lost(tools, target, guest, folder), stopped(tools, target, guest, folder)])


def run_waits(tools, target, guest, folder):
    expected = common.plain(guest, cwd=folder).stdout.decode()
    check(len(expected.splitlines()) > 15, "it printed %r", expected)
    for options in (("--order",), ("--order=%d" % len(target),), ("--order", "--quantum=40")):
        trace, text = record(tools, target, "waits", guest, folder, *options, events="exec,mem,sys")
        common.drop_file(trace)
        check(text == expected, "%s: it printed %r instead of %r", options, text, expected)
    return "%d results" % len(expected.splitlines())
