#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Do the comparers notice what they must?  Invented logs and traces, no QEMU.

Each case is a pair of records and whether they are the same; then every line of
an exact pair is left out, doubled or changed, and the comparer must notice.
"""
import json
import subprocess
import sys
import tempfile

import bytecheck
import choices
import maps
import strace
import switches
from common import Failure, TARGETS


def block(pc, *accesses, cs_base=0, cflags=0x201, code="e1a00000"):
    """A Trace line with its accesses: (addr, bytes, 'load' or 'store'[, value])."""
    lines = ["0x%08x:  %s  text" % (pc, code),
             "Trace 0: 0x7f00 [%08x/%016x/00000000/%08x] sym" % (cs_base, pc, cflags)]
    return lines + ["0x%x,sym,0x%x,0x0,%d,%s,0x%0*x" % (pc, a, 8 * n, kind, 2 * n,
                                                        value[0] if value else 0)
                    for a, n, kind, *value in accesses]


def trace(*instructions):
    """tracedump --json for [(pc, access..)]."""
    lines = []
    for ordinal, (pc, *accesses) in enumerate(instructions):
        at = {"ordinal": ordinal, "pid": 7, "tid": 7, "pc": "0x%x" % pc}
        lines.append(json.dumps({"kind": "exec", **at}))
        lines += [json.dumps({"kind": kind, **at, "addr": "0x%x" % a, "size": n,
                              **({"value": "0x%x" % value[0]} if value else {})})
                  for a, n, kind, *value in accesses]
    return lines


L, S = (0x1000, 4, "load"), (0x2008, 8, "store")
LOG = (block(0x100) + block(0x104, L) + block(0x108, S, L) + block(0x104, L) + block(0x10c))
SAME = trace((0x100,), (0x104, L), (0x108, S, L), (0x104, L), (0x10c,))
WIDE = (0x3000, 16, "load")
HALVES = [(0x3000, 8, "load"), (0x3008, 8, "load")]
MVC = "d203 1000 2000"
PARALLEL, ALONE = 0x8201, 0x0601

CASES = [
    ("same", "arm", LOG, SAME, True),
    ("shorter trace", "arm", LOG, SAME[:-1], False),
    ("shorter log", "arm", LOG[:-2], SAME, False),
    ("other pc", "arm", LOG, trace((0x100,), (0x104, L), (0x10a, S, L), (0x104, L), (0x10c,)), False),
    ("order of accesses", "arm", LOG,
     trace((0x100,), (0x104, L), (0x108, L, S), (0x104, L), (0x10c,)), False),
    ("load for store", "arm", block(0x100, S), trace((0x100, (0x2008, 8, "load"))), False),
    ("size", "arm", block(0x100, S), trace((0x100, (0x2008, 4, "store"))), False),
    ("halves", "arm", block(0x100, WIDE), trace((0x100, *HALVES)), True),
    ("halves the other way", "arm", block(0x100, *HALVES), trace((0x100, WIDE)), True),
    ("one half", "arm", block(0x100, WIDE), trace((0x100, HALVES[0])), False),
    ("halves of 8", "arm", block(0x100, S), trace((0x100, (0x2008, 4, "store"), (0x200c, 4, "store"))),
     False),
    ("stopped", "arm",
     block(0x100) + block(0x104) + ["Stopped execution of TB chain before 0x7f00 [0104] sym"]
     + block(0x104, L), trace((0x100,), (0x104, L)), True),
    ("atomic", "arm", block(0x100, L, cflags=PARALLEL) + block(0x100, L, S, cflags=ALONE),
     trace((0x100, L, S)), True),
    ("atomic, kept twice", "arm", block(0x100, cflags=PARALLEL) + block(0x100, L, S, cflags=ALONE),
     trace((0x100,), (0x100, L, S)), False),
    ("execute", "s390x", block(0x100, code="4440 5000") + block(0x100, L, cs_base=5, code=MVC)
     + block(0x104), trace((0x100, L), (0x104,)), True),
    ("execute twice", "s390x", block(0x100, code="4440 5000")
     + block(0x100, L, cs_base=5, code=MVC), trace((0x100,), (0x100, L)), False),
    ("blind", "s390x", block(0x100, code=MVC) + block(0x106),
     trace((0x100, (0x10, 4, "load"), (0x20, 4, "store")), (0x106,)), True),
    ("blind, a byte too few", "s390x", block(0x100, code=MVC) + block(0x106),
     trace((0x100, (0x10, 3, "load"), (0x20, 4, "store")), (0x106,)), False),
    ("blind, nothing", "s390x", block(0x100, code=MVC) + block(0x106), trace((0x100,), (0x106,)), False),
    ("blind, a fault", "s390x", block(0x100, code=MVC) + block(0x900), trace((0x100,), (0x900,)), True),
    ("blind, not what the plugin saw", "s390x", block(0x100, (0x30, 1, "store"), code=MVC)
     + block(0x106), trace((0x100, (0x10, 4, "load"), (0x20, 4, "store")), (0x106,)), False),
]

NOP = "d503201f"
STREX, CASAL = "e1821f93", "88e1fc62"
WHOLE = (0x3000, 16, "load", 0x1112131415161718_2122232425262728)
PARTS = [(0x3000, 8, "load", 0x2122232425262728), (0x3008, 8, "load", 0x1112131415161718)]
V = (0x1000, 4, "load", 0x01020304)
RMW = (0x4000, 4, "load", 0x10)
VALUES = [
    ("value", "arm", [], block(0x100, V), trace((0x100, V)), True),
    ("other value", "arm", [], block(0x100, V), trace((0x100, (*V[:3], 0x01020305))), False),
    ("no value", "arm", [], block(0x100, V), trace((0x100, V[:3])), False),
    ("bytes of a load swapped", "mips", [], block(0x100, V), trace((0x100, (*V[:3], 0x04030201))), False),
    ("allowed where the host swaps them", "mips", ["--swapped-loads"], block(0x100, V),
     trace((0x100, (*V[:3], 0x04030201))), True),
    ("but not of a store", "mips", ["--swapped-loads"], block(0x100, (0x1000, 4, "store", 1)),
     trace((0x100, (0x1000, 4, "store", 0x01000000))), False),
    ("the operand of an addition", "x86_64", [], block(0x100, RMW, (*RMW[:2], "store", 5)),
     trace((0x100, RMW, (*RMW[:2], "store", 0x15))), True),
    ("a sum that is none", "x86_64", [], block(0x100, RMW, (*RMW[:2], "store", 5)),
     trace((0x100, RMW, (*RMW[:2], "store", 0x17))), False),
    ("no exchange", "x86_64", [], block(0x100, RMW, (*RMW[:2], "store", 5)),
     trace((0x100, RMW, (*RMW[:2], "store", 0x10))), True),
    ("a load and a store elsewhere", "x86_64", [], block(0x100, RMW, (0x4008, 4, "store", 5)),
     trace((0x100, RMW, (0x4008, 4, "store", 0x15))), False),
    ("the new value as loaded", "x86_64", [],
     block(0x100, (*RMW[:3], 0x15), (*RMW[:2], "store", 5)),
     trace((0x100, RMW, (*RMW[:2], "store", 0x15))), True),
    ("another value as loaded", "x86_64", [],
     block(0x100, (*RMW[:3], 0x16), (*RMW[:2], "store", 5)),
     trace((0x100, RMW, (*RMW[:2], "store", 0x15))), False),
    ("a big-endian exchange", "mips", [], block(0x100, RMW, (*RMW[:2], "store", 5)),
     trace((0x100, (*RMW[:3], 0x10000000), (*RMW[:2], "store", 5))), True),
    ("a little-endian one", "mipsel", [], block(0x100, RMW, (*RMW[:2], "store", 5)),
     trace((0x100, (*RMW[:3], 0x10000000), (*RMW[:2], "store", 5))), False),
    ("a failed conditional store", "arm", [], block(0x100, V, (*V[:2], "store", V[3]), code=STREX),
     trace((0x100, V)), True),
    ("one that stores something else", "arm", [],
     block(0x100, V, (*V[:2], "store", 1), code=STREX), trace((0x100, V)), False),
    ("of another instruction", "arm", [], block(0x100, V, (*V[:2], "store", V[3])),
     trace((0x100, V)), False),
    ("one that failed, with its store", "x86_64", [],
     block(0x100, RMW, (*RMW[:2], "store", RMW[3]), code="f0 0f b1 0b"), trace((0x100, RMW)), False),
    ("a failed compare-and-swap in parallel", "aarch64", [],
     block(0x100, RMW, (*RMW[:2], "store", 5), code=CASAL, cflags=PARALLEL),
     trace((0x100, RMW)), True),
    ("a big-endian one", "s390x", [],
     block(0x100, RMW, (*RMW[:2], "store", 5), code="ba35 c000", cflags=PARALLEL),
     trace((0x100, (*RMW[:3], 0x10000000))), True),
    ("elsewhere", "aarch64", [],
     block(0x100, RMW, (0x4008, 4, "store", 5), code=CASAL, cflags=PARALLEL),
     trace((0x100, RMW)), False),
    ("two halves", "aarch64", [], block(0x100, WHOLE, code=NOP), trace((0x100, *PARTS)), True),
    ("of a big-endian target", "mips", [], block(0x100, WHOLE), trace((0x100, *PARTS)), False),
    ("one of 16 bytes", "aarch64", [], block(0x100, *PARTS, code=NOP), trace((0x100, WHOLE)), True),
    ("its high half", "aarch64", [], block(0x100, WHOLE, code=NOP),
     trace((0x100, (*WHOLE[:3], WHOLE[3] ^ 1 << 100))), False),
    ("blind, the same", "s390x", [], block(0x100, (0x12, 2, "load", 0x0304), code=MVC)
     + block(0x106), trace((0x100, (0x10, 4, "load", 0x01020304), (0x20, 4, "store", 0x01020304)),
                           (0x106,)), True),
    ("blind, other bytes", "s390x", [], block(0x100, (0x12, 2, "load", 0x0305), code=MVC)
     + block(0x106), trace((0x100, (0x10, 4, "load", 0x01020304), (0x20, 4, "store", 0x01020304)),
                           (0x106,)), False),
]

CODE = ["i 100 4 -", "i 104 4 d 110", "i 108 4 -", "i 110 4 a", "i 200 4 D 300", "i 204 4 -",
        "i 300 4 -v", "h 800", "i 800 4 a", "w 2008"]
FLOWS = [
    ("straight and branch", trace((0x100,), (0x104,), (0x110,), (0x100,), (0x104,), (0x108,)), True),
    ("a jump from nowhere", trace((0x100,), (0x108,)), False),
    ("a branch to another place", trace((0x104,), (0x10c,)), False),
    ("a handler", trace((0x100,), (0x800,), (0x100,)), True),
    ("a delay slot", trace((0x200,), (0x204,), (0x300,)), True),
    ("an annulled slot", trace((0x200,), (0x208,)), True),
    ("before the delay slot", trace((0x200,), (0x300,)), False),
    ("other accesses", trace((0x100, L), (0x104,), (0x110,), (0x100,), (0x104,)), False),
    ("other accesses, interrupted", trace((0x100, L), (0x104,), (0x110,), (0x100,), (0x800,)), True),
    ("other accesses, conditional", trace((0x110,), (0x300, L), (0x304,), (0x300,), (0x304,)), True),
    ("a gap", [line for line in trace((0x100,), (0x104,), (0x108,))][::2], False),
]


STRACE = """10 brk(NULL) = 0x00001000
10 openat(AT_FDCWD,"a "quoted" name",O_RDONLY) = -1 errno=2 (No such file or directory)
10 write(1,0x40,10) = 10
10 kill(10,SIGUSR1) = 0
--- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER, si_pid=10, si_uid=0} ---
10 rt_sigreturn(0x10) = -1 errno=513 (Successful exit from sigreturn)
10 mmap2(NULL,4096,PROT_READ,MAP_PRIVATE,-1,0) = 0x40000000
10 Unknown syscall 9999
10 exit_group(3)
"""


def call(name, args, text=None, tid=20, **more):
    return {"kind": "syscall", "ordinal": 1, "pid": 20, "tid": tid, "nr": 1, "name": name,
            "args": args, "text": text or ["?"] * len(args), **more}


def calls():
    return [call("brk", [0], result=0x1000),
            call("openat", [0xffffff9c, 0x50, 0], ["AT_FDCWD", '"a \\"quoted\\" name"', "O_RDONLY"],
                 result=-1, errno="ENOENT", errno_number=2),
            call("write", [1, 0x40, 10], result=10),
            call("kill", [20, 10], result=0),
            {"kind": "signal", "op": "deliver", "signal": "SIGUSR1"},
            call("rt_sigreturn", [16]),
            call("mmap2", [0, 4096, 1, 2, 0xffffffff, 0], result=0x40000000),
            call("?", [], result=-1, errno="ENOSYS", errno_number=38) | {"nr": 9999},
            call("exit_group", [3])]


def without(i):
    return [c for k, c in enumerate(calls()) if k != i]


def changed(i, **members):
    return [{**c, **members} if k == i else c for k, c in enumerate(calls())]


SYSTEM = ([("as it is", calls(), True)] + [("call %d missing" % i, without(i), False) for i in range(9)]
          + [("a result", changed(2, result=9), False), ("an error", changed(2, result=-1, errno="EIO",
                                                                         errno_number=5), False),
             ("another error", changed(1, errno_number=13), False),
             ("no error", changed(1, result=3, errno_number=None), False),
             ("a name", changed(0, name="sbrk"), False), ("a number", changed(7, nr=9998), False),
             ("a string", changed(1, text=["AT_FDCWD", '"b"', "0"]), False),
             ("a cut string", changed(1, text=["AT_FDCWD", '"a \\"quo"...', "0"]), True),
             ("a wrong cut string", changed(1, text=["AT_FDCWD", '"a ~"...', "0"]), False),
             ("an argument", changed(2, args=[1, 0x41, 10]), False),
             ("a negative one", changed(6, args=[0, 4096, 1, 2, 0xfffffffe, 0]), False),
             ("another process", changed(3, args=[21, 10]), False),
             ("sigreturn returns", changed(5, result=0), False),
             ("another signal", changed(4, signal="SIGUSR2"), False)])


def same_calls(events):
    try:
        strace.compare(strace.read_strace(STRACE),
                       strace.read_trace([json.dumps(e) for e in events]), 32)
        return True
    except Failure:
        return False


MAPS = """10000-12000 r-xp 00001000 08:01 77    /bin/x
12000-13000 rw-p 00000000 00:00 0
20000-22000 ---p 00000000 00:00 0    [stack]
"""
M = {"kind": "map", "flags": "0x2"}
IMAGE = {**M, "op": "initial", "start": "0x10000", "end": "0x12000", "prot": "r-x",
         "offset": "0x1000", "path": "/bin/x", "dev": 0x801, "inode": 77}
HEAP = {**M, "op": "brk", "start": "0x12000", "end": "0x12800", "old_start": "0x12000",
        "old_end": "0x12000"}
STACK = {**M, "op": "mmap", "start": "0x1f000", "end": "0x23000", "prot": "rw-"}
CUT = [{**M, "op": "munmap", "start": "0x1f000", "end": "0x20000"},
       {**M, "op": "mremap", "start": "0x20000", "end": "0x22000", "prot": "rw-", "old_start": "0x20000",
        "old_end": "0x23000"},
       {**M, "op": "mprotect", "start": "0x20000", "end": "0x22000", "prot": "---"}]
OPEN = call("openat", [1, 2], ["AT_FDCWD", '"/proc/self/maps"'], result=3)
FOLDS = [("as it is", [IMAGE, HEAP, STACK, *CUT, OPEN], True),
         ("after the open", [IMAGE, HEAP, STACK, *CUT, OPEN, {**CUT[0], "end": "0x30000"}], True),
         ("no heap", [IMAGE, STACK, *CUT, OPEN], False),
         ("no munmap", [IMAGE, HEAP, STACK, *CUT[1:], OPEN], False),
         ("no mremap", [IMAGE, HEAP, STACK, CUT[0], CUT[2], OPEN], False),
         ("no mprotect", [IMAGE, HEAP, STACK, *CUT[:2], OPEN], False),
         ("offset", [{**IMAGE, "offset": "0"}, HEAP, STACK, *CUT, OPEN], False),
         ("path", [{**IMAGE, "path": "/bin/y"}, HEAP, STACK, *CUT, OPEN], False),
         ("inode", [{**IMAGE, "inode": 78}, HEAP, STACK, *CUT, OPEN], False),
         ("shared", [{**IMAGE, "flags": "0x1"}, HEAP, STACK, *CUT, OPEN], False),
         ("one page more", [{**IMAGE, "start": "0xf000", "offset": "0"}, HEAP, STACK, *CUT, OPEN], False)]


def same_maps(events):
    guest, _ = maps.of_text(MAPS)
    return not maps.differences(guest, maps.of_trace([json.dumps(e) for e in events])[0])


def insn(pc, *accesses, ordinal=0, faulted=False):
    i = choices.Insn({"pc": hex(pc), "bytes": "90", "ordinal": ordinal, "faulted": faulted})
    i.acc = [(kind, addr, size, hex(value)) for kind, addr, size, value in accesses]
    return i


def system(kind, **members):
    return choices.System({"kind": kind, "ordinal": 0, **members})


LOADED, PID = ("load", 0x10, 4, 7), (77, 88)
PART = [system("map", start="0x1"), insn(0x100), insn(0x104, LOADED), system("syscall", result=77),
        insn(0x108, ("store", 0x10, 8, 77 << 32 | 5)), insn(0x100, faulted=True)]
PARTS = [("as it is", PART, True),
         ("the number of the process", [*PART[:3], system("syscall", result=88),
                                        insn(0x108, ("store", 0x10, 8, 88 << 32 | 5)), PART[5]], True),
         ("another value", [*PART[:2], insn(0x104, ("load", 0x10, 4, 8)), *PART[3:]], False),
         ("another address", [*PART[:2], insn(0x104, ("load", 0x14, 4, 7)), *PART[3:]], False),
         ("no access", [*PART[:2], insn(0x104), *PART[3:]], False),
         ("no fault", [*PART[:5], insn(0x100)], False),
         ("one more", PART + [insn(0x10c)], False),
         ("another result", [*PART[:3], system("syscall", result=5), *PART[4:]], False),
         ("two the other way round", [PART[0], PART[2], PART[1], *PART[3:]], False)]
PARTS += [("without number %d" % i, PART[:i] + PART[i + 1:], False) for i in range(len(PART))]


def same_part(part):
    try:
        choices.compare(PART, part, PID, "this")
        return True
    except Failure:
        return False


def gates(change=None):
    """16 threads that count to 6, paused after 4; change(events) alters what is recorded."""
    said = "".join("one 0x%x 6\ntwo 0x%x 6\n" % (0x1000 + 8 * t, 0x2000 + 8 * t) for t in range(16))
    events = []
    for t in range(16):
        def store(name, n):
            events.append({"kind": "store", "tid": t, "addr": hex((0x1000 if name == "one" else 0x2000)
                                                                  + 8 * t), "value": hex(n)})

        for n in (1, 2, 3):
            store("one", n)
            store("two", n)
        store("one", 4)
        events.append({"kind": "gate", "tid": t, "open": False, "why": "outside"})
        events.append({"kind": "gate", "tid": t, "open": True, "why": "outside"})
        store("two", 5)
        store("one", 6)
        store("two", 6)
    if change:
        change(events)
    try:
        switches.check(events, switches.counters(said))
        return True
    except Failure:
        return False


GATES = [("as it is", None, True),
         ("a number missing", lambda e: e.pop(2), False),
         ("a store twice", lambda e: e.insert(2, e[2]), False),
         ("a pause too few", lambda e: e.pop(7), False),
         ("both gates gone", lambda e: (e.pop(7), e.pop(7)), False),
         ("a store while paused", lambda e: e.insert(8, {**e[6], "value": "0x5"}), False),
         ("a store that nobody made", lambda e: e.insert(2, {**e[2], "addr": "0x3000"}), False),
         ("into another thread's place", lambda e: e.insert(2, {**e[2], "tid": 5}), False),
         ("more than it counted", lambda e: e.append({**e[-1], "value": "0x7"}), False),
         ("unselected but recorded", lambda e: e.insert(0, {"kind": "select", "tid": 0,
                                                            "text": "x,function=one"}), False),
         ("a thread gone", lambda e: [e.remove(x) for x in e[:] if x["tid"] == 3], False)]


def is_accepted(program, options, **files):
    """Writes the records to files and runs the program."""
    command = [program, *options]
    handles = []
    for name, lines in files.items():
        f = tempfile.NamedTemporaryFile("w", suffix="." + name)
        f.write("".join(line + "\n" for line in lines))
        f.flush()
        handles.append(f)
        command += ["--" + name, f.name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError("%s: status %d: %s" % (program, done.returncode, done.stderr))
    return done.returncode == 0


def main():
    compare, flow = sys.argv[1:3]

    def of(target):
        return ["--target", target, *["--big-endian"][:TARGETS[target].big_endian]]

    bad = count = 0

    def check(name, got, expected):
        nonlocal bad, count
        count += 1
        if got != expected:
            bad += 1
            print("%s: the comparer says %s" % (name, "equal" if got else "different"))

    for name, target, log, lines, same in CASES:
        check(name, is_accepted(compare, of(target), witness=log, trace=lines), same)
    for i in range(len(SAME)):
        check("without line %d" % i, is_accepted(compare, ["--target", "arm"], witness=LOG,
                                                 trace=SAME[:i] + SAME[i + 1:]), False)
        check("line %d twice" % i, is_accepted(compare, ["--target", "arm"], witness=LOG,
                                               trace=SAME[:i + 1] + SAME[i:]), False)
    for name, target, options, log, lines, same in VALUES:
        check("values: " + name, is_accepted(compare, ["--values", *of(target), *options],
                                             witness=log, trace=lines), same)
    for name, lines, good in FLOWS:
        check("flow: " + name, is_accepted(flow, [], code=CODE, trace=lines), good)
    for name, events, good in SYSTEM:
        check("system calls: " + name, same_calls(events), good)
    for name, events, good in FOLDS:
        check("mappings: " + name, same_maps(events), good)
    for name, part, good in PARTS:
        check("parts: " + name, same_part(part), good)
    for name, change, good in GATES:
        check("gates: " + name, gates(change), good)
    said, _ = bytecheck.read_statement("X 0x100\nL 0x10 4\nS 0x20 2\ns 0x22 2\nF 0x100\n")
    for name, accesses, good in (
            ("bytes", [(0x10, 4, "load"), (0x20, 2, "store")], True),
            ("bytes in pieces", [(0x12, 2, "load"), (0x10, 2, "load"), (0x20, 4, "store")], True),
            ("a byte too few", [(0x10, 3, "load"), (0x20, 2, "store")], False),
            ("a byte too many", [(0x10, 5, "load"), (0x20, 2, "store")], False)):
        seen = bytecheck.read_trace(trace((0x100, *accesses), (0x100, L)), said)
        check(name, not bytecheck.compare(said, seen), good)
    print("%d passed, %d failed" % (count - bad, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
