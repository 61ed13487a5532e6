#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Hold recorded traces against independent witnesses.

  run.py [--target T] [--case C] [--full]

One line per case, PASS, FAIL or SKIP; the exit status is 1 when any failed and
77 when none could run.
A case is KIND/TARGET/NAME, and --case takes shell patterns ("exact/arm/*").  CTest has
a test oracle/KIND/TARGET/NAME for each.  CHECKS is the table of kinds and OTHERS that of
the cases without a program of tests/guests; tests/guests/table.py has the rest.
"""
import argparse
import collections
import fnmatch
import functools
import hashlib
import os
import re
import subprocess
import sys
import time
import traceback

import common
from common import Failure, Skip, TARGETS
import alone
import bytecheck as byte_witness
import boots
import choices
import chosen
import contents
import description
import devices
import expand
import firmware
import hits
import isa
import libraries
import machines
import maps
import outside
import parallel
import physical
import places
import plugged
import ram
import power
import modules
import moments
import npc
import programs
import props
import realprogs
import resets
import randomrun
import rewind
import rr
import scenarios
import sessions
import spaces
import states
import strace
import stops
import stress
import switches
import tasks
import transcripts
import turns
import walks

sys.path.insert(0, common.GUESTS)
import build  # noqa: E402
from table import ALL, BY_NAME, EVERY, PROGRAMS, is_dynamic  # noqa: E402


class Job:
    """A case that runs: its program, built, and what else its check uses."""

    def __init__(self, tools, case, args):
        self.tools = tools
        self.target = case.target
        self.name = case.name
        self.program = case.program
        self.full = args.full
        self.seed = args.seed
        self.count = args.count
        self.sample = args.sample

    @functools.cached_property
    def built(self):
        return guest_command(self.tools, self.program, self.target)

    @property
    def guest(self):
        """The command line, its QEMU first."""
        return self.built[0]

    @property
    def folder(self):
        return self.built[1]

    @property
    def path(self):
        return os.path.join(self.folder, self.program.name)


def guest_command(tools, program, target):
    if TARGETS[target].missing():
        raise Skip("no %s: run scripts/setup.sh --tests%s" % (
            TARGETS[target].missing(), " --targets " + target if TARGETS[target].tier == 2 else ""))
    path = build.build_one(program, target, tools.guests)
    for part in program.parts:
        build.build_one(BY_NAME[part], target, tools.guests)
    options = common.guest_options(target, program.cpu)
    if is_dynamic(program, target):
        root = "/usr/" + TARGETS[target].cc.replace("-gcc", "")
        options += ["-L", root] if os.path.isdir(root) else []
    args = [a.format(work=tools.work) for a in program.args]
    return ([tools.qemu(target)] + options + ["./" + os.path.basename(path)] + args,
            os.path.dirname(path))


def run_exact(job):
    tools, program, target, folder = job.tools, job.program, job.target, job.folder
    guest, environment = common.equal_runs(tools, job.guest)
    trace = os.path.join(tools.work, "exact-%s-%s.ctr" % (target, program.name))
    recorded = common.record(tools, trace, guest, environment, folder, options=states.ALL,
                             idle=tools.plugin() if target in common.SLIDE else None)
    if recorded.status != program.expect:
        raise Failure("exit status %d instead of %d: %s"
                      % (recorded.status, program.expect, recorded.stderr.strip()[-300:]))
    summary, run = common.compare_exactly(tools, target, guest, trace, environment, folder,
                                          values=True)
    if (run.stdout, run.status) != (recorded.stdout, recorded.status):
        raise Failure("recorded it printed %r (%d), unrecorded %r (%d)"
                      % (recorded.stdout[-200:], recorded.status, run.stdout[-200:], run.status))
    if program.name in EXEC_ALONE:
        exec_alone(tools, guest, trace, environment, folder)
    common.drop_file(trace)
    return summary


# These are recorded once more without values and without memory accesses.
EXEC_ALONE = {"calls", "faults", "derived", "smc", "x86", "arm", "aarch64", "mips", "riscv", "s390x", "ppc"}


def exec_alone(tools, guest, trace, environment, folder):
    """With fewer kinds of events the ones that are left are the same."""
    other = trace + ".other"
    for recorded, shown in (("exec", "exec"), ("exec,mem", "exec,mem")):
        common.record(tools, other, guest, environment, folder, options=("--events", recorded),
                      idle=tools.plugin() if "qemu-x86_64" in guest[0] else None)
        events = [[event_alone(line) for line in common.dump_lines(tools, path, "--events", shown)]
                for path in (trace, other)]
        for i, (a, b) in enumerate(zip(*events)):
            if a != b:
                raise Failure("with --events %s, line %d is %s instead of %s" % (recorded, i, b, a))
        if len(events[0]) != len(events[1]):
            raise Failure("with --events %s %d events instead of %d"
                          % (recorded, len(events[1]), len(events[0])))
    common.drop_file(other)


NOT_ALWAYS = re.compile(r',"(?:value|data|module|module_offset)":"[^"]*"')


def event_alone(line):
    """What a line of tracedump --json says in every recording."""
    line = NOT_ALWAYS.sub("", line)
    return line[:line.index('"pid"')] + line[line.index('"pc"'):]


def run_bytes(job):
    tools, program, target, folder = job.tools, job.program, job.target, job.folder
    trace = os.path.join(tools.work, "bytes-%s-%s.ctr" % (target, program.name))
    recorded = common.record(tools, trace, job.guest, cwd=folder)
    if recorded.status != program.expect:
        raise Failure("exit status %d: %s" % (recorded.status, recorded.stderr.strip()[-300:]))
    code = byte_witness.code_said(recorded.stdout.decode())
    if code:
        wrong = byte_witness.code_differences(code, lambda pc: common.dump_text(
            tools, trace, "--no-disas", "--events", "exec", "--pc", "0x%x" % pc))
        if wrong:
            raise Failure("\n  ".join(wrong))
        common.drop_file(trace)
        return "%d rewritten instructions" % sum(map(len, code.values()))
    said, total = byte_witness.read_statement(recorded.stdout.decode())
    if not said:
        raise Failure("the program said nothing")
    seen = byte_witness.read_trace(common.dump_lines(tools, trace), said)
    wrong = byte_witness.compare(said, seen)
    if wrong:
        names = symbols(target, job.path)
        shown = [name_pc(text, names) for text in wrong[:20]]
        raise Failure("%d differences\n  %s" % (len(wrong), "\n  ".join(shown)))
    common.drop_file(trace)
    return "%d instructions, %d bytes" % (sum(map(len, said.values())), total)


def symbols(target, path):
    """The watched instructions' names, {pc text: name}."""
    nm = TARGETS[target].tool("nm")
    done = subprocess.run([nm, path], capture_output=True, text=True)
    return {"0x%x" % int(line.split()[0], 16): line.split()[2][5:]
            for line in done.stdout.splitlines()
            if len(line.split()) == 3 and line.split()[2].startswith("site_")}


def name_pc(text, names):
    word = text.split()
    return text.replace(word[1], "%s (%s)" % (word[1], names.get(word[1].rstrip(":"), "?")), 1)


def run_real_coverage(job):
    guest, environment = realprogs.command(job.tools, job.target, job.name)
    return choices.coverage(job.tools, job.target, job.name, guest, environment, job.tools.work)


# The check of each kind of cases that run programs of tests/guests.
CHECKS = {
    "exact": run_exact,
    "bytes": run_bytes,
    "memory": lambda j: states.run_memory(j.tools, j.target, j.name, j.guest, j.folder,
                                          j.program.expect),
    "execlog": lambda j: states.run_execlog(j.tools, j.target, j.name, j.guest, j.folder),
    "gdb": lambda j: states.run_gdb(j.tools, j.target, j.name, j.guest, j.folder, j.path,
                                    20000 if j.full else 4000),
    "description": lambda j: description.run(j.tools, j.target, j.name, j.guest, j.folder),
    "contents": lambda j: contents.run(j.tools, j.target, j.name, j.guest, j.folder, j.full),
    "moments": lambda j: moments.run(j.tools, j.target, j.name, j.guest, j.folder, j.path),
    "transcript": lambda j: transcripts.run(j.tools, j.target, j.name, j.guest, j.folder, j.path),
    "session": lambda j: sessions.run(j.tools, j.target, j.name, j.guest, j.folder, j.path, j.full),
    "alone": lambda j: alone.run_session(j.tools, j.target, j.built),
    "places": lambda j: places.run(j.tools, j.target, j.name, j.guest, j.folder, j.path, j.full),
    "walk": lambda j: walks.run(j.tools, j.target, j.name, j.guest, j.folder, j.path, j.full),
    "hits": lambda j: hits.run(j.tools, j.target, j.name, j.guest, j.folder, j.full),
    "rewind": lambda j: rewind.run(j.tools, j.target, j.name, j.guest, j.folder, j.full),
    "stops": lambda j: stops.run(j.tools, j.target, j.name, j.guest, j.folder),
    "calls": lambda j: strace.run(j.tools, j.target, j.name, j.guest, j.folder, j.program.expect),
    "maps": lambda j: maps.run(j.tools, j.target, j.name, j.guest, j.folder, j.path),
    "scenario": lambda j: scenarios.run(j.tools, j.program, j.target, j.guest, j.folder),
    "choice": lambda j: choices.run(j.tools, j.program, j.target, j.guest, j.folder),
    "chosen-registers": lambda j: choices.run_registers(j.tools, j.program, j.target, j.guest,
                                                        j.folder),
    "coverage": lambda j: choices.run_coverage(j.tools, j.program, j.target, j.guest, j.folder),
    "switch": lambda j: switches.run_switch(j.tools, j.target, j.name, j.guest, j.folder),
    "gate": lambda j: switches.run_gate(j.tools, j.target, j.guest, j.folder, j.full),
    "turns": lambda j: turns.run(j.tools, j.target, j.guest, j.folder, j.path),
    "expand": lambda j: expand.run(j.tools, j.target, j.name, j.guest, j.folder),
    "waits": lambda j: turns.run_waits(j.tools, j.target, j.guest, j.folder),
    "property": lambda j: props.run(j.tools, j.program, j.target, j.guest, j.folder),
}
# Kinds of the table that are no cases: parts of other programs, and programs that
# tests/cli alone runs.
NO_CASES = {"part", "tree"}
# Where not every target has what a kind is compared with.
TARGETS_OF = {
    "transcript": set(transcripts.CORE),
    "places": set(ALL),
    "rewind": set(ALL),
    "expand": {"arm", "thumb", "aarch64", "x86_64", "i386", "mips", "riscv64", "s390x", "ppc64le",
               "ppc64"},
    "hits": set(ALL),
    "execlog": {"arm", "thumb", "aarch64", "riscv64", "x86_64"},
    "gdb": {"arm", "aarch64", "mipsel", "mips", "riscv64", "x86_64", "i386", "s390x", "ppc64le"},
}


def run_random(job):
    """All random programs, or of the same a part that the sample's name chooses."""
    if job.full or job.count:
        return randomrun.run_target(job.tools, job.target, job.seed, job.count or RANDOM, rounds=4)
    part = RANDOM // 8
    first = part * (int(hashlib.sha256(job.sample.encode()).hexdigest(), 16) % 8)
    return randomrun.run_target(job.tools, job.target, job.seed, part, first)


RANDOM = 1000  # programs of a target
DEBIAN = [t for t in TARGETS if t in realprogs.ARCHITECTURE]
# The other cases: kind, targets, names, check
OTHERS = [
    ("random", [t for t in TARGETS if t in isa.ISAS], ["random"], run_random),
    ("npc", ["sparc64"], ["calls", "signals"], lambda j: npc.run(
        j.tools, j.name, *guest_command(j.tools, BY_NAME[j.name], j.target))),
    ("alone", EVERY, ["libraries"],
     lambda j: alone.run_libraries(j.tools, j.target)),
    ("pipeline", DEBIAN, ["busybox"], lambda j: scenarios.pipeline(j.tools, j.target)),
    ("calls", DEBIAN, strace.BUSYBOX, lambda j: strace.run_busybox(j.tools, j.target, j.name)),
    ("coverage", [t for t in DEBIAN if t not in common.SLIDE], ["sqlite3"], run_real_coverage),
    *[("machine", [target], names, lambda j: machines.RUN[j.name](j.tools, j.target))
      for target, names in machines.NAMES.items()],
    *[("machine", [target], names, lambda j: firmware.RUN[j.name](j.tools, j.target, j.full))
      for target, names in firmware.NAMES.items()],
    *[("machine", [target], names, lambda j: physical.RUN[j.name](j.tools, j.target))
      for target, names in physical.NAMES.items()],
    *[("machine", [target], names, lambda j: devices.RUN[j.name](j.tools, j.target))
      for target, names in devices.NAMES.items()],
    *[("machine", [target], names, lambda j: ram.RUN[j.name](j.tools, j.target, j.full))
      for target, names in ram.NAMES.items()],
    *[("machine", [target], names, lambda j: outside.RUN[j.name](j.tools, j.target, j.full))
      for target, names in outside.NAMES.items()],
    *[("machine", [target], names, lambda j: plugged.RUN[j.name](j.tools, j.target, j.full))
      for target, names in plugged.NAMES.items()],
    *[("machine", [target], names, resets.run) for target, names in resets.NAMES.items()],
    *[("machine", [target], names, lambda j: spaces.RUN[j.name](j.tools, j.target, j.full))
      for target, names in spaces.NAMES.items()],
    *[("machine", [target], names, lambda j: description.RUN[j.name](j.tools, j.target, j.full))
      for target, names in description.NAMES.items()],
    *[("machine", [target], names, lambda j: rr.RUN[j.name](j.tools, j.target, j.full))
      for target, names in rr.NAMES.items()],
    *[("machine", [target], names, lambda j: power.RUN[j.name](j.tools, j.target))
      for target, names in power.NAMES.items()],
    *[("machine", [target], names, lambda j: parallel.RUN[j.name](j.tools, j.target))
      for target, names in parallel.NAMES.items()],
    *[("machine", [target], names, lambda j: boots.RUN[j.name](j.tools, j.target, j.full))
      for target, names in boots.NAMES.items()],
    *[("machine", [target], names, lambda j: libraries.RUN[j.name](j.tools, j.target))
      for target, names in libraries.NAMES.items()],
    *[("machine", [target], names, lambda j: chosen.RUN[j.name](j.tools, j.target))
      for target, names in chosen.NAMES.items()],
    *[("machine", [target], names, lambda j: tasks.RUN[j.name](j.tools, j.target, j.full))
      for target, names in tasks.NAMES.items()],
    *[("machine", [target], names, lambda j: modules.RUN[j.name](j.tools, j.target, j.full))
      for target, names in modules.NAMES.items()],
    *[("machine", [target], names, lambda j: programs.RUN[j.name](j.tools, j.target, j.full))
      for target, names in programs.NAMES.items()],
    ("real", DEBIAN, realprogs.PROGRAMS, lambda j: realprogs.run(j.tools, j.target, j.name)),
    *[("stress", [program[0]], [name], lambda j: stress.RUN[j.name](j.tools))
      for name, program in stress.PROGRAMS.items()],
]

Case = collections.namedtuple("Case", "label kind target name program check")


def all_cases():
    for program in PROGRAMS:
        for target in program.targets:
            for kind in (program.kind, *program.also):
                if kind not in NO_CASES and target in TARGETS_OF.get(kind, TARGETS):
                    yield kind, target, program.name, program, CHECKS[kind]
    for kind, targets, names, check in OTHERS:
        for target in targets:
            for name in names:
                yield kind, target, name, None, check


def cases(args):
    """Those that the options choose."""
    for kind, target, name, program, check in all_cases():
        label = "%s/%s/%s" % (kind, target, name)
        if args.target and target not in args.target:
            continue
        qemu = TARGETS[target].qemu if target in TARGETS else machines.QEMU.get(target, target)
        if args.qemu and qemu not in args.qemu:
            continue
        if args.case and not any(fnmatch.fnmatchcase(label, c) for c in args.case):
            continue
        yield Case(label, kind, target, name, program, check)


def outcome(tools, case, args):
    """(PASS, FAIL or SKIP, what there is to say)"""
    try:
        return "PASS", case.check(Job(tools, case, args))
    except Failure as err:
        return "FAIL", str(err)
    except Skip as err:
        return "SKIP", str(err)
    except (LookupError, ValueError, TypeError, OSError, RuntimeError,
            subprocess.SubprocessError):
        return "FAIL", traceback.format_exc()  # not what a comparer expects


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--target", action="append", choices=[*TARGETS, *machines.NAMES])
    ap.add_argument("--qemu", action="append", help="all that runs under qemu-QEMU")
    ap.add_argument("--case", action="append", help="a pattern of KIND/TARGET/NAME")
    ap.add_argument("--full", action="store_true", help="more of each: steps, random programs, pauses")
    ap.add_argument("--build", default=os.environ.get("CANNOLI_BUILD_DIR",
                                                      os.path.join(common.ROOT, "build")))
    ap.add_argument("--work", help="folder for traces and logs; those of cases that fail stay "
                    "there; default: a temporary one")
    ap.add_argument("--keep", action="store_true",
                    help="leave traces and logs of all cases in the folder of --work")
    ap.add_argument("--seed", type=int, default=1, help="of the random programs")
    ap.add_argument("--count", type=int, help="random programs per target; resets of a machine")
    ap.add_argument("--sample", default=os.environ.get("CANNOLI_SAMPLE", ""),
                    help="a text that chooses which random programs run without --full")
    ap.add_argument("--list", action="store_true", help="name the cases and end")
    args = ap.parse_args()
    if args.keep and not args.work:
        ap.error("--keep needs --work")

    chosen = list(cases(args))
    if args.list:
        print("\n".join(case.label for case in chosen))
        return 0

    common.keep_files = args.keep
    work, temporary = common.work_folder(args.work)
    tools = common.Tools(args.build, work)
    count = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    for case in chosen:
        start = time.monotonic()
        word, text = outcome(tools, case, args)
        count[word] += 1
        print("%s %s (%.1f s) %s" % (word, case.label, time.monotonic() - start, text), flush=True)
    print("%(PASS)d passed, %(FAIL)d failed, %(SKIP)d skipped" % count)
    if temporary:
        common.drop_folder(work)
    return 1 if count["FAIL"] else 0 if count["PASS"] else 77


if __name__ == "__main__":
    sys.exit(main())
