# SPDX-License-Identifier: MIT
"""What memory holds at a moment, against what the program itself printed.

contents   a program changes a region in all ways that there are, in several processes, and
           prints parts of it.  What the trace shows at each of these calls, not looking at
           what the call wrote, must be the same bytes, or not be known
"""
import json
import os
import random
import struct

import common
from common import Failure, TARGETS

HEADER = 16
UNIT = 8192
DATA = 16  # bytes of system calls that are recorded: the headers, not what is printed
QUICK, FULL = 60, 400  # places
LEAST = 0.8  # of the bytes are known: of the program's file, few are


def printed(out, order):
    """{number: (address, bytes)} of the output."""
    seen, at = {}, 0
    while at < len(out):
        magic, number, addr = struct.unpack(order + "4sIQ", out[at:at + HEADER])
        if magic != b"mem\0":
            raise Failure("the program printed %r" % out[at:at + HEADER])
        seen[number] = (addr, out[at + HEADER:at + HEADER + UNIT])
        at += HEADER + UNIT
    return seen


def calls(tools, trace, order):
    """{number: (thread, ordinal, address)} of the calls that printed."""
    found, header = {}, {}
    for o in map(json.loads, common.dump_lines(tools, trace, "--events", "sys")):
        if o["kind"] != "syscall" or o["name"] != "write":
            continue
        tid, data = o["tid"], o["memory"][0]["data"]
        if o["args"][2] == HEADER and data.startswith(b"mem\0".hex()):
            header[tid] = struct.unpack(order + "4sIQ", bytes.fromhex(data))
        elif tid in header:
            _, number, addr = header.pop(tid)
            if o["args"][1] != addr:
                raise Failure("number %d: the call has another address" % number)
            found[number] = (tid, o["ordinal"], addr)
    return found


def run(tools, target, name, guest, folder, full):
    order = ">" if TARGETS[target].big_endian else "<"
    trace = os.path.join(tools.work, "contents-%s-%s.ctr" % (target, name))
    done = common.record(tools, trace, guest, cwd=folder,
                         options=("--events", "exec,mem,val,sys,map,thr", "--data-limit=%d" % DATA))
    if done.status:
        raise Failure("the recorded program ended with %d: %s" % (done.status, done.stderr))
    seen = printed(done.stdout, order)
    found = calls(tools, trace, order)
    if len(seen) != len(found) or len(seen) < QUICK:
        raise Failure("%d were printed, %d are in the trace" % (len(seen), len(found)))
    known = total = 0
    numbers = random.Random(target).sample(sorted(seen), min(FULL if full else QUICK, len(seen)))
    for number in numbers:
        tid, ordinal, addr = found[number]
        want = seen[number][1]
        has = common.memory_known(tools, trace, [(addr, UNIT)], "--thread=%d" % tid,
                                  "--state=%d" % ordinal)
        wrong = [(hex(at), b, want[at - addr]) for at, b in has.items() if b != want[at - addr]]
        if wrong:
            raise Failure("number %d, --thread=%d --state=%d: at %s is 0x%02x instead of 0x%02x; "
                          "%d bytes are wrong" % (number, tid, ordinal, *wrong[0], len(wrong)))
        known += len(has)
        total += UNIT
    if known < LEAST * total:
        raise Failure("%d of %d bytes are known" % (known, total))
    common.drop_file(trace)
    return "%d of %d bytes at %d moments are known, and right" % (known, total, len(numbers))
