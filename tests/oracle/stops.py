# SPDX-License-Identifier: MIT
"""System calls and signals that stop a program, on a trace and live.

stops  all calls are caught by gdb's protocol in QEMU's gdbstub and in tracegdb: the same
       entries and returns with the same numbers, the same signals between them with the same
       siginfo; and backward, the calls in reverse order
"""
import os
import re

import common
import gdbstep
from common import Failure

MOST = 20000
CALL = re.compile(rb"syscall_(entry|return):([0-9a-f]+)")
THREAD = re.compile(rb"thread:([0-9a-f]+)")


def siginfo(stub, stop):
    """Its bytes, with a word of its own for the id of the process, which sends itself signals."""
    data = re.sub(rb"(?s)\}(.)", lambda m: bytes([m[1][0] ^ 0x20]),
                  stub.request("qXfer:siginfo:read::0,80"))
    pid = int(THREAD.search(stop)[1], 16)
    own = [pid.to_bytes(4, order) for order in ("little", "big")]
    words = [data[i:i + 4] for i in range(1, len(data), 4)]  # after the packet's `l'
    return data[:1] + b"".join(b"SELF" if word in own else word for word in words)


def stops(stub, back=False):
    """(what, number or siginfo) of each stop up to the end."""
    said = []
    if stub.request("QCatchSyscalls:1") != b"OK":
        raise Failure("calls cannot be caught")
    request = "bc" if back else "c"
    while len(said) < MOST:
        stop = stub.request(request)
        request = "bc" if back else "c"
        if not stop.startswith(b"T") or b"replaylog:" in stop:
            return said
        call = CALL.search(stop)
        if call:
            said.append((call[1].decode(), int(call[2], 16)))
        else:
            said.append(("signal " + stop[1:3].decode(), siginfo(stub, stop)))
            request = "C" + stop[1:3].decode()  # the program gets it
    raise Failure("there are more than %d stops" % MOST)


def run(tools, target, name, guest, folder):
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "stops-%s-%s.ctr" % (target, name))
    common.record(tools, trace, guest, environment, folder, options=("--events", "all"))
    with gdbstep.stopped(guest, environment, folder) as stub:
        live = stops(stub)
    with gdbstep.listening([tools.program("tracegdb"), "-q"], trace) as stub:
        seen = stops(stub)
        back = stops(stub, back=True)
    for i, stop in enumerate(live):
        if i >= len(seen) or seen[i] != stop:
            raise Failure("stop %d is %r, of the live program %r" % (
                i, seen[i] if i < len(seen) else None, stop))
    calls = [stop for stop in seen if not stop[0].startswith("signal")]
    # The end is at the last call, which is met already.
    if len(seen) != len(live) or calls[-2::-1] != back:
        raise Failure("%d stops, %d live, %d backward" % (len(seen), len(live), len(back)))
    common.drop_file(trace)
    return "%d stops, %d of them signals" % (len(seen), len(seen) - len(calls))
