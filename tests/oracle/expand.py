# SPDX-License-Identifier: MIT
"""Programs that are executed again from a light trace (cannoli-expand).

One recording has the inputs and all kinds of events; expanded with all kinds it must be equal
in everything.  A recording of the inputs alone can be expanded, too.  In both nothing is read
of the program's file.  The witness is the first recording itself.  Then inputs are changed on
their way to QEMU, a byte that the system wrote and a result: the place must be named.  Windows
(--from, --to) must have what all of it has there, and a page of code that is selected the
instructions that all of it has at these addresses.

What is left out of the comparison: events INPUT and key frames; where chunks are cut, which
shows in the pc of changes of registers from outside, and in values that an instruction which is
cut between chunks gave to registers on its way; times of programs with several threads, as
calls that QEMU itself executes (clone, exit) have times of their own there.
"""
import itertools
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys

import common
import scenarios
from common import Failure
from scenarios import check

WINDOWS = 3
KEY = re.compile(rb'^{"kind":"([a-z]+)",("ordinal":\d+,"pid":-?\d+,"tid":-?\d+)')
REGISTER = re.compile(rb'"name":"([^"]+)","value":("[^"]*")(,"outside":true)?')
PLACE = re.compile(rb'"ordinal":(\d+),"pid":(-?\d+),"tid":(-?\d+)')
PC = re.compile(rb'"pc":"0x([0-9a-f]+)",.*"bytes":"([0-9a-f]+)"')
TIME = re.compile(rb',"(?:time|duration)":[0-9.]+')

# In place of cannoli-record: changes the inputs first.  Words: python, module, what, recorder.
CHANGED = """#!/bin/sh
for arg; do
    case $arg in
    --inputs=*) '%s' '%s' plant '%s' "${arg#*=}/inputs" || exit 125 ;;
    esac
done
exec '%s' "$@"
"""


# ---------------------------------------------------------------- the same events

def instructions(lines):
    """(key, what it did in order, the last value of each register) of each instruction."""
    for key, group in itertools.groupby(lines, lambda line: KEY.match(line).group(2)):
        did, registers = [], {}
        for line in group:
            if line.startswith(b'{"kind":"reg"'):
                name, value, outside = REGISTER.search(line).groups()
                registers[name, outside] = value
            else:
                did.append(line)
        yield key, did, registers


def dumped(tools, trace, times):
    # Without --events: all of them
    p = subprocess.Popen([tools.program("tracedump"), "-q", "--json", trace], stdout=subprocess.PIPE)
    for line in p.stdout:
        yield line if times else TIME.sub(b"", line)
    check(p.wait() in (0, 3), "tracedump: status %d", p.returncode)


def compare(tools, recorded, made):
    """Fails at the first difference; returns the instructions or events with something."""
    times = len(scenarios.info(tools, recorded)["threads"]) == 1
    count = 0
    for a, b in itertools.zip_longest(instructions(dumped(tools, recorded, times)),
                                      instructions(dumped(tools, made, times))):
        check(a == b, "recorded %s, executed %s", shown(a, b), shown(b, a))
        count += 1
    return count


def shown(a, b):
    if a is None or b is None or a[0] != b[0]:
        return a and a[0]
    if a[1] != b[1]:
        return next((line for line, other in itertools.zip_longest(a[1], b[1]) if line != other), None)
    return a[0], sorted(set(a[2].items()) - set(b[2].items()))


# ------------------------------------------------------------------------ runs

def expand(tools, folder, light, made, program=None, options=()):
    done = subprocess.run([program or tools.program("cannoli-expand"), "-q", "--qemu-dir", tools.qemu_dir,
                           "-e", "all", *options, "-o", made, light], cwd=folder,
                          capture_output=True, text=True, timeout=common.PATIENCE)
    return done.returncode, done.stderr


def expanded(tools, folder, light, made):
    status, said = expand(tools, folder, light, made)
    check(status in (0, 3), "%s: status %d: %s", os.path.basename(light), status, said[-700:])


def record(tools, target, name, guest, folder, what, *options):
    trace = os.path.join(tools.work, "expand-%s-%s-%s.ctr" % (target, name, what))
    done = common.record(tools, trace, guest, None, folder, options=("--light", "--follow-exec", *options))
    check(os.path.exists(trace), "it was not recorded: %s", done.stderr[-300:])
    return trace


def planted(tools, guest_folder, trace, what):
    """Whether there was something to change; if so, it was found."""
    folder = trace + ".tool"
    os.makedirs(folder, exist_ok=True)
    program = shutil.copy(tools.program("cannoli-expand"), folder)
    script = os.path.join(folder, "cannoli-record")
    with open(script, "w", encoding="utf-8") as f:
        f.write(CHANGED % (sys.executable, os.path.abspath(__file__), what,
                           tools.program("cannoli-record")))
    os.chmod(script, 0o755)
    made = trace + ".made"
    status, said = expand(tools, guest_folder, trace, made, program)
    shutil.rmtree(folder)
    if status == 0:
        raise Failure("a changed %s is not found" % what)
    check(status == 1 and "the second execution differs at ordinal " in said or
          "there is nothing to change" in said, "changed %s: status %d: %s", what, status, said[-700:])
    check(not os.path.exists(made), "a trace that differs is left")
    return "there is nothing to change" not in said


def numbers(key):
    return tuple(int(v) for v in PLACE.search(key).groups())


# Where a window begins in a Thumb IT block, its instructions are shown without their condition.
DISAS = re.compile(rb',"disas":"[^"]*"')


def of_window(tools, trace, spans):
    """What `instructions' gives of a trace within the span of each thread, by thread and ordinal."""
    found = {}
    p = subprocess.Popen([tools.program("tracedump"), "-q", "--json", "-e", "exec,mem,val,reg",
                          "--from", str(min(first for first, _ in spans.values())),
                          "--to", str(max(end for _, end in spans.values())), trace], stdout=subprocess.PIPE)
    for key, did, registers in instructions(p.stdout):
        ordinal, *thread = numbers(key)
        first, end = spans.get(tuple(thread), (0, 0))
        # The last one may be a call that has not returned; cut between chunks, one comes in two parts.
        if first < ordinal < end - 1:
            if ordinal < first + 5:
                did = [DISAS.sub(b"", line) for line in did]
            before = found.setdefault((*thread, ordinal), ([], {}))
            before[0].extend(did)
            before[1].update(registers)
    check(p.wait() in (0, 3, 4), "tracedump: status %d", p.returncode)
    return found


def spans_of(tools, trace):
    """The first ordinal of each thread of a trace, and the one after its last."""
    spans = {}
    p = subprocess.Popen([tools.program("tracedump"), "-q", "--json", "-e", "exec", trace],
                         stdout=subprocess.PIPE)
    for line in p.stdout:
        ordinal, *thread = numbers(line)
        first, _ = spans.setdefault(tuple(thread), (ordinal, 0))
        spans[tuple(thread)] = first, ordinal + 1
    check(p.wait() in (0, 3, 4), "tracedump: status %d", p.returncode)
    return spans


def held(tools, trace, thread, ordinal, pages=()):
    """The state of a thread before an ordinal, and the bytes of pages that are known, by address."""
    done = subprocess.run([tools.program("tracedump"), "-q", "--json", "--pid", str(thread[0]),
                           "--thread", str(thread[1]), "--state", str(ordinal)]
                          + (["--memory", ",".join("%#x+4096" % page for page in pages)] if pages else [])
                          + [trace], capture_output=True, text=True)
    check(done.returncode in (0, 3, 4), "tracedump --state: %d: %s", done.returncode, done.stderr)
    state, *pieces = [json.loads(line) for line in done.stdout.splitlines()]
    return state, {int(piece["address"], 16) + i // 2: piece["bytes"][i:i + 2]
                   for piece in pieces if piece["bytes"] for i in range(0, 2 * piece["size"], 2)}


def memory(tools, full, made, thread, span, chance):
    """How many bytes of memory are known at a moment of the window; none may be another one."""
    ordinal = chance.randrange(span[0] + 1, span[1])
    state, _ = held(tools, full, thread, ordinal)
    maps = [m for m in state["mappings"] if m["prot"].startswith("r")]
    pages = sorted({int(m["start"], 16) + 4096 * chance.randrange(
        (int(m["end"], 16) - int(m["start"], 16)) // 4096) for m in chance.choices(maps, k=8)})
    (_, whole), (_, part) = (held(tools, trace, thread, ordinal, pages) for trace in (full, made))
    for addr in sorted(set(whole) & set(part)):
        check(whole[addr] == part[addr], "memory at ordinal %d of %s: %#x holds %s, in the window %s",
              ordinal, thread, addr, whole[addr], part[addr])
    return len(part)


def windows(tools, folder, light, full, seed):
    """What was compared in windows of the light trace, at places that the seed chooses."""
    threads = scenarios.info(tools, light)["threads"]
    numbered = [i for i, t in enumerate(threads) if t["instructions"] > 100]
    if len({(t["pid"], t["tid"]) for t in threads}) < len(threads):
        return "no windows: a program after execve has the numbers of the one before"
    chance = random.Random(seed)
    made = light + ".window"
    count = known = 0
    for _ in range(WINDOWS):
        i = chance.choice(numbered)
        end = threads[i]["instructions"]
        first = chance.randrange(end - 50)
        end = min(end, first + chance.choice((100, 3000, 50000)))
        status, said = expand(tools, folder, light, made, options=(
            "--from=%d/%d" % (first, i + 1), "--to=%d/%d" % (end, i + 1)))
        check(status in (0, 3), "window %d-%d of thread %d: status %d: %s", first, end, i, status,
              said[-700:])
        spans = spans_of(tools, made)
        place = threads[i]["pid"], threads[i]["tid"]
        check(spans.get(place) == (first, end), "window %d-%d of thread %d has %s", first, end, i, spans)
        # What the system changed before the first instruction is not of the window.
        whole, part = of_window(tools, full, spans), of_window(tools, made, spans)
        for at in sorted(set(whole) | set(part)):
            a, b = whole.get(at), part.get(at)
            check(a == b, "window %d-%d of thread %d: %s: all has %s, the window %s", first, end, i, at, a, b)
            count += 1
        known += memory(tools, full, made, place, (first, end), chance)
        common.drop_file(made)
    return "%d in windows, %d bytes of memory" % (count, known)


def selected(tools, folder, light, full, seed):
    """How many instructions of a page of code are selected, and equal to those of the full trace."""
    pages = {}
    p = subprocess.Popen([tools.program("tracedump"), "-q", "--json", "-e", "exec", full],
                         stdout=subprocess.PIPE)
    for line in p.stdout:
        pc, code = PC.search(line).groups()
        pages.setdefault(int(pc, 16) >> 12, []).append((int(pc, 16), code))
    check(p.wait() in (0, 3), "tracedump: status %d", p.returncode)
    page = random.Random(seed).choice(sorted(pages))
    made = light + ".selected"
    status, said = expand(tools, folder, light, made, options=("--select=--range %#x+0x1000" % (page << 12),))
    check(status in (0, 3), "page %#x: status %d: %s", page, status, said[-700:])
    p = subprocess.Popen([tools.program("tracedump"), "-q", "--json", "-e", "exec", made],
                         stdout=subprocess.PIPE)
    found = [(int(pc, 16), code) for pc, code in (PC.search(line).groups() for line in p.stdout)]
    check(p.wait() in (0, 3, 4), "tracedump: status %d", p.returncode)
    # Threads of equal times may be in another order.
    check(sorted(found) == sorted(pages[page]), "page %#x: %d instructions, not %d", page, len(found),
          len(pages[page]))
    common.drop_file(made)
    return len(found)


def without_seed(guest):
    """A light trace has a seed of its own."""
    at = guest.index("-seed") if "-seed" in guest else len(guest)
    return guest[:at] + guest[at + 2:]


def run(tools, target, name, guest, folder):
    guest = without_seed(guest)
    whole = record(tools, target, name, guest, folder, "whole", "--events", "all")
    made = whole + ".made"
    expanded(tools, folder, whole, made)
    count = compare(tools, whole, made)
    part = windows(tools, folder, whole, made, target + name)
    chosen = selected(tools, folder, whole, made, target + name)
    common.drop_file(made)
    found = [what for what in ("byte", "result") if planted(tools, folder, whole, what)]
    light = record(tools, target, name, guest, folder, "light")
    expanded(tools, folder, light, made)
    sizes = os.path.getsize(light), os.path.getsize(made)
    for path in (whole, light, made):
        common.drop_file(path)
    return "%d instructions and more equal, %s, %d selected; changed: %s; %d KiB became %d" % (
        count, part, chosen, ", ".join(found) or "nothing", sizes[0] >> 10, sizes[1] >> 10)


# --------------------------------------------------- changed inputs, in a process of its own

def plant(what, path):
    """Flips a bit of the last write of the system to memory, or result, that a call made."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    threads, = struct.unpack_from("<I", data, 12)
    place = None
    for thread in range(threads):
        at, size = struct.unpack_from("<QQ", data, 40 + 72 * thread)
        end = at + size
        began = False
        while at < end:
            insns, _, kind, size = struct.unpack_from("<QQII", data, at)
            payload = at + 32
            began = began or insns
            if began and what == "byte" and kind == 3 and data[payload + 16] & 1 and size > 24:
                place = payload + 24
            elif began and what == "result" and kind == 2 and not data[payload + 4] & 1:
                place = payload + 8
            at = payload + (size + 7) // 8 * 8
    if not place:
        sys.exit("there is nothing to change")
    data[place] ^= 4
    with open(path, "wb") as f:
        f.write(data)


if __name__ == "__main__":
    if sys.argv[1] == "plant":
        plant(*sys.argv[2:])
