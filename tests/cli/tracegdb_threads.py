# SPDX-License-Identifier: MIT
"""What watchpoints and breakpoints stop at forward is what they stop at backward, in reverse;
and all threads but the first one begin and end (QThreadEvents).

usage: tracegdb_threads.py TRACE PACKET...

Each PACKET (TYPE,ADDRESS,KIND) is one run of a Z packet.  Of arm, gdb wants a watchpoint to
stop with its access ahead: forward before it, backward after it.  Prints how often each
stopped, and how many threads began and ended.
"""
import re
import sys

from gdbremote import Connection, place


def stops(gdb, back, watch):
    """The places of all stops up to an end: (tid, ordinal) of the instruction."""
    found = []
    while b"replaylog:" not in (stop := gdb.request("bc" if back else "c")):
        assert (b"watch:" in stop) == watch, stop
        tid, ordinal = place(gdb)
        found.append((tid, ordinal - (watch and back)))
    return found


def threads_of(gdb):
    return {int(tid, 16) for tid in re.findall(rb"p[0-9a-f]+\.([0-9a-f]+)", gdb.request("qfThreadInfo"))}


def check_lives(gdb):
    """From the begin on.  Each thread begins, once, and is there; then it ends, and is not."""
    assert gdb.request("QThreadEvents:1") == b"OK"
    begun, ended = [], []
    while b"replaylog:" not in (stop := gdb.request("c")):
        there = threads_of(gdb)
        if stop[:1] == b"w":
            tid = int(stop.rpartition(b".")[2], 16)
            assert re.fullmatch(rb"w00;p[0-9a-f]+\.[0-9a-f]+", stop) and tid in begun, stop
            assert tid not in there and there, (tid, there)
            ended.append(tid)
        else:
            assert stop.startswith(b"T05") and b"create:;" in stop, stop
            tid, ordinal = place(gdb)
            assert ordinal == 0 and tid in there and tid not in begun, (tid, ordinal)
            begun.append(tid)
    assert len(set(begun)) == len(begun) and sorted(begun) == sorted(ended), (begun, ended)
    assert b"replaylog:begin" in gdb.request("bc")
    assert gdb.request("QThreadEvents:0") == b"OK"
    assert b"replaylog:end" in gdb.request("c")
    print(len(begun), len(ended))


def main():
    path, packets = sys.argv[1], sys.argv[2:]
    gdb = Connection("-q", "-j2", path)
    gdb.request("qSupported:multiprocess+;swbreak+;hwbreak+")
    # no signal stops it
    assert gdb.request("QPassSignals:" + ";".join("%x" % n for n in range(256))) == b"OK"
    for packet in packets:
        watch = packet[0] in "234"
        assert gdb.request("Z" + packet) == b"OK", packet
        forward = stops(gdb, False, watch)
        backward = stops(gdb, True, watch)
        again = stops(gdb, False, watch)
        assert forward == again, (packet, [p for p in zip(forward, again) if p[0] != p[1]][:3])
        assert forward == backward[::-1], (
            packet, len(forward), len(backward),
            [p for p in zip(forward, backward[::-1]) if p[0] != p[1]][:3])
        assert len(set(forward)) == len(forward), packet
        assert gdb.request("z" + packet) == b"OK"
        while b"replaylog:" not in gdb.request("bc"):
            pass
        print(packet, len(forward), len({tid for tid, _ in forward}))
    check_lives(gdb)
    assert gdb.request("D") == b"OK"
    assert gdb.close() == 0


main()
