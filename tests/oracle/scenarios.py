# SPDX-License-Identifier: MIT
"""What happens to processes, threads and signals, compared with the guest's report.

Each function records one program with every kind of event and compares the trace
with the program's own report (see tests/guests), its exit status, and an
unrecorded run.  BAD_INPUT programs must behave as unrecorded, and leave a trace
that is whole.
"""
import json
import os
import subprocess

import common
import realprogs
import states
from common import Failure, NOTHING, TARGETS

SIGNALS = {"s": 11, "k": 9, "a": 6, "t": 15}
MODES = ("maps", "wild", "close", "prctl", "memory", "forks")


def check(good, text, *values):
    if not good:
        raise Failure(text % values)


def lines_of(tools, trace, kinds, *options, partial=False):
    """tracedump --json; `partial' allows a trace of killed processes."""
    d = common.dump(tools, trace, "--events", kinds, *options)
    out = [line.decode() for line in d.stdout]
    error = d.stderr.read().decode()
    expected = (0, 3, NOTHING) if partial else (0, NOTHING)
    check(d.wait() in expected, "tracedump: status %d: %s", d.returncode,
          error)
    return out


def events(tools, trace, kinds, *options, partial=False):
    return [json.loads(line) for line in lines_of(tools, trace, kinds, *options, partial=partial)]


def info(tools, trace):
    done = subprocess.run([tools.program("tracedump"), "--info", "--json", trace],
                          capture_output=True, text=True)
    check(done.returncode in (0, 3), "tracedump --info: %d: %s", done.returncode, done.stderr)
    return json.loads(done.stdout)


def number(v):
    return int(v, 0) if isinstance(v, str) else v


def record_all(tools, target, name, guest, folder, *options, environment=None, expect=None):
    trace = os.path.join(tools.work, "scenario-%s-%s.ctr" % (target, name))
    run = common.record(tools, trace, guest, environment, folder,
                        options=("--events", "all", *options))
    check(expect is None or run.status == expect, "exit status %d instead of %s: %s%s", run.status,
          expect, run.stdout[-300:], run.stderr[-300:])
    return trace, run


# ---- ends of programs -----------------------------------------------------------

def deaths(tools, program, target, guest, folder):
    """Four deaths: the last action, the signal, the end of thread and process."""
    for way, signo in SIGNALS.items():
        trace, run = record_all(tools, target, "deaths", guest + [way], folder,
                                expect=128 + signo)
        last = int(run.stdout.split()[1], 16)
        found = events(tools, trace, "exec,mem,val,sys,thr", partial=True)
        stores = [e for e in found if e["kind"] == "store" and number(e["addr"]) == last]
        check(len(stores) == 1000 and number(stores[-1]["value"]) == 1000,
              "%s: %d stores into the counter, the last is %s", way, len(stores), stores[-1:])
        process = info(tools, trace)["processes"][0]
        fatal = [e for e in found if e["kind"] == "signal" and e.get("fatal")]
        check(process["end_status"] == signo, "signal %d: %s", signo, process)
        if way == "k":  # only the host kernel knows about it
            check(process["end_reason"] == "killed", "killed: %s", process)
            calls = [e for e in found if e["kind"] == "syscall"]
            check(calls[-1]["name"] == "kill" and "result" not in calls[-1],
                  "killed: its last call is %s", calls[-1])
            check(not fatal, "killed: %s", fatal)
        else:
            check(process["end_reason"] == "signal", "signal %d: %s", signo, process)
            check(len(fatal) == 1 and fatal[0]["number"] == signo,
                  "signal %d: recorded: %s", signo, fatal)
            end = [e for e in found if e["kind"] == "thread" and e["op"] == "end"]
            check(len(end) == 1 and end[0]["reason"] == "signal" and end[0]["status"] == signo,
                  "signal %d: %s", signo, end)
        if way == "s":
            at = [e for e in found if e["kind"] == "exec"][-1]
            page = target == "s390x"  # it reports only the page
            check(number(fatal[0]["addr"]) == (0 if page else 0x30) and fatal[0]["pc"] == at["pc"],
                  "the fault: %s; the last instruction: %s", fatal[0], at)
        common.drop_file(trace)
    return "%d deaths" % (len(SIGNALS) + children_deaths(tools, target, guest, folder))


def strays(tools, program, target, guest, folder):
    """Signals that the host gives to a thread of QEMU's own reach the guest, with their sender.

    Unrecorded, QEMU dies of them."""
    trace, run = record_all(tools, target, "strays", guest, folder, expect=0)
    said = [int(w) for w in run.stdout.decode().replace(",", "").split() if w.isdigit()]
    check(len(said) == 3 and said[2] == 0, "it printed %r", run.stdout)
    pid, got, _ = said
    found = [e for e in events(tools, trace, "sys") if e["kind"] == "signal" and e["pid"] == pid]
    delivered = [e for e in found if e["op"] == "deliver" and "handler" in e]  # none if ignored
    returned = [e for e in found if e["op"] == "return"]
    check(len(delivered) == len(returned) == got, "%d signals, %d returns in the trace instead of %d",
          len(delivered), len(returned), got)
    senders = {e["sender_pid"] for e in delivered}
    check(len(senders) == 1 and pid not in senders, "sent by %s", senders)
    common.drop_file(trace)
    return "%d signals" % got


def children_deaths(tools, target, guest, folder):
    """Children that die by every signal, in every way, compared with wait(2) in the parent."""
    unrecorded = common.plain(guest + ["children"], cwd=folder)
    trace, run = record_all(tools, target, "deaths", guest + ["children"], folder, expect=0)
    said = [line.split() for line in run.stdout.decode().splitlines()]
    check([w[:4] for w in said] == [line.split()[:4] for line in
                                    unrecorded.stdout.decode().splitlines()],
          "recorded it printed %r, unrecorded %r", run.stdout, unrecorded.stdout)
    table = {p["pid"]: p for p in info(tools, trace)["processes"]}
    found = events(tools, trace, "sys,thr", partial=True)
    ends = {e["pid"]: e for e in found
            if e["kind"] == "thread" and e["op"] == "end" and e["reason"] == "signal"}
    for word, way, name, signo, pid in said:
        pid, signo = int(pid), int(signo)
        what, row = "%s %s" % (way, name), table[pid]
        fatal = [e["number"] for e in found if e["pid"] == pid and e["kind"] == "signal"
                 and e.get("fatal")]
        if word == "lives":
            check(signo == 7 and row["end_reason"] == "exit_group" and row["end_status"] == 7,
                  "%s: it exited with %d, the trace has %s", what, signo, row)
        elif name == "KILL":
            check(row["end_reason"] == "killed" and pid not in ends, "%s: the trace has %s", what,
                  row)
        else:
            check(row["end_reason"] == "signal" and row["end_status"] == signo,
                  "%s: it died by %d, the trace has %s", what, signo, row)
            check(fatal == [signo], "%s: it died by %d, recorded: %s", what, signo, fatal)
            check(pid in ends and ends[pid]["status"] == signo, "%s: its end: %s", what,
                  ends.get(pid))
            calls = [e for e in found if e["pid"] == pid and e["kind"] == "syscall"]
            if way == "kill":
                check(calls[-1]["name"] == "kill" and calls[-1].get("result") == 0,
                      "%s: its last call is %s", what, calls[-1])
    states.replay(tools, trace)
    common.drop_file(trace)
    return len(said)


# ---- signals --------------------------------------------------------------------

def handlers(tools, program, target, guest, folder):
    """Each delivery and each return, as the handlers saw them."""
    trace, run = record_all(tools, target, "handlers", guest, folder, "--data-limit", "all",
                            expect=program.expect)
    tag = 1 if target == "thumb" else 0
    said, found = [], []
    for line in run.stdout.decode().splitlines():
        word = line.split()
        if word[0] == "signal":
            said.append((int(word[1]), int(word[2]), *(int(w, 16) for w in word[3:6])))
        else:
            said.append(int(word[1], 16))
    faults = {11, TARGETS[target].sigbus}
    for e in events(tools, trace, "sys"):
        if e["kind"] != "signal":
            continue
        if e["op"] == "return":
            found.append(number(e["pc"]))
        else:
            addr = number(e.get("addr", 0)) if e["number"] in faults else 0
            found.append((e["number"], e["code"], number(e["pc"]), addr, number(e["handler"])))
    if target == "s390x":  # its signal frames have only the page
        said = [x if isinstance(x, int) else (*x[:3], x[3] & ~4095, x[4]) for x in said]
        found = [x if isinstance(x, int) else (*x[:3], x[3] & ~4095, x[4]) for x in found]
    said = [x if isinstance(x, int) else (*x[:4], x[4] & ~tag) for x in said]
    found = [x if isinstance(x, int) else (*x[:4], x[4] & ~tag) for x in found]
    for i, (a, b) in enumerate(zip(said, found)):
        check(a == b, "event %d: the handler saw %s, the trace has %s", i, shown(a), shown(b))
    check(len(said) == len(found), "the handlers saw %d events, the trace has %d", len(said),
          len(found))
    states.memory(tools, trace)
    states.replay(tools, trace)
    common.drop_file(trace)
    return "%d deliveries and returns" % len(said)


def shown(x):
    return hex(x) if isinstance(x, int) else "signal %d code %d pc %#x addr %#x handler %#x" % x


# ---- processes ------------------------------------------------------------------

REASONS = {"exit": ("exit", "exit_group"), "signal": ("signal", "killed")}


def family_tables(found):
    """{pid: (ppid, reason, status)}, {tid: (pid, ptid)}, {tid: last name} of thread events."""
    parents, ends, threads, names = {}, {}, {}, {}
    for e in found:
        if e["op"] == "start":
            if e["pid"] == e["tid"]:
                parents[e["pid"]] = e["ppid"]
            else:
                threads[e["tid"]] = (e["pid"], e["ptid"])
            names[e["tid"]] = e.get("name", "")
        elif e["op"] == "name":
            names[e["tid"]] = e["name"]
        elif e["op"] == "end" and e["pid"] == e["tid"]:
            ends[e["pid"]] = (e["reason"], e["status"])
    return parents, ends, threads, names


def family(tools, program, target, guest, folder):
    trace, run = record_all(tools, target, "family", guest, folder, expect=program.expect)
    found = events(tools, trace, "thr", partial=True)
    parents, ends, threads, names = family_tables(found)
    table = info(tools, trace)
    by_pid = {p["pid"]: p for p in table["processes"]}
    processes = others = 0
    for line in run.stdout.decode().splitlines():
        word = line.split(None, 5)
        if word[0] == "process":
            pid, ppid, status = int(word[1]), int(word[2]), int(word[4])
            processes += 1
            check(pid in by_pid, "%s: not in the trace", line)
            p = by_pid[pid]
            check(p["end_reason"] in REASONS[word[3]] and p["end_status"] == status
                  or p["end_reason"] == "killed" and status == 9, "%s: the trace has %s", line, p)
            check(not ppid or (p["ppid"] == ppid and parents[pid] == ppid), "%s: the trace has %s, %s",
                  line, p, parents[pid])
            if pid in ends:
                check(ends[pid][0] in REASONS[word[3]] and ends[pid][1] == status,
                      "%s: its end is recorded as %s", line, ends[pid])
            else:
                check(status == 9, "%s: its end is not recorded", line)
            if len(word) > 5:
                check(names[pid] == word[5], "%s: the trace names it %r", line, names[pid])
        else:
            word = line.split(None, 4)
            others += 1
            tid = int(word[2])
            check(threads.get(tid) == (int(word[1]), int(word[3])) and names[tid] == word[4],
                  "%s: the trace has %s %r", line, threads.get(tid), names.get(tid))
    check(len(by_pid) == processes and len(threads) == others,
          "%d processes and %d threads, the trace has %d and %d", processes, others, len(by_pid),
          len(threads))
    states.replay(tools, trace)
    selection(tools, trace, table)
    common.drop_file(trace)
    alone(tools, target, program, guest, folder)
    return "%d processes, %d threads" % (processes, others + processes)


def selection(tools, trace, table):
    """--pid and --thread show exactly the part of all events that belongs to them."""
    kinds = "exec,sys,thr,map"
    lines = lines_of(tools, trace, kinds, partial=True)
    for option, member, values in (
            ("--pid", "pid", [p["pid"] for p in table["processes"][1:3]]),
            ("--thread", "tid", [t["tid"] for t in table["threads"][-2:]])):
        for v in values:
            wanted = [x for x in lines if '"%s":%d,' % (member, v) in x]
            got = lines_of(tools, trace, kinds, option, str(v), partial=True)
            check(got == wanted, "%s %d: %d events of %d", option, v, len(got), len(wanted))


def alone(tools, target, program, guest, folder):
    trace, run = record_all(tools, target, "alone", guest, folder, "--no-follow-forks",
                            expect=program.expect)
    table = info(tools, trace)
    check(len(table["processes"]) == 1, "--no-follow-forks: %d processes", len(table["processes"]))
    lines = run.stdout.decode().splitlines()
    check(len(lines) == 13, "--no-follow-forks: it printed %d lines", len(lines))
    pid = int(lines[-1].split()[1])
    check({e["pid"] for e in events(tools, trace, "exec,thr")} == {pid},
          "--no-follow-forks: events of other processes")
    common.drop_file(trace)


def follow_exec(tools, program, target, guest, folder):
    """execve of itself: recorded as a program of its own, with its exit status."""
    trace, run = record_all(tools, target, "exec", guest + ["exec"], folder, "--follow-exec",
                            expect=program.expect)
    found = events(tools, trace, "thr", partial=True)
    execs = [e for e in found if e["op"] == "exec"]
    check(len(execs) == 1 and os.path.basename(execs[0]["name"]) == program.name,
          "execve is recorded as %s", execs)
    pid = execs[0]["pid"]
    line = [x for x in run.stdout.decode().splitlines() if x.startswith("process %d " % pid)]
    check(line and " exit 23 " in line[0] + " ", "the program that execve started: %s", line)
    rows = [p for p in info(tools, trace)["processes"] if p["pid"] == pid]
    check(len(rows) == 2 and rows[0]["end_reason"] == "exec" and rows[1]["end_status"] == 23,
          "its rows: %s", rows)
    maps = [e for e in events(tools, trace, "map", "--pid", str(pid), partial=True)
            if e["op"] == "initial"
            and os.path.basename(e.get("path", "")) == program.name]
    check(maps, "the new program's image is not recorded")
    common.drop_file(trace)
    return "followed"


def pingpong(tools, program, target, guest, folder):
    """Times of system calls in different threads agree with their dependencies."""
    trace, run = record_all(tools, target, "pingpong", guest, folder, expect=program.expect)
    to_out, to_in, back_out, back_in = (int(w) for w in run.stdout.split()[1:5])
    begins, ends = {}, {}
    last = {}
    for e in events(tools, trace, "sys,time"):
        if e["kind"] != "syscall":
            continue
        check(e["time"] >= last.get(e["tid"], 0), "time decreases in one thread: %s", e)
        last[e["tid"]] = e["time"] + e.get("duration", 0)
        if e["name"] == "write" and e["args"][0] in (to_in, back_in):
            begins.setdefault(e["args"][0], []).append(e["time"])
        elif e["name"] == "read" and e["args"][0] in (to_out, back_out):
            ends.setdefault(e["args"][0], []).append(e["time"] + e["duration"])
    turns = 0
    for reader, writer in ((to_out, to_in), (back_out, back_in)):
        check(len(begins[writer]) >= len(ends[reader]) > 100, "%d writes, %d reads",
              len(begins[writer]), len(ends[reader]))
        for begin, end in zip(sorted(begins[writer]), sorted(ends[reader])):
            check(begin <= end, "a read ended at %.9f, before its write began at %.9f", end, begin)
            turns += 1
    states.replay(tools, trace)
    common.drop_file(trace)
    return "%d turns in order" % turns


# ---- foreign programs -----------------------------------------------------------

def pipeline(tools, target):
    """A shell pipeline of busybox applets; every process is recorded."""
    root, path = realprogs.busybox(tools, target)
    text = os.path.join(tools.work, "pipeline.txt")
    with open(text, "w") as f:
        f.write("".join("%d line\n" % (i * 7919 % 1000) for i in range(300)))
    script = ("{0} cat {1} | {0} sort -n | {0} sed -n '5,8p'; {0} sh -c 'exit 3'; exit $?"
              .format(path, text))
    guest = [tools.qemu(target), *common.guest_options(target), "-L", root, path, "sh", "-c",
             script]
    trace, run = record_all(tools, target, "pipeline", guest, tools.work, "--follow-exec",
                            environment={"PATH": "/"}, expect=3)
    expected = sorted("%d line\n" % (i * 7919 % 1000) for i in range(300))
    expected = "".join(sorted(expected, key=lambda s: int(s.split()[0]))[4:8])
    check(run.stdout.decode() == expected, "it printed %r instead of %r", run.stdout, expected)
    found = events(tools, trace, "thr", partial=True)
    execs = [e for e in found if e["op"] == "exec"]
    check(len(execs) == 4 and all(e["name"].endswith("busybox") for e in execs),
          "4 programs were executed, the trace has %s", execs)
    table = info(tools, trace)
    pids = {p["pid"] for p in table["processes"]}
    check(len(pids) == 5 and {e["pid"] for e in execs} < pids, "5 processes, the trace has %s",
          pids)
    first = table["processes"][0]["pid"]
    check(all(p["ppid"] == first for p in table["processes"] if p["pid"] != first),
          "parents: %s", table["processes"])
    statuses = sorted(p["end_status"] for p in table["processes"] if p["end_reason"] != "exec")
    check(statuses == [0, 0, 0, 3, 3], "exit statuses: %s", statuses)
    words = [e["text"][1] for e in events(tools, trace, "sys")
             if e["kind"] == "syscall" and e["name"] == "execve" and "errno" not in e]
    argvs = [[path, "cat", text], [path, "sort", "-n"], [path, "sed", "-n", "5,8p"],
             [path, "sh", "-c", "exit 3"]]
    check(sorted(e.get("argv", []) for e in execs) == sorted(argvs), "arguments: %s", execs)
    check(table["processes"][0].get("argv") == [path, "sh", "-c", script],
          "arguments of the first process: %s", table["processes"][0])
    for applet in ("cat", "sort", "sed", "sh"):
        check(any('"%s"' % applet in w for w in words), "no execve of %s among %s", applet, words)
    states.replay(tools, trace)
    common.drop_file(trace)
    return "%d processes" % len(pids)


# ---- bad input ------------------------------------------------------------------

def bad_input(tools, program, target, guest, folder):
    said = []
    for mode in MODES:
        unrecorded = common.plain(guest + [mode], cwd=folder)
        trace, run = record_all(tools, target, "bad-" + mode, guest + [mode], folder)
        check((run.stdout, run.status) == (unrecorded.stdout, unrecorded.status),
              "%s: recorded it printed %r (%d), unrecorded %r (%d): %s", mode, run.stdout[-200:],
              run.status, unrecorded.stdout[-200:], unrecorded.status, run.stderr[-300:])
        check(run.status == (17 if mode == "close" else 0), "%s: status %d", mode, run.status)
        d = common.dump(tools, trace, "--events", "all")
        lines = 0
        for line in d.stdout:
            lines += 1
        error = d.stderr.read().decode()
        check(d.wait() in (0, NOTHING) or mode == "forks", "%s: tracedump: status %d: %s", mode, d.returncode,
              error)
        if mode != "forks":
            said.append("%s %d" % (mode, lines))
            states.memory(tools, trace)
        states.replay(tools, trace)
        common.drop_file(trace)
    return "events: " + ", ".join(said)


BY_NAME = {"deaths": deaths, "strays": strays, "handlers": handlers, "family": family,
           "follow-exec": follow_exec, "badinput": bad_input, "pingpong": pingpong}


def run(tools, program, target, guest, folder):
    return BY_NAME[program.name](tools, program, target, guest, folder)
