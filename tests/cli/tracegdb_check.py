# SPDX-License-Identifier: MIT
"""A client of gdb's protocol that compares what tracegdb answers with the events of a trace.

usage: tracegdb_check.py TRACE EXPECTED.json SEED

Steps, breakpoints and watchpoints, forward and backward, at random places; registers and
memory against `tracedump --state'; packets that are refused, and random ones.
"""
import bisect
import json
import random
import subprocess
import sys

from gdbremote import BIN, Connection, packet, place

READ_ONLY = b"E.a trace can only be read"


class Trace:
    """The events of a process in recorded order."""

    def __init__(self, path, expected, pid):
        self.path, self.pid = path, pid
        with open(expected, encoding="utf-8") as f:
            events = [e for e in map(json.loads, f) if e.get("pid") == pid]
        self.execs, self.accesses = [], []  # (tid, ordinal, pc), (index in execs, store, range)
        self.index = where = {}
        for e in events:
            if e["kind"] == "exec":
                where[e["tid"], e["ordinal"]] = len(self.execs)
                self.execs.append((e["tid"], e["ordinal"], int(e["pc"], 16)))
        for e in events:
            if e["kind"] in ("load", "store"):
                begin = int(e["addr"], 16)
                self.accesses.append((where[e["tid"], e["ordinal"]], e["kind"] == "store",
                                      begin, begin + e["size"]))
        self.accesses.sort(key=lambda a: a[0])
        self.last = {}
        for tid, ordinal, _ in self.execs:
            self.last[tid] = max(self.last.get(tid, 0), ordinal)


def go_to(gdb, trace, i):
    tid, ordinal, _ = trace.execs[i]
    assert gdb.request("Hgp%x.%x" % (trace.pid, tid)) == b"OK" or gdb.monitor("goto 0s")
    said = gdb.monitor("goto %d" % ordinal)
    if place(gdb) != (tid, ordinal):  # the thread is not there at the time of the place before
        return None
    assert said, trace.execs[i]
    return i


def expect_exec(trace, at, pcs, back):
    """What a breakpoint stops at next; None: nothing."""
    order = range(at - 1, -1, -1) if back else range(at + 1, len(trace.execs))
    return next((i for i in order if trace.execs[i][2] in pcs), None)


def check_breaks(gdb, trace, rng):
    hits = 0
    for _ in range(60):
        at = go_to(gdb, trace, rng.randrange(len(trace.execs)))
        if at is None:
            continue
        pcs = {rng.choice(trace.execs)[2] for _ in range(rng.randrange(1, 4))}
        for pc in pcs:
            assert gdb.request("Z%d,%x,4" % (rng.randrange(2), pc)) == b"OK"
        for _ in range(4):
            back = rng.random() < .5
            want = expect_exec(trace, at, pcs, back)
            stop = gdb.request("bc" if back else "c")
            seen = place(gdb)
            if want is None:
                assert (b"replaylog:begin" if back else b"replaylog:end") in stop, stop
                break
            assert seen == trace.execs[want][:2], (trace.execs[at], pcs, back, seen, trace.execs[want], stop)
            hits += 1
            at = want
        for pc in pcs:
            assert gdb.request("z0,%x,4" % pc) == gdb.request("z1,%x,4" % pc) == b"OK"
    return hits


def check_conditional_runs(gdb, trace, rng):
    """A breakpoint with `r0 == VALUE' stops where the one without does, if r0 is that."""
    hits = 0
    for _ in range(30):
        at = go_to(gdb, trace, rng.randrange(len(trace.execs)))
        if at is None:
            continue
        back = rng.random() < .5
        pc = rng.choice(trace.execs)[2]
        assert gdb.request("Z0,%x,4" % pc) == b"OK"
        seen = []
        while len(seen) < 20 and b"replaylog:" not in gdb.request("bc" if back else "c"):
            seen.append((place(gdb), gdb.request("p0")))
        assert gdb.request("z0,%x,4" % pc) == b"OK"
        if not seen or go_to(gdb, trace, at) is None:
            continue
        value = rng.choice(seen)[1]
        want = next(where for where, r0 in seen if r0 == value)
        number = int.from_bytes(bytes.fromhex(value.decode()), "little")
        condition = "26000024%08x1327" % number
        assert gdb.request("Z0,%x,4;X%x,%s" % (pc, len(condition) // 2, condition)) == b"OK"
        stop = gdb.request("bc" if back else "c")
        assert place(gdb) == want, (trace.execs[at], back, hex(pc), value, place(gdb), want, stop)
        assert gdb.request("z0,%x,4" % pc) == b"OK"
        hits += 1
    return hits


def check_watches(gdb, trace, rng):
    """Of the thread alone: with others the order of accesses within a chunk counts."""
    hits = 0
    for _ in range(60):
        at = go_to(gdb, trace, rng.randrange(len(trace.execs)))
        if at is None:
            continue
        kind = rng.choice("234")
        addr = rng.choice(trace.accesses)[2]
        size = rng.choice([1, 4, 8])
        assert gdb.request("Z%s,%x,%x" % (kind, addr, size)) == b"OK"
        over = {}
        for _ in range(3):
            back = rng.random() < .5
            fit = [a[0] for a in trace.accesses if a[2] < addr + size and addr < a[3] and
                   (kind == "4" or a[1] == (kind == "2"))]
            found = bisect.bisect_left(fit, over.get(back, at))
            over = {}
            stop = gdb.request("bc" if back else "c")
            seen = place(gdb)
            if not (found if back else found < len(fit)):
                assert b"replaylog:" in stop, stop
                break
            tid, ordinal, _ = trace.execs[fit[found - 1] if back else fit[found]]
            if not back and ordinal == trace.last[tid]:  # it is not executed
                assert b"replaylog:end" in stop, stop
                break
            ordinal += back
            assert seen == (tid, ordinal) and b"watch:" in stop, (
                trace.execs[at], kind, addr, size, back, seen, (tid, ordinal), stop)
            hits += 1
            # From there it goes on as if it were over the access, as gdb's step is.
            at = trace.index[seen]
            over[back] = trace.index[tid, ordinal + (-1 if back else 1)]
            if rng.random() < .5:
                stop = gdb.request("bs" if back else "s")
                at = over[back]
                over = {}
                assert b"watch:" not in stop and place(gdb) == trace.execs[at][:2], (stop, place(gdb))
        assert gdb.request("z%s,%x,%x" % (kind, addr, size)) == b"OK"
    return hits


def check_watched_steps(gdb, trace, rng):
    """Steps over accesses stop with them ahead, as gdb wants it of arm; the next ones do not."""
    hits = 0
    for _ in range(40):
        at = rng.randrange(len(trace.execs))
        tid, ordinal, _ = trace.execs[at]
        back = rng.random() < .5
        mine = [a for a in trace.accesses if a[0] == at]
        if not mine or go_to(gdb, trace, at) is None or ordinal + back >= trace.last[tid]:
            continue
        _, store, begin, end = rng.choice(mine)
        if back:
            gdb.request("s")
        packet = "%d,%x,%x" % (4 if rng.random() < .3 else 2 if store else 3, begin, end - begin)
        assert gdb.request("Z" + packet) == b"OK"
        stop = gdb.request("bs" if back else "s")
        assert b"watch:" in stop and place(gdb) == (tid, ordinal + back), (
            trace.execs[at], packet, back, stop)
        if rng.random() < .5:  # as gdb does
            assert gdb.request("z" + packet) == b"OK"
        stop = gdb.request("bs" if back else "s")
        assert b"watch:" not in stop and place(gdb) == (tid, ordinal + (not back)), (stop, place(gdb))
        assert gdb.request("z" + packet) == b"OK"
        hits += 1
    return hits


def check_watched_ranges(gdb, trace, rng):
    """A step through a range, of which every instruction is a part, stops at an access."""
    hits = 0
    for _ in range(40):
        at = go_to(gdb, trace, rng.randrange(len(trace.execs)))
        if at is None:
            continue
        _, _, addr, end = rng.choice(trace.accesses)
        assert gdb.request("Z2,%x,%x" % (addr, end - addr)) == b"OK"
        fit = [a[0] for a in trace.accesses if a[1] and a[2] < end and addr < a[3] and a[0] >= at]
        for i in list(dict.fromkeys(fit))[:3]:
            tid, ordinal, _ = trace.execs[i]
            stop = gdb.request("vCont;r0,ffffffffffff")
            if ordinal == trace.last[tid]:
                assert b"replaylog:end" in stop, stop
                break
            assert b"watch:" in stop and place(gdb) == (tid, ordinal), (
                trace.execs[at], addr, stop, place(gdb), ordinal)
            assert b"watch:" not in gdb.request("s")
            hits += 1
        assert gdb.request("z2,%x,%x" % (addr, end - addr)) == b"OK"
    return hits


def pc_of(stop):
    """That of arm, which the answer brings: register 15."""
    for item in stop[3:].split(b";"):
        if item.startswith(b"f:"):
            return int.from_bytes(bytes.fromhex(item[2:].decode()), "little")
    raise AssertionError("no pc: %r" % stop)


def check_steps(gdb, trace, rng):
    """The states backward are those forward in reverse."""
    for _ in range(4):
        tid, ordinal, _ = trace.execs[rng.randrange(len(trace.execs))]
        if go_to(gdb, trace, next(i for i, e in enumerate(trace.execs) if e[:2] == (tid, ordinal))) is None:
            continue
        pcs = {e[1]: e[2] for e in trace.execs if e[0] == tid}
        states, n = [gdb.request("g")], 0
        while n < 100 and ordinal + n < trace.last[tid]:
            stop = gdb.request("s")
            n += 1
            assert pc_of(stop) == pcs[ordinal + n], (tid, ordinal + n, stop)
            states.append(gdb.request("g"))
        for i in range(n - 1, -1, -1):
            stop = gdb.request("bs")
            assert pc_of(stop) == pcs[ordinal + i], (tid, ordinal + i, stop)
            assert gdb.request("g") == states[i], (tid, ordinal + i)


def state_of(trace, tid, ordinal, places):
    done = subprocess.run(
        [BIN + "/tracedump", "--json", "--no-modules", "--state=%d" % ordinal, "--thread=%d" % tid,
         "--pid=%d" % trace.pid, "--memory=" + ",".join("0x%x+0x%x" % p for p in places), trace.path],
        capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    memory = {}
    for line in lines[1:]:
        data = line["bytes"] and bytes.fromhex(line["bytes"])
        for i in range(line["size"]):
            memory[int(line["address"], 16) + i] = data[i] if data else None
    return lines[0], memory


def read_memory(gdb, addr, n):
    """By address, None where nothing is known."""
    memory = {}
    while len(memory) < n:
        answer = gdb.request("m%x,%x" % (addr + len(memory), n - len(memory)))
        if answer == b"E01":
            memory[addr + len(memory)] = None
            continue
        for byte in bytes.fromhex(answer.decode()):
            memory[addr + len(memory)] = byte
    return memory


def check_states(gdb, trace, rng):
    """Also after steps, with memory that was read before them."""
    known = 0
    for _ in range(12):
        if go_to(gdb, trace, rng.randrange(len(trace.execs))) is None:
            continue
        places = [(rng.choice(trace.accesses)[2] & ~15, 32) for _ in range(4)]
        for _ in range(3):
            for _ in range(rng.randrange(6)):
                gdb.request(rng.choice(["s", "s", "bs"]))
                for p in places:
                    read_memory(gdb, *p)
            tid, ordinal = place(gdb)
            state, memory = state_of(trace, tid, ordinal, places)
            for p in places:
                seen = read_memory(gdb, *p)
                assert all(seen[a] == memory[a] for a in seen), (tid, ordinal, p, [
                    (hex(a), seen[a], memory[a]) for a in seen if seen[a] != memory[a]])
                known += sum(v is not None for v in seen.values())
            for number, name in ((0, "r0"), (3, "r3"), (13, "sp")):
                value = int.from_bytes(bytes.fromhex(gdb.request("p%x" % number).decode()), "little")
                assert value == int(state["registers"][name], 16), (tid, ordinal, name)
    return known


# Bytecodes of conditions and whether they hold: of constants, each operation.
BYTECODES = {
    "2205 2203 02 2208 13": True, "2205 2203 03 2202 13": True, "2205 2203 04 220f 13": True,
    "22fb1608 2202 05 22fe1608 13": True, "2207 2202 06 2203 13": True,
    "22f91608 2202 07 22ff1608 13": True, "2207 2204 08 2203 13": True,
    "2201 2204 09 2210 13": True, "22f01608 2202 0a 22fc1608 13": True,
    "22f0 2202 0b 223c 13": True, "2200 0e": True, "2201 0e": False, "22f0 223c 0f 2230 13": True,
    "22f0 220f 10 22ff 13": True, "22ff 220f 11 22f0 13": True, "2200 12 22ff1608 13": True,
    "22ff1608 2201 14": True, "22ff1608 2201 15": False, "2201 22ff1608 14": False,
    "23ff81 1608 2381ff 2a08 14": True, "2480000000 1620 2200 14": True,
    "258000000000000000 2200 14": True, "2201 28 13": True, "2200 2201 29": False,
    "2200 2201 2b": False, "2201 2200 2b": True, "2201 2202 2203 3202 13 0e": True,
    "2201 2202 2203 3202 2201 13": True,  # the third from the top
    "2201 2202 2203 33 2202 13": True,  # 3 1 2
    "2201 200007 2200 27 2201": True, "2200 200007 2200 27 2201": False,
    "210005 2200 2201": True, "2200 21 0000": True,  # it loops: gdb is to decide
    "2201 2200 05": True, "02": True, "17": True, "2210 17": True,  # it fails: the same
    "2200 01": True, "2200 0c0000": True, "22": True, "": True,  # not known here
}


def check_conditions(gdb, trace, rng):
    at = None
    while at is None:
        at = go_to(gdb, trace, rng.randrange(len(trace.execs) // 2))
    tid, ordinal, _ = trace.execs[at]
    pc = trace.execs[at + 1][2]
    address = b"Z0,%x,4" % pc
    for code, holds in BYTECODES.items():
        data = bytes.fromhex(code.replace(" ", "")) + (b"\x27" if code else b"")
        assert go_to(gdb, trace, at) is not None
        assert gdb.request(address + b";X%x,%s" % (len(data), data.hex().encode())) == b"OK"
        stop = gdb.request("c")
        assert holds == (b"swbreak" in stop), (code, stop)
    # A value of a register, of those at the first places; any of two conditions
    values = []
    assert gdb.request(address) == b"OK" and go_to(gdb, trace, at) is not None
    while len(values) < 6 and b"swbreak" in gdb.request("c"):
        values.append((int.from_bytes(bytes.fromhex(gdb.request("p3").decode()), "little"), place(gdb)))
    wanted = rng.choice(values)[0]
    code = b"Xa,26000324%08x13" % wanted + b"27"
    assert gdb.request(address + b";" + code + b"X3,220027") == b"OK"
    assert go_to(gdb, trace, at) is not None
    assert b"swbreak" in gdb.request("c")
    assert place(gdb) == next(where for value, where in values if value == wanted)
    for wrong in (b";X", b";X3", b";X9,22", b";X,", b";X1,2222"):
        assert gdb.request(address + wrong).startswith(b"E."), wrong
    assert gdb.request(b"z" + address[1:]) == b"OK"
    return len(values)


def check_interrupts(gdb, trace, rng):
    """A request to stop that comes right after one to go on, forward or backward."""
    stops = 0
    for request in [b"c", b"bc", b"vCont;r0,fffffff0", b"c", b"bc"] * 4:
        if go_to(gdb, trace, rng.randrange(len(trace.execs))) is None:
            continue
        assert gdb.request("Z0,10,4") == b"OK"  # nothing is there
        tid, ordinal = place(gdb)
        with_packet = rng.random() < .5
        gdb.send(packet(request) + (packet(b"vCtrlC") if with_packet else b"\3"))
        stop = gdb.receive()
        assert not with_packet or gdb.receive() == b"OK"
        if b"replaylog:" not in stop:  # there was nothing to search
            assert stop.startswith(b"T02"), stop
            seen = place(gdb)
            assert seen[0] == tid and seen[1] in range(ordinal, ordinal + 2), (seen, ordinal)
            stops += 1
        assert gdb.request("z0,10,4") == b"OK"
    return stops


def check_marks(gdb, trace, rng):
    assert gdb.monitor("mark") == "there are no marks\n"
    marks = {}
    while len(marks) < 5:
        at = go_to(gdb, trace, rng.randrange(len(trace.execs)))
        name = "place no. %d" % rng.randrange(8)
        if at is not None:
            tid, ordinal = marks[name] = place(gdb)
            said = gdb.monitor("mark " + name)
            assert said == "%s: --pid=%d --thread=%d --at=%d\n" % (name, trace.pid, tid, ordinal), said
    assert sorted(gdb.monitor("mark").splitlines()) == sorted(
        "%s: --pid=%d --thread=%d --at=%d" % (name, trace.pid, *where) for name, where in marks.items())
    for name, where in marks.items():
        gdb.monitor("goto " + name)
        assert place(gdb) == where, (name, where)
    for name in ("12", "end", "1.5s", "mark:x"):
        assert "a moment" in gdb.monitor("mark " + name), name
    assert "neither a mark" in gdb.monitor("goto place no. 9")


def check_refusals(gdb, rng):
    for write in ("M0,1:00", "X0,0:", "G00", "P0=00000000"):
        assert gdb.request(write) == READ_ONLY, write
    assert gdb.request("vMustReplyEmpty") == gdb.request("qNothing") == b""
    assert gdb.request("Z9,0,0") == b"" and gdb.request("Z2,0,0").startswith(b"E.")
    assert gdb.request("p999").startswith(b"E.") and gdb.request("Hgp64.7777") == b"E01"
    assert gdb.request("qXfer:features:read:none.xml:0,100").startswith(b"E.")
    assert b"<target" in gdb.request("qXfer:features:read:target.xml:0,ffff")
    for path in ("/etc/passwd", "/proc/self/maps", "/", ""):
        assert gdb.request("vFile:open:%s,0,0" % path.encode().hex()) == b"F-1,2", path
    assert gdb.request("vFile:open:%s,241,1b6" % b"new".hex()) == b"F-1,1"
    assert gdb.request("vFile:pread:3,100,0") == gdb.request("vFile:fstat:0") == b"F-1,9"
    gdb.send(b"$g#00")  # a damaged packet is requested again
    while gdb.byte() != b"-":
        pass
    letters = b"?!bcsgpmGPMXHTvzZqQ0123456789abcdef,:;-.+xXfer"
    for _ in range(3000):
        data = bytes(rng.choice(letters) for _ in range(rng.randrange(1, 24)))
        if data[:1] not in (b"k", b"D", b"R") and not data.startswith(b"vK"):
            gdb.request(data)
    assert gdb.request("?").startswith(b"T")


def main():
    path, expected, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    rng = random.Random(seed)
    hits = [0, 0, 0]
    for pid in (100, 200):
        trace = Trace(path, expected, pid)
        gdb = Connection("-q", "-j2", "--pid=%d" % pid, path)
        assert b"ReverseContinue+" in gdb.request("qSupported:multiprocess+;swbreak+;hwbreak+")
        # no signal stops it
        assert gdb.request("QPassSignals:" + ";".join("%x" % n for n in range(256))) == b"OK"
        hits[0] += check_breaks(gdb, trace, rng)
        if len(trace.last) == 1:
            hits[1] += check_watches(gdb, trace, rng)
            hits[1] += check_watched_steps(gdb, trace, rng)
            assert check_watched_ranges(gdb, trace, rng) > 5
        check_steps(gdb, trace, rng)
        assert check_interrupts(gdb, trace, rng) > 5
        assert check_conditions(gdb, trace, rng)
        assert check_conditional_runs(gdb, trace, rng) > 5
        hits[2] += check_states(gdb, trace, rng)
        check_marks(gdb, trace, rng)
        check_refusals(gdb, rng)
        assert gdb.request("D") == b"OK"
        status = gdb.close()
        assert status in (0, 3), status
    assert hits[0] > 50 and hits[1] > 20 and hits[2] > 500, hits
    print("%d breakpoints, %d watchpoints, %d bytes of memory" % tuple(hits))


main()
