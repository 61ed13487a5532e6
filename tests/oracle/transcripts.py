# SPDX-License-Identifier: MIT
"""What gdb prints of a trace, against the live program.

transcript  the same commands for gdb, with QEMU's gdbstub and with tracegdb: breakpoints,
            steps, backtraces, registers, memory.  And backward, on the trace: at the same
            stops gdb prints the same
"""
import os
import re
import shutil
import subprocess
import time

import common
from common import Failure, Skip
from gdbstep import serving

STOPS = 9
CORE = {
    "arm": "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 sp lr pc cpsr d0 d7 fpscr",
    "aarch64": " ".join("x%d" % i for i in range(31)) + " sp pc cpsr v0 v31 fpsr",
    "i386": "eax ecx edx ebx esp ebp esi edi eip eflags cs ss ds es fs gs st0 xmm0 mxcsr",
    "x86_64": "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip eflags xmm0 fs_base",
    "mips": "zero at v0 v1 a0 a1 a2 a3 t0 t9 s0 s7 gp sp s8 ra lo hi pc f0",
    "riscv64": "ra sp gp tp t0 t1 t2 fp s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s11 t3 t6 pc ft0 fa0",
    "s390x": " ".join("r%d" % i for i in range(16)) + " pswm pswa f0 f15",
    "ppc64le": " ".join("r%d" % i for i in range(32)) + " pc msr cr lr ctr xer f0 f1",
}
CORE["thumb"], CORE["mipsel"] = CORE["arm"], CORE["mips"]
# A step of the live stub over a system call or a kernel's helper is two instructions: none
# of these commands makes one.
STOP = """info registers %s
backtrace 6
x/4i $pc
x/s *(char **) &heap
x/s *(char **) &pages
x/s &initial
x/8xb &cleared
x/16xb &constant
"""
AFTER = """stepi
stepi
info registers %s
finish
x/3i $pc
up
info registers pc
x/2i $pc
"""


def script(target):
    """Stops at the calls of moment()."""
    registers = CORE[target]
    lines = ["x/2i $pc", "info registers " + registers, "break *moment", "delete 1", "hbreak *moment"]
    text = "\n".join(lines) + "\n"
    for _ in range(STOPS):
        text += "continue\necho --stop--\\n\n" + STOP % registers + "echo --go--\\n\n" + AFTER % registers
    return text


def backward(target):
    """From where script() ends: the last stop again, then those before it."""
    return "".join("reverse-continue\necho --stop--\\n\n" + STOP % CORE[target] + "echo --go--\\n\n"
                   for _ in range(STOPS))


SETTINGS = ("pagination off", "confirm off", "width 0", "height 0", "sysroot /nonexistent",
            "debuginfod enabled off", "style enabled off")


def gdb_command(path, connection, settings=SETTINGS):
    return [common_gdb(), "-q", "-nx", *(w for s in settings for w in ("-ex", "set " + s)),
            "-ex", "target remote " + connection, *([path] if path else [])]


def run_gdb(path, connection, commands):
    done = subprocess.run(gdb_command(path, connection), input=commands + "kill\n",
                          capture_output=True, text=True, timeout=common.PATIENCE)
    text = done.stdout.replace("(gdb) ", "")
    # Breakpoints' numbers count on, and a connection has its own name.
    text = re.sub(r"(?m)^(Breakpoint|Hardware assisted breakpoint|Remote debugging).*\n", "", text)
    return text, done.stderr


def common_gdb():
    path = shutil.which("gdb-multiarch")
    if not path:
        raise Skip("no gdb-multiarch")
    return path


def stops_of(text):
    """What gdb prints at each stop."""
    return re.findall(r"--stop--\n(.*?)--go--\n", text, re.DOTALL)


def without_where(text):
    return "\n".join(line for line in text.splitlines() if not line.startswith("=>"))


def run(tools, target, name, guest, folder, path):
    common_gdb()
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "transcript-%s-%s.ctr" % (target, name))
    done = common.record(tools, trace, guest, environment, folder, options=("--events", "all"))
    if done.status:
        raise Failure("the recorded program ended with %d: %s" % (done.status, done.stderr))
    commands = script(target)
    with serving(guest, environment, folder) as (socket, process):
        while not os.path.exists(socket) and process.poll() is None:
            time.sleep(0.01)
        live, _ = run_gdb(path, socket, commands)
    seen, errors = run_gdb(path, "| %s -q %s" % (tools.program("tracegdb"), trace),
                           commands + backward(target))
    ahead = seen[:len(live)] if seen.startswith(live.split("--go--\n")[0]) else seen
    mine, theirs = ahead.splitlines(), live.splitlines()
    for i, line in enumerate(theirs[:-1]):  # the last one is of the end
        if i >= len(mine) or mine[i] != line:
            raise Failure("line %d is %r, of the live program %r; %s" % (
                i, mine[i] if i < len(mine) else None, line, errors[-300:]))
    stops, live_stops = stops_of(seen), stops_of(live)
    if len(live_stops) != STOPS or len(stops) != 2 * STOPS or len(theirs) < 300:
        raise Failure("%d stops, %d live, %d lines" % (len(stops), len(live_stops), len(theirs)))
    for i in range(STOPS):
        if without_where(stops[STOPS + i]) != without_where(live_stops[STOPS - 1 - i]):
            raise Failure("backward, stop %d: %s\nlive: %s" % (
                i, stops[STOPS + i], live_stops[STOPS - 1 - i]))
    common.drop_file(trace)
    return "%d lines of %d commands are equal, %d stops backward" % (
        len(theirs), len(commands.splitlines()), STOPS)
