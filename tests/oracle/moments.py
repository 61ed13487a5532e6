# SPDX-License-Identifier: MIT
"""What memory holds at a moment, against the live program.

moments    a program stops in QEMU's gdbstub at some calls of a function, and its data, heap,
           mapped pages and stack are read there.  tracedump --state --memory must have the
           same bytes, or not know them; so must the key frames, of which there are some
"""
import os
import re
import subprocess

import common
import states
from common import Failure, TARGETS
from gdbstep import stopped

CALLS = 40
SHOWN = range(1, CALLS + 1, 6)
DATA = {"initial": 64, "constant": 20, "cleared": 5000, "worked": 32768}  # name, bytes
POINTERS = {"heap": (0, 64), "pages": (0, 256), "stack": (-64, 400)}  # name, from, bytes
LEAST = 0.85  # of the bytes are known: of the stack and of new heap, some were never written


def read(stub, addr, size):
    out = b""
    while len(out) < size:
        n = min(1024, size - len(out))
        got = stub.request("m%x,%x" % (addr + len(out), n))
        if got[:1] == b"E":
            raise Failure("the live program has nothing at 0x%x" % (addr + len(out)))
        out += bytes.fromhex(got.decode())
    return out


def live(target, guest, environment, folder, path):
    """What memory holds at each of the calls: [{address: bytes}]."""
    place = states.address_of(target, path, "moment") & ~(target == "thumb")
    word = TARGETS[target].bits // 8
    order = "big" if TARGETS[target].big_endian else "little"
    address = {name: states.address_of(target, path, name) for name in (*DATA, *POINTERS)}
    seen = []
    with stopped(guest, environment, folder) as stub:
        kind = 2 if target == "thumb" else 4
        if stub.request("Z0,%x,%x" % (place, kind)) != b"OK":
            raise Failure("no breakpoint")
        for call in range(CALLS):
            if call:
                stub.request("s")  # it would stop at the same breakpoint again
            stop = stub.request("c")
            if stop[:1] != b"T":
                raise Failure("the live program ended after %d calls: %r" % (len(seen), stop))
            parts = {address[name]: read(stub, address[name], size) for name, size in DATA.items()}
            for name, (begin, size) in POINTERS.items():
                at = int.from_bytes(read(stub, address[name], word), order) + begin
                parts[at] = read(stub, at, size)
            seen.append(parts)
    return seen


def keyframes(tools, trace):
    """Each has the bytes that the accesses before it left there."""
    done = subprocess.run([tools.memory, trace], capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.stdout.strip())
    found = re.search(r"(\d+) key frames with (\d+) known bytes", done.stdout)
    if not found or not int(found[1]) or not int(found[2]):
        raise Failure("no key frames: " + done.stdout.strip())
    return found[0]


def run(tools, target, name, guest, folder, path):
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "moments-%s-%s.ctr" % (target, name))
    done = common.record(tools, trace, guest, environment, folder,
                         options=("--events", "exec,mem,val,sys,map,thr"))
    if done.status:
        raise Failure("the recorded program ended with %d: %s" % (done.status, done.stderr))
    seen = live(target, guest, environment, folder, path)
    known = total = 0
    for call in SHOWN:
        parts = seen[call - 1]
        if call > 1 and parts == seen[call - 2]:
            raise Failure("nothing changes before call %d" % call)
        has = common.memory_known(tools, trace, [(at, len(data)) for at, data in parts.items()],
                                  "--state", "call:moment/%d" % call)
        for at, data in parts.items():
            wrong = [(hex(at + i), b, has[at + i]) for i, b in enumerate(data)
                     if has.get(at + i, b) != b]
            if wrong:
                raise Failure("call %d: at %s is 0x%02x, in the trace 0x%02x; %d bytes of 0x%x+%d differ"
                              % (call, *wrong[0], len(wrong), at, len(data)))
            known += sum(at + i in has for i in range(len(data)))
            total += len(data)
    if known < LEAST * total:
        raise Failure("%d of %d bytes are known" % (known, total))
    frames = keyframes(tools, trace)
    common.drop_file(trace)
    return "%d of %d bytes at %d moments are known, and right; %s" % (
        known, total, len(SHOWN), frames)
