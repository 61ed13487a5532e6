# SPDX-License-Identifier: MIT
"""Recording that is switched while the program runs.

switch     the program pauses and resumes itself; a second run, which makes marks at
           the same places instead, is recorded whole and shows what must be recorded
gate       16 threads count in memory while their recording is paused and resumed, or
           the selection changes, hundreds of times, or while they do that themselves:
           their counts show whether an event is missing or invented
"""
import json
import os
import random
import socket
import subprocess
import tempfile
import time

import common
from common import Failure, NOTHING
from choices import Insn, Recording, always

EVENTS = ("--events", "exec,mem,val,sys,map,thr,time", "--data-limit", "64")


def run_switch(tools, target, name, guest, folder):
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "switch-%s-%s.ctr" % (target, name))
    recordings = []
    for how in ("remain", "switch"):
        run = common.record(tools, trace, guest + [how], environment, folder, options=EVENTS)
        if run.status:
            raise Failure("%s: exit status %d: %s" % (how, run.status, run.stderr[-300:]))
        recordings.append((Recording(tools, trace), run.stdout.decode()))
    check_plain(guest + ["switch"], environment, folder, recordings[1][1])
    (whole, said), (part, said_too) = recordings
    if said != said_too:
        raise Failure("it prints %r, and when it switches %r" % (said, said_too))
    if said.count("status 1") != 2:
        raise Failure("cannoli_status said that it is not recorded: %s" % said)
    check_marks(whole, part, said)
    return check_parts(whole, part)


def check_plain(guest, environment, folder, said):
    """Without a recorder the calls have no effect."""
    run = common.plain(guest, environment, folder)
    expected = said.replace("status 1", "status -1")
    if run.status or run.stdout.decode() != expected:
        raise Failure("unrecorded it prints %r (%d) instead of %r" % (run.stdout, run.status,
                                                                   expected))


def of(marks, kind):
    return [m for m in marks if m["kind"] == kind]


def check_marks(whole, part, said):
    texts = [("phase", n) for n in range(10)], [("inside", 3 * n) for n in range(10)]
    wanted = [t for pair in zip(*texts) for t in pair]
    for recording in (whole, part):
        found = [(m["text"], int(m["value"], 16)) for m in of(recording.marks, "mark")
                 if m["text"] != "here"]
        if found != wanted:
            raise Failure("marks %s instead of %s" % (found, wanted))
        if any(m["source"] != "guest" for m in of(recording.marks, "mark")):
            raise Failure("a mark that the guest did not make")
        labels = []
        for m in of(recording.marks, "label"):
            if m["op"] == "set":
                labels.append("label %s %d %s %s" % (m["start"][2:], m["size"], m["type"],
                                                     m["name"]))
            else:
                labels.append("unlabel %s" % m["start"][2:])
        if labels != [line for line in said.splitlines() if "label" in line]:
            raise Failure("labels %s; the program reports %s" % (labels, said))


def check_parts(whole, part):
    """From the mark "here" 0 up to "here" 1 nothing is recorded."""
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
            raise Failure("instruction %d after the first mark: recorded must be %s, not %s"
                          % (n, x, y))
    if len(a) != len(b):
        raise Failure("%d instructions after the first mark must be recorded, %d are"
                      % (len(a), len(b)))
    gates = [(g["open"], g["why"]) for g in part.gates]
    if gates != [(False, "guest"), (True, "guest")] * 10:
        raise Failure("gates: %s" % gates)
    # gates are recorded at the place where recording ends and begins
    ordinals, gone = [], 0
    for start, end in closed:
        ordinals += [start - gone] * 2
        gone += end - start
    earlier = part.gates[0]["ordinal"] - ordinals[0]  # instructions before the first mark
    if [g["ordinal"] - earlier for g in part.gates] != ordinals:
        raise Failure("gates at %s instead of %s" % ([g["ordinal"] for g in part.gates], ordinals))
    hidden = sum(end - start for start, end in closed)
    return "%d instructions, %d hidden" % (len(whole.insns()), hidden)


# ---- threads --------------------------------------------------------------------

class Control:
    """The recording's socket: each connection is one request."""

    def __init__(self, path):
        self.path = path

    def send(self, request):
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
    """Records gates, calls act(control) while it runs, ends it; returns (trace, output)."""
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
        self.last = {"one": 0, "two": 0}  # the latest stored numbers
        self.broken = {"one": True, "two": True}  # may numbers be missing now?
        self.only_one = False
        self.address = {}
        self.stores = self.flips = 0


def gate_events(tools, trace, spans):
    """Gates, selections and the stores to these addresses, in each thread's order."""
    events = []
    for kinds, rank in (("--events=mark",), 0), (("--events=store,val", "--addr=" + spans), 1):
        done = subprocess.run([tools.program("tracedump"), "--json", "--no-disas", "--no-modules",
                               *kinds, trace], capture_output=True, text=True)
        if done.returncode not in (0, NOTHING):
            raise Failure("tracedump: status %d: %s" % (done.returncode, done.stderr))
        for n, line in enumerate(done.stdout.splitlines()):
            e = json.loads(line)
            # system events at an ordinal come before its instruction
            events.append((e["tid"], e["ordinal"], rank, n, e))
    events.sort(key=lambda e: e[:4])
    return [e[4] for e in events]


def follow(tools, trace, said, two_hidden=False):
    known = counters(said)
    events = gate_events(tools, trace, ",".join("0x%x+4" % a for a in known))
    return check(events, known, two_hidden), known


def check(events, known, two_hidden=False):
    """Compares every thread's stores, gates and selections with the counters."""
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
                raise Failure("a store that no thread made: %s" % e)
            name, count = known[addr]
            if not t.open:
                raise Failure("thread %d: a store while it is paused: %s" % (e["tid"], e))
            if name == "two" and (t.only_one or two_hidden):
                raise Failure("thread %d: two() must not be recorded: %s" % (e["tid"], e))
            if t.address.setdefault(name, addr) != addr:
                raise Failure("thread %d stores into another thread's place: %s" % (e["tid"], e))
            last = t.last[name]
            if value != last + 1 and not (t.broken[name] and value > last):
                raise Failure("thread %d: %s stores %d after %d" % (e["tid"], name, value, last))
            if value > count:
                raise Failure("thread %d: %s stores %d and counted to %d"
                              % (e["tid"], name, value, count))
            if name == "two" and not t.broken["two"] and not t.broken["one"] and \
                    value != t.last["one"]:
                raise Failure("thread %d: two stores %d after one's %d"
                              % (e["tid"], value, t.last["one"]))
            t.last[name] = value
            t.broken[name] = False
            t.stores += 1
    counting = [t for t in threads.values() if t.address]
    if len(counting) != 16:
        raise Failure("%d threads store, not 16" % len(counting))
    return counting


def summary(threads, known, often):
    recorded = {name: sum(t.last[name] > 0 for t in threads) for name in ("one", "two")}
    return "%d times; %d stores of %d; %d flips seen; threads with stores %s" % (
        often, sum(t.stores for t in threads), sum(n for _, n in known.values()),
        sum(t.flips for t in threads), recorded)


def at_random(control, times, one, other, longest):
    rng = random.Random(1)
    for _ in range(times):
        control.send(one)
        time.sleep(rng.random() * longest)
        control.send(other)
        time.sleep(rng.random() * longest)


def run_gate(tools, target, guest, folder, full):
    """Paused from outside, selected anew from outside, and paused by the threads themselves."""
    often = 1000
    said = []
    options = ("--function=one", "--function=two")
    trace, text = gate_record(tools, target, guest, folder, options, lambda c: at_random(
        c, often, "pause", "resume", 0.002))
    threads, known = follow(tools, trace, text)
    if sum(t.flips for t in threads) < often:
        raise Failure("paused %d times, the threads show %d" % (
            often, sum(t.flips for t in threads)))
    said.append("paused " + summary(threads, known, often))
    # one() belongs to each selection: none of its stores may be missing
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
        raise Failure("one() was called %d times, recorded are %s" % (
            often, [t.last["one"] for t in threads]))
    said.append("by themselves " + summary(threads, known, often))
    common.drop_file(trace)
    return "; ".join(said)
