# SPDX-License-Identifier: MIT
"""tracedump --state --stack against gdb on the same trace, at random places.

usage: stack.py TRACE PROGRAM PLACES CFI

gdb reads call frame information on its own.  A frame that tracedump has by that must be gdb's
frame; where there is none gdb guesses, and only the calls that ran count.  CFI: the least share
of frames that both ways of tracedump must find.
"""
import json
import os
import random
import subprocess
import sys

BIN = os.environ["BIN"]


def tracedump(*args):
    done = subprocess.run([BIN + "/tracedump", "-q", "--json", *args], capture_output=True,
                          text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    trace, program, count, share = sys.argv[1:]
    total = tracedump("--info", trace)[0]["instructions"]
    rng = random.Random(trace)
    begin = tracedump("--state=call:main", trace)[0]["ordinal"]
    places = sorted(rng.sample(range(total // 10, begin), int(count) // 4) +
                    rng.sample(range(begin, total), int(count)))
    env = dict(os.environ, OUT="theirs", PLACES=" ".join(map(str, places)))
    gdb = subprocess.run(
        ["gdb-multiarch", "-nx", "-batch", "-ex", "set sysroot /none", "-ex",
         "set backtrace past-main on", "-ex", "file " + program, "-ex",
         "target remote | %s/tracegdb -q --at=%d %s" % (BIN, begin, trace), "-x",
         os.path.dirname(__file__) + "/stack_gdb.py"],
        capture_output=True, text=True, env=env, check=False)
    with open("theirs", encoding="utf-8") as file:
        theirs = [json.loads(line) for line in file]
    assert len(theirs) == len(places), gdb.stderr[-500:]
    known = {"state": 0, "cfi calls": 0, "calls": 0, "cfi": 0}
    for place, frames in zip(places, theirs):
        ours = tracedump("--state=%d" % place, "--stack", trace)[1:]
        end = ours.pop()
        where = "%s at %d: " % (trace, place)
        assert end["kind"] == "stack" and end["whole"], where + str(end)
        assert end["frames"] == len(ours) and end["end"] == "the thread began in it", where + str(end)
        assert ours[-1]["function"] in ("_start", "__start"), where + str(ours[-1])
        for i, frame in enumerate(ours):
            assert frame["kind"] == "frame" and frame["number"] == i, where + str(frame)
            by = " ".join(frame["by"])
            known[by] += 1
            assert "cfi_pc" not in frame, where + str(frame)
            if by == "calls":
                break  # gdb guesses from here on
            assert i < len(frames), where + "gdb lacks %s" % frame
            if frames[i] is None:
                break
            pc, is_signal = frames[i]
            if "system" in frame:
                assert is_signal, where + "no signal in gdb: %s" % frame
            else:
                assert int(frame["pc"], 16) == pc, where + "gdb has 0x%x: %s" % (pc, frame)
        else:
            assert len(frames) == len(ours), where + "gdb has %d more frames" % (len(frames) - len(ours))
    callers = sum(known.values()) - known["state"]
    assert not known["cfi"], known
    assert callers and known["cfi calls"] >= float(share) * callers, known
    print(known)


main()
