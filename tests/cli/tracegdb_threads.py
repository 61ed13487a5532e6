# SPDX-License-Identifier: MIT
"""What watchpoints and breakpoints stop at forward is what they stop at backward, in reverse.

usage: tracegdb_threads.py TRACE PACKET...

Each PACKET (TYPE,ADDRESS,KIND) is one run of a Z packet.  Of arm, gdb wants a watchpoint to
stop with its access ahead: forward before it, backward after it.  Prints how often each
stopped.
"""
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
    assert gdb.request("D") == b"OK"
    assert gdb.close() == 0


main()
