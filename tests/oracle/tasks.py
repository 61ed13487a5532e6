# SPDX-License-Identifier: MIT
"""Which task of its Linux each vCPU of a machine runs.

tasks   at each place where a program says which thread, process and name it is, and at each
        switch that the kernel's scheduler logs, which is the same log without a recorder; each
        instruction belongs to one task

The program is tests/guests/tasks.c, the scheduler's log is its tracepoint sched_switch.
"""
import base64
import bisect
import collections
import gzip
import itertools
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

NAMES = {target: ["tasks"] for target in ("aarch64-softmmu", "riscv64-softmmu", "x86_64-softmmu")}
INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tracefs trace /sys/kernel/tracing
/bin/tasks || echo "failed"
echo 0 >/sys/kernel/tracing/tracing_on
echo "begin"
busybox gzip -c </sys/kernel/tracing/trace | busybox base64
echo "end"
poweroff -f
"""
APPEND = "quiet cryptomgr.notests trace_event=sched:sched_switch"
CLOCK = machines.CLOCK.replace("shift=0", "shift=3")  # it is interrupted more often
AT, NUMBERS = 0x20000000, 8192  # as in table.py and tasks.c
NAME_BYTES = 15
PLACES, SWITCHES = 10000, 500  # what a run has at least
CHOSEN = range(100000, 1500000)  # instructions of the name that is recorded alone
SOON = 1000  # instructions from the kernel's announcement to the switch

State = collections.namedtuple("State", "ordinal pid tgid comm address")  # from there on
Place = collections.namedtuple("Place", "vcpu ordinal table number task")
Switch = collections.namedtuple("Switch", "before after")  # (pid, comm) each
UNKNOWN = (None, None)


def name_of(number):
    return ("%u, cut \"short\" by it" if number % 2 else "name-%u") % number


TABLES = [
    ("thread", lambda number: number, lambda state: state.pid),
    ("process", lambda number: number, lambda state: state.tgid),
    ("name", lambda number: name_of(number)[:NAME_BYTES], lambda state: state.comm),
]
RANGE = "0x%x-0x%x" % (AT, AT + 4 * NUMBERS * len(TABLES) - 1)


def command_of(tools, target, clock=CLOCK):
    arch = target.split("-")[0]
    if TARGETS[arch].missing():
        raise Skip("no %s" % TARGETS[arch].missing())
    with open(build.build_one(BY_NAME["tasks"], arch, tools.guests), "rb") as f:
        files = [("bin/tasks", 0o100755, f.read()), ("bin/name-4000", 0o120777, b"tasks")]
    return linux.command(tools, target, clock, APPEND, init=INIT, files=files)


def record(tools, target, command, *options):
    """The trace, and what the console printed."""
    trace = os.path.join(tools.work, "tasks-%s.ctr" % target)
    recorded = common.record(tools, trace, command, options=options)
    if recorded.status or b"\nend\r\n" not in recorded.stdout or b"failed" in recorded.stdout:
        raise Failure("status %d: %r" % (recorded.status, recorded.stdout[-600:]))
    return trace, recorded.stdout


def info_of(tools, trace):
    done = subprocess.run([tools.program("tracedump"), "--info", "--json", trace],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def task_of(line):
    return tuple(line.get("task", {}).get(key) for key in ("pid", "tgid", "comm"))


def states_of(tools, trace, first):
    """By vCPU, what it runs since when."""
    states = collections.defaultdict(list)
    for line in common.dump_lines(tools, trace, "--events", "task"):
        o = json.loads(line)
        if o["kind"] == "task":
            states[o["tid"] - first].append(
                State(o["ordinal"], *task_of(o), o.get("address")))
    return states


def places_of(tools, trace, first):
    """Where the program says something."""
    for line in common.dump_lines(tools, trace, "--events", "exec", "--pc", RANGE):
        o = json.loads(line)
        table, number = divmod((int(o["pc"], 16) - AT) // 4, NUMBERS)
        yield Place(o["tid"] - first, o["ordinal"], table, number, task_of(o))


def state_at(states, ordinal):
    i = bisect.bisect_right(states, ordinal, key=lambda state: state.ordinal)
    return states[i - 1] if i else None


def wrong_place(states, places):
    """The first place where another task runs than the one that says so."""
    for p in places:
        what, said, seen = TABLES[p.table]
        state = state_at(states[p.vcpu], p.ordinal)
        if not state or seen(state) != said(p.number):
            return "cpu%d, instruction %d says that it is of %s %r, the trace has %r" % (
                p.vcpu, p.ordinal, what, said(p.number), state)
    return None


def wrong_line(states, places):
    """The first one that is shown with another task than that of the events."""
    for p in places:
        state = state_at(states[p.vcpu], p.ordinal)
        if not state or p.task != state[1:4]:  # pid, tgid, comm
            return "cpu%d, instruction %d is shown with %r, not %r" % (
                p.vcpu, p.ordinal, p.task, state)
    return None


LINE = re.compile(r".*-\d+ +\[(\d+)\] .* sched_switch: prev_comm=(.*) prev_pid=(\d+) prev_prio=.*"
                  r" ==> next_comm=(.*) next_pid=(\d+) next_prio=")


def switches_of_log(console):
    """By vCPU, the scheduler's own list, from where a second vCPU runs: before it starts one
    the kernel switches its tracepoints off and on again."""
    text = console[console.index(b"begin\r\n") + 7:console.rindex(b"\r\nend\r\n")]
    log = gzip.decompress(base64.b64decode(text)).decode()
    found = list(filter(None, map(LINE.match, log.splitlines())))
    if "entries-in-buffer/entries-written: %d/%d " % (len(found), len(found)) not in log:
        raise Failure("the scheduler's log of %d switches says: %s" % (len(found), log[:200]))
    switches = collections.defaultdict(list)
    for m in itertools.dropwhile(lambda m: int(m[1]) == 0, found):
        switches[int(m[1])].append(Switch((int(m[3]), m[2]), (int(m[5]), m[4])))
    return switches


def switches_of_trace(states):
    """With their ordinals.  A task changes its number by execve, and its name, without one."""
    known = [UNKNOWN, *((state.pid, state.comm) for state in states)]
    where = [(None, None), *((state.ordinal, state.address) for state in states)]
    return [(where[i][0], Switch(known[i - 1], known[i]))
            for i in range(1, len(known)) if where[i - 1][1] != where[i][1]]


def equal_at(seen, logged):
    """How many are equal from the first ones on; the first task may not be known."""
    for i, ((_, a), b) in enumerate(zip(seen, logged)):
        if a.after != b.after or a.before not in (UNKNOWN, b.before):
            return i
    return min(len(seen), len(logged))


def wrong_switch(states, log):
    """The first one that is not the scheduler's.  The trace has more before and after."""
    for vcpu, logged in sorted(log.items()):
        seen = switches_of_trace(states[vcpu])
        begin = max(range(len(seen)), key=lambda i: equal_at(seen[i:], logged))
        n = equal_at(seen[begin:], logged)
        if n < len(logged):
            return "cpu%d, switch %d is %r, in the scheduler's log %r" % (
                vcpu, begin + n, seen[begin + n] if begin + n < len(seen) else None, logged[n])
    return None


def contexts_of(tools, trace, first):
    """By vCPU, where the kernel writes the number of the task to which it switches."""
    contexts = collections.defaultdict(lambda: [(0, 0)])
    for line in common.dump_lines(tools, trace, "--events", "ctx"):
        o = json.loads(line)
        seen = contexts[o["tid"] - first]
        if o["id"] != seen[-1][1]:
            seen.append((o["ordinal"], o["id"]))
    return contexts


def wrong_context(states, contexts):
    """The first switch that the kernel did not announce just before.  The last one may come
    after the end."""
    for vcpu, seen in states.items():
        switches = switches_of_trace(seen)[1:]
        announced = [c for c in contexts[vcpu] if c[0] > seen[0].ordinal]
        for (ordinal, switch), (begin, number) in zip(switches, announced):
            if switch.after[0] != number or not begin <= ordinal <= begin + SOON:
                return "cpu%d, instruction %d: switch to %r, at %d to %d" % (
                    vcpu, ordinal, switch.after, begin, number)
        if len(announced) - len(switches) not in (0, 1):
            return "cpu%d has %d switches, %d announced" % (vcpu, len(switches), len(announced))
    return None


def wrong_sum(info, states):
    """Each instruction is one of one task, and as many as between its events."""
    sums = collections.Counter()
    for thread in info["threads"]:
        vcpu = thread["tid"] - thread["pid"]
        ends = [state.ordinal for state in states[vcpu]] + [thread["instructions"]]
        sums[None, None] += ends[0]
        for state, end in zip(states[vcpu], ends[1:]):
            sums[state.pid, state.address] += end - state.ordinal
    shown = collections.Counter()
    for task in info["tasks"]:
        shown[task.get("pid"), task.get("address")] += task["instructions"]
    total = sum(thread["instructions"] for thread in info["threads"])
    if total != info["instructions"] or shown.total() != total:
        return "tasks have %d instructions, vCPUs %d, all %d" % (
            shown.total(), total, info["instructions"])
    for key in shown.keys() | sums.keys():
        if shown[key] != sums[key]:
            return "task %r has %d instructions, by its events %d" % (key, shown[key], sums[key])
    return None


def without_switch(seen, begin):
    drop = next(i for i in range(max(begin, 1), len(seen)) if seen[i].address != seen[i - 1].address)
    return seen[:drop] + seen[drop + 1:]


def altered(states):
    """Faults that a trace could have, some of each, and which comparisons notice one."""
    late = {vcpu: [a._replace(ordinal=b.ordinal) for a, b in zip(seen, seen[1:])]
            for vcpu, seen in states.items()}
    old = {vcpu: [seen[0], *(b for a, b in zip(seen, seen[1:]) if a.address != b.address)]
           for vcpu, seen in states.items()}
    other = {vcpu: states[1 - vcpu] for vcpu in states}
    # The scheduler's log ends before the trace does.
    less = [{vcpu: without_switch(seen, len(seen) * eighth // 8) for vcpu, seen in states.items()}
            for eighth in range(1, 7)]
    return [("later switches", [late], "place"), ("no new names", [old], "place"),
            ("another vCPU", [other], "place"), ("another vCPU", [other], "switch"),
            ("a missing switch", less, "switch")]


def of_part(tools, target, command):
    """With nothing else recorded than what the program says, the events of tasks stay."""
    trace, console = record(tools, target, command, "--events", "exec,task", "--range", RANGE)
    first = info_of(tools, trace)["processes"][0]["pid"]
    states = states_of(tools, trace, first)
    places = list(places_of(tools, trace, first))
    wrong = (wrong_place(states, places) or wrong_line(states, places) or
             wrong_switch(states, switches_of_log(console)))
    if wrong or len(places) < PLACES:
        raise Failure("with --range: %s" % (wrong or "%d places" % len(places)))
    common.drop_file(trace)
    return ", %d places of a part" % len(places)


def code_of(tools, trace, *options):
    """By vCPU, the instructions that ran."""
    first = info_of(tools, trace)["processes"][0]["pid"]
    code = collections.defaultdict(list)
    for line in common.dump_lines(tools, trace, "--events", "exec", "--no-disas", *options):
        o = json.loads(line)
        code[o["tid"] - first].append(o["pc"])
    return code


def of_name(tools, target, command, whole, states):
    """Recorded alone, the tasks of a name do what they did among the others."""
    sums = collections.Counter()
    for seen in states.values():
        for a, b in zip(seen, seen[1:]):
            sums[a.comm] += b.ordinal - a.ordinal
    name = next(comm for comm, n in sorted(sums.items())
                if comm.startswith("name-") and n in CHOSEN)
    trace, _ = record(tools, target, command, "--events", "exec", "--task", name)
    code = code_of(tools, trace)
    n = sum(map(len, code.values()))
    if code != code_of(tools, whole, "--task", name) or n not in CHOSEN:
        raise Failure("with --task=%s other instructions ran; %d were recorded" % (name, n))
    common.drop_file(trace)
    return ", %d instructions of one name" % n


def of_places(tools, target, command):
    """Two vCPUs are at places where recording starts and stops at one time.  An interrupt may
    be taken instead of the instruction at the place."""
    start, stop = AT + 4, AT + 4 * (NUMBERS - 1)
    trace, _ = record(tools, target, command, "--events", "exec,int", "--start-at",
                      "0x%x-0x%x" % (start, stop), "--stop-at", "0x%x" % AT)
    first = {}  # by vCPU
    for line in common.dump_lines(tools, trace, "--events", "exec,int", "--no-disas", "--to", "1000"):
        o = json.loads(line)
        first.setdefault(o["tid"], o)
    if not any(start <= int(o["pc"], 16) <= stop for o in first.values()):
        raise Failure("recording does not start where it should: %r" % first)
    common.drop_file(trace)


def without_names(states):
    return {vcpu: [state._replace(comm="") for state in seen] for vcpu, seen in states.items()}


def numbers_only(log):
    return {vcpu: [Switch(*((pid, "") for pid, _ in switch)) for switch in switches]
            for vcpu, switches in log.items()}


def agree(tools, target, trace, console, named=True):
    """The trace of a run and what that has printed: the states, and a sentence.
    named: no task renames another one while that runs."""
    info = info_of(tools, trace)
    first = info["processes"][0]["pid"]
    states = states_of(tools, trace, first)
    places = list(places_of(tools, trace, first))
    log = switches_of_log(console)
    if not named:
        log = numbers_only(log)
    differences = {"place": lambda s: wrong_place(s, places),
                   "switch": lambda s: wrong_switch(s if named else without_names(s), log)}
    wrong = [differences["place"](states), differences["switch"](states),
             wrong_line(states, places), wrong_sum(info, states)]
    if target == "aarch64-softmmu":  # CONFIG_PID_IN_CONTEXTIDR
        wrong.append(wrong_context(states, contexts_of(tools, trace, first)))
    if any(wrong):
        raise Failure("\n  ".join(filter(None, wrong)))
    switches = sum(map(len, log.values()))
    if len(places) < PLACES or switches < SWITCHES or len(log) < 2:
        raise Failure("%d places and %d switches of %d vCPUs" % (len(places), switches, len(log)))
    for what, faulty, witness in altered(states):
        if not any(map(differences[witness], faulty)):
            raise Failure("%s: no %s is wrong" % (what, witness))
    return states, "%d places, %d switches, %d tasks, %d instructions" % (
        len(places), switches, len(info["tasks"]), info["instructions"])


def same_run(tools, target, clock):
    """A run that no other one repeats."""
    trace, console = record(tools, target, command_of(tools, target, clock), "--events", "exec,ctx,task")
    _, said = agree(tools, target, trace, console, named=False)
    common.drop_file(trace)
    return said


def tasks(tools, target, full):
    command = command_of(tools, target)
    trace, console = record(tools, target, command, "--events", "exec,ctx,task")
    states, said = agree(tools, target, trace, console)
    if common.plain(command).stdout != console:
        raise Failure("unrecorded, the scheduler's log differs")
    said += of_name(tools, target, command, trace, states)
    common.drop_file(trace)
    if full or target == "aarch64-softmmu":
        of_places(tools, target, command)
        said += of_part(tools, target, command)
    return said


RUN = {"tasks": tasks}
