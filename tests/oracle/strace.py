# SPDX-License-Identifier: MIT
"""System calls and signals, compared with the output of `qemu -strace'.

Two runs of the same program, so that the numbers of processes differ and time
passes differently; everything else must be equal: the order, names, results and
error numbers, and of the arguments those that QEMU prints as numbers or strings
(symbolic names and structs are QEMU's own format).
"""
import json
import os
import re
import subprocess

import common
import realprogs
from common import Failure, TARGETS

START = re.compile(r"(?:^|(?<=\))|(?<== ))(\d+) (\w+)\(")
RESULT = re.compile(r"^ = (?:-1 errno=(\d+) \(.*|(-?\d+|0x[0-9a-f]+)(?:[ ,(].*)?)$")
UNKNOWN = re.compile(r"^(\d+) Unknown syscall (\d+)$")
SIGNAL = re.compile(r"^--- (SIG\w+|\d+) \{.*---$")
# Results that depend on the time or on the program's parent.
VARYING = {"times", "getppid", "time", "sched_getaffinity"}
# Calls whose number differs between any two runs, or which may wait or not.
LEFT_OUT = {"futex", "futex_time64"}
# 32-bit targets pass 64-bit numbers in register pairs; QEMU prints them whole.
PAIRS = {"pread64": 2, "pwrite64": 2, "ftruncate64": 1, "truncate64": 1, "preadv": 3, "pwritev": 3,
         "fadvise64": 1, "fadvise64_64": 1, "arm_fadvise64_64": 1, "sync_file_range": 1,
         "fallocate": 2, "readahead": 1}
# What QEMU prints in another order or in its own words.
SYMBOLIC = {"clone", "clone3", "execve", "execveat"}
# The calls inside of socketcall(2), which QEMU names.
SOCKETCALLS = ("", "socket", "bind", "connect", "listen", "accept", "getsockname", "getpeername",
               "socketpair", "send", "recv", "sendto", "recvfrom", "shutdown", "setsockopt",
               "getsockopt", "sendmsg", "recvmsg", "accept4", "recvmmsg", "sendmmsg")
NO_RETURN = 513  # QEMU's sign of sigreturn


def split_arguments(text):
    """At the commas outside of strings and brackets; ends at the last parenthesis."""
    out, depth, quoted, part = [], 0, False, ""
    for i, c in enumerate(text):
        if c == '"' and (not quoted or i + 1 == len(text) or text[i + 1] in ",)}]"):
            quoted = not quoted
        elif not quoted and c in "{[(":
            depth += 1
        elif not quoted and c in "}])":
            if depth == 0:
                return out + [part], text[i + 1:]
            depth -= 1
        elif not quoted and depth == 0 and c == ",":
            out.append(part)
            part = ""
            continue
        part += c
    return out + [part], ""


class Call:
    def __init__(self, tid, name, args, result=None, errno=None):
        self.tid = tid
        self.name = name
        self.args = args
        self.result = result  # None: it did not return, or the result is unknown
        self.errno = errno

    def __str__(self):
        return "%s(%s) = %s%s" % (self.name, ", ".join(str(a) for a in self.args), self.result,
                                  " errno %d" % self.errno if self.errno else "")


def read_strace(text):
    """[Call or signal name] in order; calls that others interrupted lack a result."""
    out = []
    for line in text.splitlines():
        m = SIGNAL.match(line)
        if m:
            out.append(m.group(1))
            continue
        m = UNKNOWN.match(line)
        if m:
            out.append(Call(int(m.group(1)), "?" + m.group(2), []))
            continue
        while line:
            m = START.search(line)
            if not m:
                break
            args, rest = split_arguments(line[m.end():])
            r = RESULT.match(rest)
            call = Call(int(m.group(1)), m.group(2), args)
            if r and r.group(1):
                call.errno = int(r.group(1))
                call.result = -1
            elif r:
                call.result = int(r.group(2), 0)
            out.append(call)
            line = "" if r else rest
    return out


def read_trace(lines):
    """The same of tracedump --json."""
    out = []
    for line in lines:
        e = json.loads(line)
        if e["kind"] == "syscall":
            call = Call(e["tid"], e["name"], e["args"], e.get("result"), e.get("errno_number"))
            call.text = e["text"]
            call.nr = e["nr"]
            call.pid = e["pid"]
            if "result" in e and (e["result"] == -1) != ("errno" in e) and e["result"] == -1:
                raise Failure("-1 without errno: " + line)
            out.append(call)
        elif e["kind"] == "signal" and e["op"] == "deliver":
            out.append(e["signal"])
    return out


def unquoted(text):
    """A string as tracedump shows it: (its beginning, is it whole)."""
    whole = not text.endswith("...")
    text = text[1:text.rindex('"')]
    table = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"'}

    def one(m):
        if m.group(1)[0] == "x":
            return chr(int(m.group(1)[1:], 16))
        if m.group(1)[0].isdigit():
            return chr(int(m.group(1), 8))
        return table.get(m.group(1), m.group(1))
    return re.sub(r"\\(x[0-9a-f]{2}|[0-7]{1,3}|.)", one, text), whole


def same_number(text, value, bits, ids):
    """Is a printed number this argument?  None: it is no number."""
    if text in ("NULL", "(nil)"):
        numbers = [0]
    elif re.fullmatch(r"-?\d+", text):
        numbers = [int(text)] + ([int(text, 8)] if re.fullmatch(r"0[0-7]+", text) else [])
    elif re.fullmatch(r"0x[0-9a-f]+", text):
        numbers = [int(text, 16)]
    else:
        return None
    for n in numbers:
        wide = bits if abs(n) >= 1 << 31 else 32
        for known in {n, ids.get(n, n), -ids.get(-n, -n)}:
            if (known - value) % (1 << wide) == 0:
                return True
    return False


def compare_call(w, t, bits, ids, counts):
    """The difference, or None."""
    if w.name[:1] == "?":
        return None if t.nr == int(w.name[1:]) else "number"
    inner = t.name == "socketcall" and SOCKETCALLS[t.args[0]]
    if w.name != t.name and w.name.lower() != inner:
        return "name"
    if w.name not in VARYING:
        if w.errno == NO_RETURN:
            if t.result is not None:
                return "result"
        elif w.errno is not None:
            if t.result != -1 or t.errno != w.errno:
                return "error number"
            counts["errors"] += 1
        elif w.result is not None:
            if t.result is None or t.errno is not None or not any(
                    (x - t.result) % (1 << bits) == 0
                    for x in (w.result, ids.get(w.result, w.result))):
                return "result"
            counts["results"] += 1
    if inner or w.name in SYMBOLIC or (w.name == "mmap" and len(t.args) == 1):
        return None  # (s390x passes the address of all arguments)
    for i, text in enumerate(w.args[:PAIRS.get(w.name, 8) if bits == 32 else 8]):
        if i >= len(t.args):
            break
        text = text.strip()
        if text[:1] == '"' and text[-1:] == '"':
            if t.text[i][:1] != '"':
                return "argument %d: %s is shown as %s" % (i, text, t.text[i])
            begin, whole = unquoted(t.text[i])
            if text[1:-1] != begin and (whole or not text[1:-1].startswith(begin)):
                return "argument %d: %s is shown as %s" % (i, text, t.text[i])
            counts["strings"] += 1
            continue
        same = same_number(text, t.args[i], bits, ids)
        if same is False:
            return "argument %d: %s is shown as %#x" % (i, text, t.args[i])
        counts["numbers"] += same is True
    return None


def by_thread(events):
    """{tid: [..]} in the order of appearance; signals belong to the first."""
    out = {}
    for e in events:
        if isinstance(e, Call) and e.name in LEFT_OUT:
            continue
        tid = e.tid if isinstance(e, Call) else next(iter(out))
        out.setdefault(tid, []).append(e)
    return out


def compare(witness, trace, bits):
    """Raises Failure, or returns counts of what was compared."""
    counts = {"calls": 0, "results": 0, "errors": 0, "numbers": 0, "strings": 0, "signals": 0}
    w, t = by_thread(witness), by_thread(trace)
    if len(w) != len(t):
        raise Failure("%d threads with system calls, the trace has %d" % (len(w), len(t)))
    ids = dict(zip(w, t))
    for wtid, ttid in ids.items():
        for i, (a, b) in enumerate(zip(w[wtid], t[ttid])):
            if isinstance(a, Call) and isinstance(b, Call):
                wrong = compare_call(a, b, bits, ids, counts)
                if wrong:
                    raise Failure("call %d of thread %d: %s\n  strace: %s\n  trace:  %s %s"
                                  % (i, ttid, wrong, a, b, b.text))
                counts["calls"] += 1
            elif a != b:
                raise Failure("event %d of thread %d: strace: %s, trace: %s" % (i, ttid, a, b))
            else:
                counts["signals"] += 1
        if len(w[wtid]) != len(t[ttid]):
            raise Failure("thread %d: %d events, the trace has %d: first one more: %s"
                          % (ttid, len(w[wtid]), len(t[ttid]),
                             (w[wtid] + t[ttid])[min(len(w[wtid]), len(t[ttid]))]))
    return counts


BUSYBOX = {"busybox-sed": ["sed", "-n", "s/9/nine/p;20q", "strace.txt"],
           "busybox-sort": ["sort", "-r", "strace.txt"],
           "busybox-find": ["find", "tree", "-name", "*b*", "-type", "f"]}


def run_busybox(tools, target, name):
    """Real programs, with the libraries that they come with."""
    root, path = realprogs.busybox(tools, target)
    with open(os.path.join(tools.work, "strace.txt"), "w") as f:
        f.write("".join("%d\n" % (i * i) for i in range(200)))
    for folder in ("tree/a/b", "tree/c"):
        os.makedirs(os.path.join(tools.work, folder), exist_ok=True)
    for file in ("tree/b1", "tree/a/b/abc", "tree/c/d"):
        open(os.path.join(tools.work, file), "w").close()
    guest = [tools.qemu(target), *common.guest_options(target), "-L", root, path, *BUSYBOX[name]]
    return run(tools, target, name, guest, tools.work, 0)


def run(tools, target, name, guest, folder, expect=None):
    """Record the command line and run it again under -strace."""
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "strace-%s-%s.ctr" % (target, name))
    recorded = common.record(tools, trace, guest, environment, folder,
                             options=("--events", "sys,thr,time"))
    done = subprocess.run([common.SETARCH, "-R", guest[0], "-strace", *guest[1:]],
                          stdin=subprocess.DEVNULL, capture_output=True, env=environment,
                          cwd=folder, timeout=common.PATIENCE, preexec_fn=common.as_alone)
    status = common.status_of(done.returncode)
    if recorded.status != status or recorded.stdout != done.stdout or (
            expect is not None and status != expect):
        raise Failure("it printed %r (%d) when recorded, %r (%d) otherwise, %s is right: %s"
                      % (recorded.stdout[-200:], recorded.status, done.stdout[-200:], status,
                         expect, recorded.stderr[-300:]))
    witness = read_strace(done.stderr.decode(errors="surrogateescape"))
    counts = compare(witness, read_trace(common.dump_lines(tools, trace, "--events", "sys")),
                     TARGETS[target].bits)
    common.drop_file(trace)
    return ", ".join("%d %s" % (n, what) for what, n in counts.items())
