# SPDX-License-Identifier: MIT
"""Kills recorders that keep a ring, at random moments, and checks the trace.

The guest (tests/guests/numbers.c) writes the progress of each of its threads to a file.
The trace must be complete, each thread's numbers consecutive, and the last of them at
least what the file says, except for the block that was running.
"""

import ctypes
import json
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import time

STRIDE = 64
PASSED = 300  # with `t' in WHAT the threads of place 0 end here, one after the other
SLACK = 1  # the block in which a thread was killed


class Wrong(Exception):
    pass


def run(command, ok=(0,)):
    p = subprocess.run(command, capture_output=True, text=True)
    if p.returncode not in ok:
        raise Wrong("%s: %d %s" % (command, p.returncode, p.stderr[:300]))
    return p.stdout


def events(dump, trace, *options):
    for line in run([dump, "-q", "--json", "--no-disas", *options, trace],
                    ok=(0, 3, 4)).splitlines():
        yield json.loads(line)


def step(pid, steps):
    """Runs so many instructions of the recorder's main thread and leaves it there; waits
    for it to wake up.  Its other threads run meanwhile."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    seize, interrupt, single = 0x4206, 0x4207, 9
    if libc.ptrace(seize, pid, 0, 0) or libc.ptrace(interrupt, pid, 0, 0):
        return
    os.waitpid(pid, 0x40000000)  # __WALL
    for _ in range(steps):
        if libc.ptrace(single, pid, 0, 0):
            return
        if not os.WIFSTOPPED(os.waitpid(pid, 0x40000000)[1]):
            return


def wait_for_all():
    """Waits for the processes that the recorder left: they are our children now."""
    end = time.monotonic() + 300
    try:
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
    except ChildProcessError:
        return
    raise Wrong("the guest or the watchdog does not end")


def check(dump, trace, base, reached, threads, passing):
    info = json.loads(run([dump, "--info", "--json", trace], ok=(0, 3)))
    if info["state"] != "complete":
        raise Wrong("the trace has no end")
    if base is None:  # unknown
        base = min([int(m["start"], 0) for m in info["maps"]
                    if m.get("path", "").endswith("/file")] or [0])
    run(["zstd", "-tq", trace])
    run([dump, "--summary", trace], ok=(0, 3))
    numbers = {}  # of each thread and place
    where = "%#x+%d" % (base, 16 * 4096)
    for e in events(dump, trace, "-e", "store,val", "--addr", where):
        for a in e["accesses"] if "accesses" in e else [e]:
            place = (int(a["addr"], 0) - base) // STRIDE
            key = (e["pid"], e["tid"], place)
            value = int(a["value"], 0)
            if key in numbers and value != numbers[key] + 1 and value != 1:
                raise Wrong("%s: %d after %d" % (key, value, numbers[key]))
            numbers[key] = value
    last = {}
    for (_, _, place), value in numbers.items():
        last[place] = value
    for place in range(threads):
        if (passing and place == 0 and reached[0] == PASSED and place not in last
                and "dropped" in info):
            continue  # its thread has ended, and everything it did was dropped
        if reached[place] > SLACK and last.get(place, 0) < reached[place] - SLACK:
            raise Wrong("place %d: %s in the trace, %d in the file, info %s" %
                        (place, last.get(place), reached[place], info.get("dropped")))
    return info


def one(record, dump, qemu, numbers, what, threads, kinds, ring, delay, storm, steps):
    with open("file", "wb") as f:
        f.truncate(16 * 4096)
    for name in os.listdir("."):
        if name.startswith("a.ctr"):
            os.unlink(name)
    fd = os.open("file", os.O_RDWR)
    seen = mmap.mmap(fd, 16 * 4096)
    err = open("stderr", "w+")
    p = subprocess.Popen([record, "-q", "-e", kinds, "--ring", ring, "-o", "a.ctr", "--",
                          qemu, numbers, "file", str(threads), what],
                         stdout=subprocess.PIPE, stderr=err, text=True)
    if delay < 0:  # before anything was recorded, or just after
        time.sleep(random.random() * 0.1)
        base = None
    else:
        base = int(p.stdout.readline(), 0)
        end = time.monotonic() + delay
        while time.monotonic() < end:
            if storm:
                p.send_signal(signal.SIGUSR2)
            time.sleep(min(0.003, delay / 10))
    step(p.pid, steps)
    p.kill()
    p.wait()
    wait_for_all()
    line = p.stdout.readline() if base is None else ""
    base = int(line, 0) if line else base
    p.stdout.close()
    reached = struct.unpack("<%dI" % (16 * 1024), seen[:])[::STRIDE // 4]
    seen.close()
    os.close(fd)
    err.seek(0)
    said = err.read()
    err.close()
    if not os.path.exists("a.ctr") or (not said and os.path.getsize("a.ctr") == 0):
        # No message: there was no watchdog yet.
        if (said and "nothing had been recorded" not in said) or max(reached):
            raise Wrong("there is no trace: %s" % said)
        return "nothing"
    if "what was kept is in" not in said:
        raise Wrong("it said: %s" % said)
    info = check(dump, "a.ctr", base, reached, threads, "t" in what)
    return "dropped" if "dropped" in info else "whole"


def main():
    record, dump, qemu, numbers, rounds, seed = sys.argv[1:7]
    random.seed(int(seed))
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    how = {}
    for n in range(int(rounds)):
        what = random.choice(["-", "c", "m", "cm", "tcm", "fm", "tf"])
        threads = random.choice([1, 2, 4])
        kinds = random.choice(["mem,val,map,thr", "all"])
        delay = random.choice([-1, 0, 0.01, 0.1, 0.5, 1.2]) * (0.5 + random.random())
        storm = random.random() < 0.3
        ring = random.choice(["1M", "1M", "4M", "64M"])
        steps = random.choice([0, random.randrange(3000)])
        try:
            got = one(record, dump, qemu, numbers, what, threads, kinds, ring, delay,
                      storm, steps)
            how[got] = how.get(got, 0) + 1
            if len(sys.argv) > 7:
                print(n, what, threads, kinds, ring, "%.3f" % delay, storm, steps, got, flush=True)
        except Wrong as e:
            sys.exit("round %d of seed %s: %s threads %d, -e %s, --ring %s, %.3f s%s: %s" %
                     (n, seed, what, threads, kinds, ring, delay, ", dumps" * storm, e))
    print(how)


if __name__ == "__main__":
    main()
