# SPDX-License-Identifier: MIT
"""A trace without any of the files that ran: every answer is the same.

libraries  a dynamic program, a library of its own and one that it opens: gdb prints the same on
           the trace with the files, on the trace alone, without a file to begin with, and, as
           far as it goes forward, of the live program.  So do tracedump, tracesym and tracecov
session    200 commands of commands.py, with and without the file of a static program

The folder with the files is renamed.  Nothing else of this machine takes their place: the
loader has a name of its own, libraries are found by the program's run path, and build ids are
others than those of the C library here, for which there may be debug files.
"""
import json
import os
import re
import shutil
import subprocess
import time

import commands
import common
import programs
import sessions
import transcripts
from common import Failure, Skip, TARGETS
from gdbstep import serving

LOADER = "/lib/ld-alone.so.1"
# gdb takes programs of m68k for those of SVR4, which have other libraries.
OSABI = {"m68k": ("osabi GNU/Linux",)}
LOOK = """backtrace
info registers %s
x/4i $pc
info symbol $pc
info line *$pc
info frame
info args
print sum
ptype sum
print near_calls
print near_last
print near_items
ptype near_last
x/s near_items[1].name
x/2dw &sum
info sharedlibrary
"""
FAR = """print far_calls
print *far_items@3
info scope far_value
up
info locals
up
info locals
"""
FORWARD = """set breakpoint pending on
info registers %s
info sharedlibrary
break near_value
break far_value
continue
LOOK
finish
stepi
x/2i $pc
info symbol count
continue
delete 1
continue
LOOK
FAR
break count
continue
LOOK
stepi
finish
up
info symbol $pc
delete
break puts
continue
LOOK
"""
BACKWARD = """info proc mappings
info auxv
info files
info functions _value
info variables alone|near_|far_
break far_value
reverse-continue
LOOK
FAR
reverse-stepi
reverse-stepi
x/3i $pc
watch near_calls
reverse-continue
LOOK
delete
break main
reverse-continue
LOOK
break near_value
continue
reverse-finish
x/2i $pc
"""


BUILD_ID = re.compile(rb"(?s)((?:\x00\x00\x00\x03|\x03\x00\x00\x00)GNU\x00)(.{20})")


def copy_library(file, path):
    with open(file, "rb") as f:
        data = BUILD_ID.sub(lambda m: m[1] + bytes(255 - b for b in m[2]), f.read())
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, 0o755)


def build(target, root):
    """The files, in `root' as in that of a machine, the program at its top."""
    if TARGETS[target].missing():
        raise Skip("no %s" % TARGETS[target].missing())
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root + "/lib")
    # Sources are nowhere, in all runs.
    compiler = [TARGETS[target].cc, "-g", "-O0", "-fno-stack-protector", "-w",
                "-ffile-prefix-map=%s=/sources" % common.GUESTS, *TARGETS[target].flags.split()]
    source = os.path.join(common.GUESTS, "alone")
    near, far, path = root + "/lib/libnear.so", root + "/lib/libfar.so", root + "/alone"
    shared = [*compiler, "-fPIC", "-shared", source + "lib.c"]
    for command in ([*shared, "-Wl,-soname,libnear.so", "-o", near],
                    [*shared, "-DFAR", "-o", far],
                    [*compiler, "-fPIE", "-pie", source + ".c", near, "-Wl,-rpath,/lib",
                     "-o", path, "-ldl"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Failure("%s: %s" % (command[0], done.stderr.strip()))
    loader = programs.library(target, os.path.basename(programs.interpreter(path)))
    subprocess.run([*command, "-Wl,-dynamic-linker," + LOADER], check=True)
    copy_library(loader, root + LOADER)
    for name in ("libc.so.6", "libdl.so.2", "libc.so.6.1", "libdl.so.2.1"):
        try:
            copy_library(programs.library(target, name), root + "/lib/" + name)
        except Skip:
            pass  # a C library has one or the other
    return path


def script(target, text):
    text = text.replace("LOOK\n", LOOK).replace("FAR\n", FAR)
    return text.replace("%s", transcripts.CORE.get(target, "pc sp")).splitlines()


# What gdb says of where it reads a file, and before it reads one.
READING = re.compile(r"(?m)^(Reading .* from remote target\.\.\.|warning: File transfers from "
                     r"remote targets can be slow\..*)\n")


def without_places(said, root):
    return [(command, READING.sub("", text).replace("target:", "").replace(root + "/", "/"))
            for command, text in said]


# QEMU's stub serves the host's /proc/PID/maps, in which gdb finds no vDSO of hppa.
VDSO = re.compile(r"warning: Could not load shared library symbols for linux-vdso.*\nDo you need .*\n"
                  r"|(?m:^ +No +linux-vdso.*\n)")


def without_process(said, pid):
    """A C library may leave the id of the process in a register."""
    own = re.compile(r"(?m)^(\w+ +)0x%x +%d$" % (pid, pid))
    return [(command, own.sub(r"\1its process", VDSO.sub("", text))) for command, text in said]


def process_of(tools, trace):
    said = subprocess.run([tools.program("tracedump"), "--info", "--json", trace],
                          stdout=subprocess.PIPE, check=True).stdout
    return json.loads(said)["processes"][0]["pid"]


def compare(seen, wanted, what, target=None):
    """target: seen is of the trace, and wanted of the live program."""
    for i, (command, text) in enumerate(wanted):
        if i >= len(seen) or seen[i][0] != command or not (
                sessions.same(target, text, seen[i][1]) if target else seen[i][1] == text):
            raise Failure("%s, command %d: %s\n%s\nand:\n%s" % (
                what, i + 1, command, text, seen[i][1] if i < len(seen) else None))
    if len(seen) != len(wanted):
        raise Failure("%s: %d commands, not %d" % (what, len(seen), len(wanted)))
    return sum(text.count("\n") for _, text in wanted)


def answers(tools, trace):
    """What the other tools print, on stdout and stderr."""
    said = {}
    for command in ("tracedump -q --state=call:near_value --memory=near_last,sum,near_items --stack",
                    "tracedump -q --state=call:far_value --memory=far_calls,far_items --stack",
                    "tracesym -q --calls", "tracesym -q --functions", "tracesym -q -n 3000",
                    "tracesym -q --pc far_value", "tracecov -q", "tracecov -q -f json"):
        name, *options = command.split()
        done = subprocess.run([tools.program(name), *options, trace], capture_output=True, text=True)
        if done.returncode or not done.stdout:
            raise Failure("%s: status %d: %s" % (command, done.returncode, done.stderr))
        said[command] = (done.stdout, done.stderr)
    return said


def compare_answers(seen, wanted):
    for command, text in wanted.items():
        if seen[command] != text:
            a, b = (sum((s.splitlines() for s in t), []) for t in (text, seen[command]))
            i = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            raise Failure("%s, line %d:\nwith the files: %s\nalone: %s" % (
                command, i + 1, a[i:i + 3], b[i:i + 3]))


def moved(root):
    """Renames the folder; an empty one to be in."""
    shutil.rmtree(root + ".away", ignore_errors=True)
    os.rename(root, root + ".away")
    empty = root + ".empty"
    os.makedirs(empty, exist_ok=True)
    return empty


def clean(root, trace):
    common.drop_file(trace)
    if not common.keep_files:
        for end in ("", ".away", ".empty"):
            common.drop_folder(root + end)


def run_libraries(tools, target):
    transcripts.common_gdb()
    root = os.path.join(tools.work, "alone-" + target)
    path = build(target, root)
    guest = [tools.qemu(target), *common.guest_options(target), "-L", root, "./alone"]
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "alone-%s.ctr" % target)
    done = common.record(tools, trace, guest, environment, root, options=("--events", "all"))
    if done.status:
        raise Failure("the recorded program ended with %d: %s" % (
            done.status, done.stderr or done.stdout))
    server = "| %s -q %s" % (tools.program("tracegdb"), trace)
    ahead, back = script(target, FORWARD), script(target, BACKWARD)
    here = ("sysroot " + root, *OSABI.get(target, ()))
    with_files = without_places(sessions.transcript(path, server, ahead + back, *here, cwd=root), root)
    said = answers(tools, trace)
    live = ""
    if target not in common.SLIDE:  # its mappings are elsewhere when it is not recorded
        with serving(guest, environment, root) as (socket, process):
            while not os.path.exists(socket) and process.poll() is None:
                time.sleep(0.01)
            live = without_places(sessions.transcript(path, socket, ahead, *here, cwd=root), root)
        live = ", %d of them live" % compare(
            without_process(with_files[:len(ahead)], process_of(tools, trace)),
            without_process(live, process.pid), "live and on the trace", target)
    empty = moved(root)
    alone = without_places(
        sessions.transcript(None, server, ahead + back, "sysroot target:", *here[1:], cwd=empty), root)
    lines = compare(alone, with_files, "with the files and without")
    if lines < 600:
        raise Failure("%d lines" % lines)
    compare_answers(answers(tools, trace), said)
    clean(root, trace)
    return "%d lines of %d commands are equal%s, and %d lines of other tools" % (
        lines, len(alone), live, sum(text.count("\n") for text, _ in said.values()))


def run_session(tools, target, built):
    transcripts.common_gdb()
    guest, folder = built
    root = os.path.join(tools.work, "alone-session-" + target)
    os.makedirs(root, exist_ok=True)
    path = shutil.copy(os.path.join(folder, "debugged"), root)
    trace = os.path.join(tools.work, "alone-session-%s.ctr" % target)
    done = common.record(tools, trace, guest, {}, root, options=("--events", "all"))
    if done.status:
        raise Failure("the recorded program ended with %d: %s" % (done.status, done.stderr))
    server = "| %s -q %s" % (tools.program("tracegdb"), trace)
    text = commands.script(1, sessions.COMMANDS, transcripts.CORE[target])
    with_files = without_places(sessions.transcript(path, server, text), root)
    empty = moved(root)
    alone = sessions.transcript(None, server, text, "sysroot target:", cwd=empty)
    lines = compare(without_places(alone, root), with_files, "with the files and without")
    if len(alone) != sessions.COMMANDS:
        raise Failure("%d commands" % len(alone))
    clean(root, trace)
    return "%d lines of %d commands are equal" % (lines, len(alone))
