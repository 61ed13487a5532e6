# SPDX-License-Identifier: MIT
"""Recording that is switched while the program runs.

switch     the program pauses and resumes itself; a second run, which makes marks at
           the same places instead, is recorded whole and says what is to be told
gate       16 threads count in memory while their recording is paused and resumed, or
           other things are chosen, hundreds of times, or while they do that themselves:
           what they counted says whether an event is missing or invented
"""
import json
import os
import random
import socket
import subprocess
import tempfile
import time

import common
from common import Failure
from choices import Insn, Telling, always

EVENTS = ("--events", "exec,mem,val,sys,map,thr,time", "--data-limit", "64")


def run_switch(tools, target, name, guest, folder):
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "switch-%s-%s.ctr" % (target, name))
    tellings = []
    for how in ("remain", "switch"):
        run = common.record(tools, trace, guest + [how], environment, folder, options=EVENTS)
        if run.status:
            raise Failure("%s: exit status %d: %s" % (how, run.status, run.stderr[-300:]))
        tellings.append((Telling(tools, trace), run.stdout.decode()))
    check_plain(guest + ["switch"], environment, folder, tellings[1][1])
    (whole, said), (part, said_too) = tellings
    if said != said_too:
        raise Failure("it says %r, and when it switches %r" % (said, said_too))
    if said.count("status 1") != 2:
        raise Failure("it was told not to be recorded: %s" % said)
    check_marks(whole, part, said)
    return check_parts(whole, part)


def check_plain(guest, environment, folder, said):
    """Without a recorder the calls do nothing at all."""
    run = common.plain(guest, environment, folder)
    expected = said.replace("status 1", "status -1")
    if run.status or run.stdout.decode() != expected:
        raise Failure("unrecorded it says %r (%d) instead of %r" % (run.stdout, run.status,
                                                                   expected))


def of(marks, kind):
    return [m for m in marks if m["kind"] == kind]


def check_marks(whole, part, said):
    texts = [("phase", n) for n in range(10)], [("inside", 3 * n) for n in range(10)]
    wanted = [t for pair in zip(*texts) for t in pair]
    for telling in (whole, part):
        told = [(m["text"], int(m["value"], 16)) for m in of(telling.marks, "mark")
                if m["text"] != "here"]
        if told != wanted:
            raise Failure("marks %s instead of %s" % (told, wanted))
        if any(m["source"] != "guest" for m in of(telling.marks, "mark")):
            raise Failure("a mark that the guest did not make")
        labels = []
        for m in of(telling.marks, "label"):
            if m["op"] == "set":
                labels.append("label %s %d %s %s" % (m["start"][2:], m["size"], m["type"],
                                                     m["name"]))
            else:
                labels.append("unlabel %s" % m["start"][2:])
        if labels != [line for line in said.splitlines() if "label" in line]:
            raise Failure("labels %s; the program says %s" % (labels, said))


def check_parts(whole, part):
    """From the mark "here" 0 up to "here" 1 nothing is told."""
    here = [(m["ordinal"], int(m["value"], 16)) for m in of(whole.marks, "mark")
            if m["text"] == "here"]
    if [v for _, v in here] != [0, 1] * 10:
        raise Failure("marks of the whole: %s" % here)
    closed = [(here[i][0], here[i + 1][0]) for i in range(0, 20, 2)]
    expected = []
    for i in whole.items:
        inside = any(a <= i.ordinal < b for a, b in closed)
        if not inside or always(i):
            expected.append(i)
    begin = of(whole.marks, "mark")[0]["ordinal"]
    a = [i for i in expected if isinstance(i, Insn) and i.ordinal >= begin]
    b = [i for i in part.items if isinstance(i, Insn)
         and i.ordinal >= of(part.marks, "mark")[0]["ordinal"]]
    for n, (x, y) in enumerate(zip(a, b)):
        if (x.pc, x.code, [v[:3] for v in x.acc]) != (y.pc, y.code, [v[:3] for v in y.acc]):
            raise Failure("instruction %d behind the first mark: it must tell %s and tells %s"
                          % (n, x, y))
    if len(a) != len(b):
        raise Failure("%d instructions behind the first mark must be told, %d are"
                      % (len(a), len(b)))
    gates = [(g["open"], g["why"]) for g in part.gates]
    if gates != [(False, "guest"), (True, "guest")] * 10:
        raise Failure("gates: %s" % gates)
    # told at the place where recording ends and begins
    ordinals, gone = [], 0
    for start, end in closed:
        ordinals += [start - gone] * 2
        gone += end - start
    behind = part.gates[0]["ordinal"] - ordinals[0]  # what it did before the first mark
    if [g["ordinal"] - behind for g in part.gates] != ordinals:
        raise Failure("gates at %s instead of %s" % ([g["ordinal"] for g in part.gates], ordinals))
    hidden = sum(end - start for start, end in closed)
    return "%d instructions, %d hidden" % (len(whole.insns()), hidden)


# ---- threads --------------------------------------------------------------------

class Control:
    """The recording's socket: one request is one connection."""

    def __init__(self, path):
        self.path = path

    def ask(self, request):
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(self.path)
            s.sendall(request.encode() + b"\n")
            s.shutdown(socket.SHUT_WR)
            answer = b""
            while True:
                more = s.recv(4096)
                if not more:
                    break
                answer += more
        finally:
            s.close()
        if not answer.startswith(b"ok\0"):
            raise Failure("%s: %s" % (request, answer))
        return answer


def gate_record(tools, target, guest, folder, options, act):
    """Record gates, do act(control) while it runs, end it; returns (trace, what it said)."""
    trace = os.path.join(tools.work, "gate-%s.ctr" % target)
    path = trace + ".ctl"
    command = [tools.program("cannoli-record"), "-q", "-o", trace, "--events", "exec,mem,val",
               *options, "--control=" + path, "--", *guest]
    common.remove(path)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=err, cwd=folder,
                             env={})
        try:
            deadline = time.monotonic() + common.PATIENCE
            while not os.path.exists(path) and p.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(0.3)
            act(Control(path))
            p.stdin.close()
            status = p.wait(timeout=common.PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure("the recording does not end")
        finally:
            if p.poll() is None:
                p.kill()
                p.wait()
        out.seek(0)
        err.seek(0)
        said, wrong = out.read().decode(), err.read().decode()
    if status:
        raise Failure("status %d: %s" % (status, wrong[-500:]))
    return trace, said


def counters(said):
    """{address: (name, count)}, 16 of each."""
    got = {}
    for line in said.splitlines():
        word = line.split()
        got[int(word[1], 16)] = (word[0], int(word[2]))
    if len(got) != 32:
        raise Failure("it said %r" % said)
    return got


class Thread:
    def __init__(self):
        self.open = True
        self.last = {"one": 0, "two": 0}  # what was stored last
        self.broken = {"one": True, "two": True}  # may numbers be missing now?
        self.only_one = False
        self.address = {}
        self.stores = self.flips = 0


def told(tools, trace, spans):
    """Gates, selections and the stores to these addresses, in each thread's order."""
    events = []
    for kinds, rank in (("--events=mark",), 0), (("--events=store,val", "--addr=" + spans), 1):
        done = subprocess.run([tools.program("tracedump"), "--json", "--no-disas", "--no-modules",
                               *kinds, trace], capture_output=True, text=True)
        if done.returncode:
            raise Failure("tracedump: status %d: %s" % (done.returncode, done.stderr))
        for n, line in enumerate(done.stdout.splitlines()):
            e = json.loads(line)
            # what the system did at an ordinal comes before its instruction
            events.append((e["tid"], e["ordinal"], rank, n, e))
    events.sort(key=lambda e: e[:4])
    return [e[4] for e in events]


def follow(tools, trace, said, two_hidden=False):
    known = counters(said)
    events = told(tools, trace, ",".join("0x%x+4" % a for a in known))
    return check(events, known, two_hidden), known


def check(events, known, two_hidden=False):
    """Every thread's stores, gates and selections against the counters."""
    threads = {}
    for e in events:
        t = threads.setdefault(e["tid"], Thread())
        if e["kind"] == "gate":
            if e["open"] == t.open and (t.stores or t.flips):
                raise Failure("thread %d: a gate that is %s already: %s"
                              % (e["tid"], "open" if t.open else "closed", e))
            t.open = e["open"]
            t.flips += 1
            t.broken = {"one": not two_hidden, "two": True}
        elif e["kind"] == "select":
            t.only_one = "function=one" in e["text"]
            t.flips += 1
            if not t.only_one:
                t.broken["two"] = True
        elif e["kind"] == "store":
            addr, value = int(e["addr"], 16), int(e["value"], 16)
            if addr not in known or value == 0:
                raise Failure("a store nobody made: %s" % e)
            name, count = known[addr]
            if not t.open:
                raise Failure("thread %d: a store while it is paused: %s" % (e["tid"], e))
            if name == "two" and (t.only_one or two_hidden):
                raise Failure("thread %d: two() is not to be told: %s" % (e["tid"], e))
            if t.address.setdefault(name, addr) != addr:
                raise Failure("thread %d stores into another one's place: %s" % (e["tid"], e))
            last = t.last[name]
            if value != last + 1 and not (t.broken[name] and value > last):
                raise Failure("thread %d: %s stores %d behind %d" % (e["tid"], name, value, last))
            if value > count:
                raise Failure("thread %d: %s stores %d and counted to %d"
                              % (e["tid"], name, value, count))
            if name == "two" and not t.broken["two"] and not t.broken["one"] and \
                    value != t.last["one"]:
                raise Failure("thread %d: two stores %d behind one's %d"
                              % (e["tid"], value, t.last["one"]))
            t.last[name] = value
            t.broken[name] = False
            t.stores += 1
    counting = [t for t in threads.values() if t.address]
    if len(counting) != 16:
        raise Failure("%d threads store, not 16" % len(counting))
    return counting


def summary(threads, known, often):
    told_of = {name: sum(t.last[name] > 0 for t in threads) for name in ("one", "two")}
    return "%d times; %d stores of %d; %d flips seen; threads that tell %s" % (
        often, sum(t.stores for t in threads), sum(n for _, n in known.values()),
        sum(t.flips for t in threads), told_of)


def at_random(control, times, one, other, longest):
    rng = random.Random(1)
    for _ in range(times):
        control.ask(one)
        time.sleep(rng.random() * longest)
        control.ask(other)
        time.sleep(rng.random() * longest)


def run_gate(tools, target, guest, folder, full):
    """Paused from outside, chosen anew from outside, and paused by themselves."""
    often = 1000
    said = []
    options = ("--function=one", "--function=two")
    trace, text = gate_record(tools, target, guest, folder, options, lambda c: at_random(
        c, often, "pause", "resume", 0.002))
    threads, known = follow(tools, trace, text)
    if sum(t.flips for t in threads) < often:
        raise Failure("paused %d times, the threads tell of %d" % (
            often, sum(t.flips for t in threads)))
    said.append("paused " + summary(threads, known, often))
    # one() belongs to each choice: of it nothing may be missing at all
    library = os.path.join(tools.build, "lib", "cannoli", "libcannoli-filter.so")
    times = often if full else 250
    trace, text = gate_record(tools, target, guest, folder, (), lambda c: at_random(
        c, times, "load %s,function=one" % library, "unload %s" % library, 0.002))
    threads, known = follow(tools, trace, text, two_hidden=False)
    for t in threads:
        name, count = known[t.address["one"]]
        if t.last["one"] != count:
            raise Failure("%s counted to %d, the trace to %d" % (name, count, t.last["one"]))
    said.append("chosen anew " + summary(threads, known, times))
    trace, text = gate_record(tools, target, guest + [str(often)], folder, options,
                              lambda c: None)
    threads, known = follow(tools, trace, text, two_hidden=True)
    if any(t.last["one"] != often for t in threads):
        raise Failure("one() was called %d times, told are %s" % (
            often, [t.last["one"] for t in threads]))
    said.append("by themselves " + summary(threads, known, often))
    common.remove(trace)
    return "; ".join(said)
