#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Hold recorded traces against independent witnesses.

  run.py [--target T] [--case C] [--full]

One line per case, PASS, FAIL or SKIP; the exit status is 1 when any failed and
77 when none could run.
A case is KIND:TARGET:NAME, and --case takes shell patterns ("exact:arm:*").
Kinds: exact, bytes, property, calls, maps, scenario (see tests/guests/table.py),
memory, execlog, gdb (the programs of the first two again, see states.py), random,
real and pipeline.
"""
import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import time
import traceback

import common
from common import Failure, Skip, TARGETS
import bytecheck as byte_witness
import choices
import isa
import maps
import props
import realprogs
import randomrun
import scenarios
import states
import strace
import stress
import switches

sys.path.insert(0, common.GUESTS)
import build  # noqa: E402
from table import BY_NAME, PROGRAMS, is_dynamic  # noqa: E402


# What an ordinary run passes of a target of the second ring.
RING_SAMPLE = {"exact": {"calls", "atomics", "faults", "bare"}, "memory": {"faults"},
               "calls": {"syscalls", "bare"}, "property": {"threads", "bare-threads"}}


def guest_command(tools, program, target):
    if not shutil.which(TARGETS[target].cc):
        raise Skip("no %s: run scripts/setup.sh --tests%s" % (
            TARGETS[target].cc, " --second-ring " + target if TARGETS[target].ring == 2 else ""))
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


def run_exact(tools, program, target):
    guest, folder = guest_command(tools, program, target)
    guest, environment = common.equal_runs(tools, guest)
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
    common.remove(trace)
    return summary


# These are recorded once more without values and without memory accesses.
EXEC_ALONE = {"calls", "faults", "derived", "smc", "x86", "arm", "aarch64", "mips", "riscv", "s390x", "ppc"}


def exec_alone(tools, guest, trace, environment, folder):
    """With fewer kinds of events the ones that are left are the same."""
    other = trace + ".other"
    for recorded, shown in (("exec", "exec"), ("exec,mem", "exec,mem")):
        common.record(tools, other, guest, environment, folder, options=("--events", recorded),
                      idle=tools.plugin() if "qemu-x86_64" in guest[0] else None)
        told = [[event_alone(line) for line in common.dump_lines(tools, path, "--events", shown)]
                for path in (trace, other)]
        for i, (a, b) in enumerate(zip(*told)):
            if a != b:
                raise Failure("with --events %s, line %d is %s instead of %s" % (recorded, i, b, a))
        if len(told[0]) != len(told[1]):
            raise Failure("with --events %s %d events instead of %d"
                          % (recorded, len(told[1]), len(told[0])))
    common.remove(other)


NOT_ALWAYS = re.compile(r',"(?:value|data|module|module_offset)":"[^"]*"')


def event_alone(line):
    """What a line of tracedump --json says in every recording."""
    line = NOT_ALWAYS.sub("", line)
    return line[:line.index('"pid"')] + line[line.index('"pc"'):]


def run_bytes(tools, program, target):
    guest, folder = guest_command(tools, program, target)
    trace = os.path.join(tools.work, "bytes-%s-%s.ctr" % (target, program.name))
    recorded = common.record(tools, trace, guest, cwd=folder)
    if recorded.status != program.expect:
        raise Failure("exit status %d: %s" % (recorded.status, recorded.stderr.strip()[-300:]))
    code = byte_witness.code_said(recorded.stdout.decode())
    if code:
        wrong = byte_witness.code_differences(code, lambda pc: common.dump_text(
            tools, trace, "--no-disas", "--events", "exec", "--pc", "0x%x" % pc))
        if wrong:
            raise Failure("\n  ".join(wrong))
        common.remove(trace)
        return "%d rewritten instructions" % sum(map(len, code.values()))
    said, total = byte_witness.read_statement(recorded.stdout.decode())
    if not said:
        raise Failure("the program said nothing")
    seen = byte_witness.read_trace(common.dump_lines(tools, trace), said)
    wrong = byte_witness.compare(said, seen)
    if wrong:
        names = symbols(target, os.path.join(folder, program.name))
        shown = [name_pc(text, names) for text in wrong[:20]]
        raise Failure("%d differences\n  %s" % (len(wrong), "\n  ".join(shown)))
    common.remove(trace)
    return "%d instructions, %d bytes" % (sum(map(len, said.values())), total)


def symbols(target, path):
    """The watched instructions' names, {pc text: name}."""
    import subprocess
    nm = TARGETS[target].tool("nm")
    done = subprocess.run([nm, path], capture_output=True, text=True)
    return {"0x%x" % int(line.split()[0], 16): line.split()[2][5:]
            for line in done.stdout.splitlines()
            if len(line.split()) == 3 and line.split()[2].startswith("site_")}


def name_pc(text, names):
    word = text.split()
    return text.replace(word[1], "%s (%s)" % (word[1], names.get(word[1].rstrip(":"), "?")), 1)


REGISTER_TARGETS = {"execlog": {"arm", "thumb", "aarch64", "riscv64", "x86_64"},
                    "gdb": {"arm", "aarch64", "mipsel", "mips", "riscv64", "x86_64",
                            "i386", "s390x", "ppc64le"}}


def all_cases(args):
    for program in PROGRAMS:
        for target in program.targets:
            if args.full or program.ci is True or target in (program.ci or []):
                if program.kind != "part":
                    yield program.kind, target, program.name, program
                for kind in program.also:
                    if kind not in REGISTER_TARGETS or target in REGISTER_TARGETS[kind]:
                        yield kind, target, program.name, program
    for target in TARGETS:
        if target in isa.ISAS:
            yield "random", target, "random", None
        if target not in realprogs.ARCHITECTURE:
            continue
        yield "pipeline", target, "busybox", None
        for name in strace.BUSYBOX:
            if args.full or name == "busybox-sed":
                yield "calls", target, name, None
        if target in realprogs.ARCHITECTURE and target not in common.SLIDE:
            yield "coverage", target, "sqlite3", None
        for name in realprogs.names(target, args.full):
            yield "real", target, name, None
    for name, program in stress.PROGRAMS.items() if args.full else ():
        yield "stress", program[0], name, None


def cases(args):
    """Those of the second ring for --full and where --target names it."""
    for kind, target, name, program in all_cases(args):
        if TARGETS[target].ring == 1 or args.full or (
                target in (args.target or ()) and name in RING_SAMPLE.get(kind, ())):
            yield kind, target, name, program


def run_case(tools, args, kind, target, name, program):
    if kind == "exact":
        return run_exact(tools, program, target)
    if kind == "bytes":
        return run_bytes(tools, program, target)
    if kind == "random":
        return randomrun.run_target(tools, target, args.seed,
                                    args.count or (1000 if args.full else 125),
                                    rounds=4 if args.full else 1)
    if kind == "real":
        return realprogs.run(tools, target, name)
    if kind == "stress":
        return stress.RUN[name](tools)
    if kind == "pipeline":
        return scenarios.pipeline(tools, target)
    if kind == "calls" and not program:
        return strace.run_busybox(tools, target, name)
    if kind == "coverage" and not program:
        guest, environment = realprogs.command(tools, target, name)
        return choices.coverage(tools, target, name, guest, environment, tools.work)
    guest, folder = guest_command(tools, program, target)
    path = os.path.join(folder, program.name)
    if kind == "property":
        return props.run(tools, program, target, guest, folder)
    if kind == "chosen-registers":
        return choices.run_registers(tools, program, target, guest, folder)
    if kind == "coverage":
        return choices.run_coverage(tools, program, target, guest, folder)
    if kind == "switch":
        return switches.run_switch(tools, target, name, guest, folder)
    if kind == "gate":
        return switches.run_gate(tools, target, guest, folder, args.full)
    if kind == "choice":
        return choices.run(tools, program, target, guest, folder)
    if kind == "calls":
        return strace.run(tools, target, name, guest, folder, program.expect)
    if kind == "maps":
        return maps.run(tools, target, name, guest, folder, path)
    if kind == "scenario":
        return scenarios.run(tools, program, target, guest, folder)
    if kind == "memory":
        return states.run_memory(tools, target, name, guest, folder, program.expect)
    if kind == "execlog":
        return states.run_execlog(tools, target, name, guest, folder)
    return states.run_gdb(tools, target, name, guest, folder, path, 40000 if args.full else 4000)


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--target", action="append", choices=TARGETS)
    ap.add_argument("--case", action="append", help="a pattern of KIND:TARGET:NAME")
    ap.add_argument("--full", action="store_true", help="everything, not only CI's sample")
    ap.add_argument("--build", default=os.environ.get("CANNOLI_BUILD_DIR",
                                                      os.path.join(common.ROOT, "build")))
    ap.add_argument("--work", help="folder for traces (kept); default: a temporary one")
    ap.add_argument("--seed", type=int, default=1, help="of the random programs")
    ap.add_argument("--count", type=int, help="random programs per target")
    ap.add_argument("--list", action="store_true", help="name the cases and end")
    args = ap.parse_args()

    chosen = []
    for kind, target, name, program in cases(args):
        label = "%s:%s:%s" % (kind, target, name)
        if args.target and target not in args.target:
            continue
        if args.case and not any(fnmatch.fnmatch(label, c) for c in args.case):
            continue
        chosen.append((label, kind, target, name, program))
    if args.list:
        print("\n".join(c[0] for c in chosen))
        return 0

    work, temporary = common.work_folder(args.work)
    tools = common.Tools(args.build, work)
    count = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    for label, kind, target, name, program in chosen:
        start = time.monotonic()
        try:
            text, word = run_case(tools, args, kind, target, name, program), "PASS"
        except Failure as err:
            text, word = str(err), "FAIL"
        except Skip as err:
            text, word = str(err), "SKIP"
        except (LookupError, ValueError, TypeError, OSError, RuntimeError,
                subprocess.SubprocessError):
            text, word = traceback.format_exc(), "FAIL"  # not what a comparer expects
        count[word] += 1
        print("%s %s (%.1f s) %s" % (word, label, time.monotonic() - start, text), flush=True)
    print("%(PASS)d passed, %(FAIL)d failed, %(SKIP)d skipped" % count)
    if temporary:
        common.drop_folder(work)
    return 1 if count["FAIL"] else 0 if count["PASS"] else 77


if __name__ == "__main__":
    sys.exit(main())
