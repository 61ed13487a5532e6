# SPDX-License-Identifier: MIT
"""A whole session of gdb on a trace, against the live program.

session  the same commands of commands.py for gdb, with QEMU's gdbstub and with tracegdb: each
         prints the same.  Watchpoints, which that gdbstub does not have for programs, are
         gdb's own there: it steps and compares
"""
import os
import re
import subprocess
import time

import commands
import common
import description
import transcripts
from common import Failure
from gdbstep import serving

COMMANDS = 200
SEEDS = 6  # of a full run


def transcript(path, connection, text, *settings, cwd=None):
    """[(command, what gdb printed)] of the commands in `text'; path: None for no file."""
    settings = ("trace-commands on", *transcripts.SETTINGS, *settings)
    done = subprocess.run(
        transcripts.gdb_command(path, connection, settings), input="\n".join(text + ["kill", ""]),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=common.PATIENCE,
        cwd=cwd)
    said = done.stdout.replace("(gdb) ", "").replace("Hardware watchpoint", "Watchpoint")
    parts = re.split(r"(?m)^\+(.*)\n", "\n" + said)
    said = list(zip(parts[1::2], parts[2::2]))
    begin = next(i for i, (command, _) in enumerate(said) if command.startswith("target remote"))
    end = next((i for i, (command, _) in enumerate(said) if command == "kill"), None)
    return said[begin + 1:end]


# QEMU has no description of mips.  gdb then lists fewer registers, and QEMU refuses a read of
# those at the end of gdb's own list, which have no name.
MIPS_ALONE = re.compile(r"(?m)^(fcsr|fir): .*\n|Could not fetch register \"\"; remote failure reply 'E14'")


def same(target, live, seen):
    """Equal but for the registers that are in no trace (see description.py)."""
    if target in ("mips", "mipsel", "mips64el"):
        live, seen = MIPS_ALONE.sub("", live), MIPS_ALONE.sub("", seen)
    # QEMU says that there are memory tags, and has none of this address.
    live = live.replace("Could not validate memory tag: Cannot access memory at address 0x0\n", "")
    for name in description.NO_VALUE[target].split():
        for text in re.findall(r"(?m)^%s +<unavailable>$" % name, seen):
            live = re.sub(r"(?m)^%s +0x.*$" % name, text, live)
    return live == seen


def compare(target, live, seen, what):
    for i, (command, text) in enumerate(live):
        if i >= len(seen) or seen[i][0] != command or not same(target, text, seen[i][1]):
            raise Failure("%s, command %d: %s\nlive:\n%s\non the trace:\n%s" % (
                what, i + 1, command, text, seen[i][1] if i < len(seen) else None))
    if len(live) != COMMANDS:
        raise Failure("%s: %d commands" % (what, len(live)))
    return sum(text.count("\n") for _, text in live)


WATCHED = ["break main", "continue", "delete", "watch rounds"]
STOP = ["continue", "print/x $pc", "x/i $pc"]


def watch_both_ways(path, connection):
    """Forward gdb stops after the store, backward before it, each time at the next one."""
    stops = 4
    text = WATCHED + STOP * stops + ["reverse-continue", *STOP[1:]] * stops
    said = [text for _, text in transcript(path, connection, text)]
    changes = [tuple(map(int, m)) for m in
               re.findall(r"Old value = (\d+)\nNew value = (\d+)", "".join(said))]
    wanted = [(i, i + 1) for i in range(stops)]
    if changes != wanted + [(b, a) for a, b in wanted[::-1]]:
        raise Failure("a watchpoint, both ways: %s" % changes)
    places = [int(m, 16) for m in re.findall(r"(?m)^\$\d+ = 0x(\w+)$", "".join(said))]
    code = re.findall(r"(?m)^=> .*", "".join(said))
    if not all(a == places[0] for a in places[:stops]) or not all(
            b == places[-1] and 0 < places[0] - b <= 8 for b in places[stops:]):
        raise Failure("a watchpoint, both ways: at %s, %s" % ([hex(a) for a in places], code))
    if not re.search(r"\b(st|sw|mov)", code[-1].split(":", 1)[1]):
        raise Failure("a watchpoint backward: not before a store: " + code[-1])


def run(tools, target, name, guest, folder, path, full):
    transcripts.common_gdb()
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "session-%s-%s.ctr" % (target, name))
    done = common.record(tools, trace, guest, environment, folder, options=("--events", "all"))
    if done.status:
        raise Failure("the recorded program ended with %d: %s" % (done.status, done.stderr))
    server = "| %s -q %s" % (tools.program("tracegdb"), trace)
    watch_both_ways(path, server)
    total = 0
    for seed in range(1, SEEDS + 1 if full else 2):
        text = commands.script(seed, COMMANDS, transcripts.CORE[target])
        with serving(guest, environment, folder) as (socket, process):
            while not os.path.exists(socket) and process.poll() is None:
                time.sleep(0.01)
            live = transcript(path, socket, text, "can-use-hw-watchpoints 0")
        seen = transcript(path, server, text)
        total += compare(target, live, seen, "seed %d" % seed)
    common.drop_file(trace)
    return "%d lines of %d commands are equal" % (total, seed * COMMANDS)
