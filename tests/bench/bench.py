#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs, and how fast traces are read and asked, as tables.

Programs run in turn plain, with their events thrown away (jit: what the translated code
alone costs) and recorded to a file, again and again.  Times are shown divided by those
of the same QEMU without recording, in the same round: the median, the least and the
most; cpu is user and system time of all processes, divided likewise; bits are of the
file.  Peers that are installed run beside.  Nothing is asserted: machines differ, and
this one may be busy.

Each run appends a line to a history, so that --compare can tell what a change did.
"""
import argparse
import json
import os
import sys
import tempfile
from dataclasses import replace

sys.dont_write_bytecode = True  # into the source tree

from suite import (asking, choices, encoding, history, machine, peers, programs, reading,
                   recording, report_svg, report_text, traces)
from suite.children import BenchError, Children, Interrupted

QUICK_RUNS, QUICK_SCALE = 1, 0.25
NAME = "bench.py"
# Parts that need nothing but a trace
READERS = {"reading": reading.measure, "asking": asking.measure}
TRACE_PARTS = set(READERS)


class Parser(argparse.ArgumentParser):
    """Mistakes are told as our other programs do."""

    def error(self, message):
        self.exit(2, "%s: %s. Try '%s --help'.\n" % (NAME, message, NAME))


def names(known):
    """The type of an option that takes a list of known names."""
    def parse(text):
        chosen = text.split(",")
        for name in chosen:
            if name not in known:
                raise argparse.ArgumentTypeError("unknown '%s' (there are %s)" % (
                    name, ", ".join(known)))
        return chosen
    return parse


def number(kind, least):
    def parse(text):
        value = kind(text)
        if value < least:
            raise argparse.ArgumentTypeError("'%s' is too small" % text)
        return value
    parse.__name__ = kind.__name__
    return parse


def arguments():
    p = Parser(prog=NAME, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = p.add_argument_group("what to measure")
    what.add_argument("--part", type=names(report_text.TABLES), default=["recording"], metavar="LIST",
                      help="of %s (default recording)" % ", ".join(report_text.TABLES))
    what.add_argument("--runs", type=number(int, 1), metavar="N", help="rounds (default 5)")
    what.add_argument("--quick", action="store_true",
                      help="one round of quarter-sized inputs, if no other is asked for")
    what.add_argument("--only", default="", metavar="TEXT", help="programs whose name contains TEXT")
    what.add_argument("--sets", type=names(recording.SETS), default=["exec", "mem", "val"],
                      metavar="LIST", help="sets of events, of %s (default exec,mem,val)" %
                      ", ".join(recording.SETS))
    what.add_argument("--no-worst", action="store_true", help="without the worst cases")
    what.add_argument("--no-peers", action="store_true", help="without other recorders")
    what.add_argument("--scale", type=number(float, 0), metavar="X",
                      help="multiply the inputs; 1: more than a second each")
    what.add_argument("--trace", metavar="FILE",
                      help="for reading and asking (default: the first program's)")
    what.add_argument("-j", "--jobs", type=number(int, 1), default=0, metavar="N",
                      help="the recorder's -j (default: its own)")
    what.add_argument("--base", metavar="DIR",
                      help="another build folder: measure its recorder and QEMUs in the same "
                      "rounds, and say how ours differ")
    where = p.add_argument_group("where things are")
    where.add_argument("--build", default=os.path.join(machine.ROOT, "build"), metavar="DIR",
                       help="build folder (default: that of the source tree)")
    where.add_argument("--qemu-dir", metavar="DIR", help="default: BUILD/libexec/cannoli")
    where.add_argument("--sysroot", metavar="DIR", help="default: BUILD/sysroot")
    where.add_argument("--plugin-dir", metavar="DIR", help="default: BUILD/qemu/plugins")
    where.add_argument("--tmp", metavar="DIR",
                       help="for inputs and traces, up to 1 GiB (default: TMPDIR)")
    out = p.add_argument_group("results")
    out.add_argument("--json", metavar="FILE", help="write everything to FILE")
    out.add_argument("--svg", metavar="FILE", help="draw speed and size of recording")
    out.add_argument("--history", metavar="FILE",
                     help="append to FILE (default: BUILD/bench-history.jsonl)")
    out.add_argument("--no-history", action="store_true", help="append nothing")
    out.add_argument("--compare", nargs="?", const="", metavar="COMMIT",
                     help="with the newest run of COMMIT in the history (default: of the "
                     "nearest ancestor that has one)")
    out.add_argument("--from", dest="source", metavar="FILE",
                     help="take results from FILE, written by --json, instead of measuring")
    out.add_argument("--table", metavar="FILE", help="print the README's table of FILE, and end")
    args = p.parse_args()
    args.runs = args.runs or (QUICK_RUNS if args.quick else 5)
    args.scale = args.scale or (QUICK_SCALE if args.quick else 1)
    args.qemu_dir = args.qemu_dir or os.path.join(args.build, "libexec/cannoli")
    args.sysroot = args.sysroot or os.path.join(args.build, "sysroot")
    args.plugin_dir = args.plugin_dir or os.path.join(args.build, "qemu/plugins")
    args.history = args.history or os.path.join(args.build, "bench-history.jsonl")
    return args


def say(lines):
    for line in lines:
        print(line, flush=True)


def remark(line):
    print("%s: %s" % (NAME, line), file=sys.stderr, flush=True)


def measure(args, children, tmp):
    """Everything asked for, as what --json writes; prints rows as they come."""
    for build in filter(None, (args.build, args.base)):
        recorder = os.path.join(build, "bin/cannoli-record")
        if not os.access(recorder, os.X_OK):
            raise BenchError("no %s: scripts/setup.sh, or cmake --build %s" % (recorder, build))
    needed = set(args.part) - (TRACE_PARTS if args.trace else set())
    found = programs.Programs()
    if needed:
        found = programs.find(args.qemu_dir, args.sysroot, tmp, args.only, not args.no_worst)
    there, missing = ({}, []) if args.no_peers else peers.find(args.build, args.plugin_dir)
    for line in found.missing + (missing if "recording" in args.part else []):
        remark(line)
    if needed and not found.found:
        raise BenchError("nothing to run%s" % (
            ": no program's name contains '%s'" % args.only if args.only and not found.missing
            else ""))
    context = recording.Context(children, args.build, args.qemu_dir, tmp, args.runs, args.scale,
                                args.jobs)
    results = {"bench": 1, "about": machine.describe(args.build, args.qemu_dir),
               "runs": args.runs, "scale": args.scale, "missing": found.missing + missing}
    for part in args.part:
        head, lines = report_text.TABLES[part]
        print(head, flush=True)
        results[part] = []
        for result in measure_part(context, part, args, found.found, there):
            results[part].append(result)
            say(lines(result))
        say(report_text.summary(part, results))
    if args.base:
        results["base"] = args.base
        say(history.base_lines(results))
    say(report_text.foot(results))
    return results


def measure_part(context, part, args, found, there):
    """The results of one part, as they come."""
    base = replace(context, build=args.base, qemu_dir=os.path.join(
        args.base, "libexec/cannoli")) if args.base else None
    ordinary = [p for p in found if not p.only]
    if part == "recording":
        for program in found:
            if not program.only or set(program.only) & set(args.sets):
                yield recording.measure(context, program, args.sets, there, base)
    elif part == "choices":
        for program in ordinary:
            yield choices.measure(context, program)
    elif args.trace and part in TRACE_PARTS:
        yield READERS[part](context, traces.given(context, args.trace))
    else:
        # the first one will do, unless --only says which
        for program in ordinary if args.only else ordinary[:1]:
            with traces.recorded(context, program) as trace:
                if part == "encoding":
                    yield encoding.measure(context, program, trace)
                else:
                    yield READERS[part](context, trace)


def load(path):
    try:
        with open(path, encoding="utf-8") as f:
            results = json.load(f)
    except (json.JSONDecodeError, UnicodeDecodeError) as e:
        raise BenchError("%s: %s" % (path, e)) from e
    if not isinstance(results, dict) or results.get("bench") != 1:
        raise BenchError("%s: not written by --json of this program" % path)
    return results


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def work(args):
    if args.table:
        results = load(args.table)
        if not results.get("recording"):
            raise BenchError("%s: nothing of recording in it" % args.table)
        say(report_text.readme(results))
        return
    if args.source:
        results = load(args.source)
        say(report_text.everything(results))
    else:
        children = Children()
        children.catch_signals()
        with tempfile.TemporaryDirectory(prefix="cannoli-bench-", dir=args.tmp) as tmp:
            results = measure(args, children, tmp)
    if args.json:
        write(args.json, json.dumps(results, indent=1) + "\n")
    if args.svg:
        write(args.svg, report_svg.draw(results))
    entries = history.load(args.history) if args.compare is not None else []
    if not args.source and not args.no_history:
        history.append(args.history, results)
    if args.compare is not None:
        now = history.entry(results)
        say(history.compare_lines(history.baseline(entries, now, args.compare), now))


def main():
    args = arguments()
    try:
        work(args)
    except BenchError as e:
        remark(e)
        return 1
    except BrokenPipeError:
        # `bench.py | head`: nobody reads what is left, at the end of the interpreter either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as e:
        remark("%s%s" % (e.filename + ": " if e.filename else "", e.strerror))
        return 1
    except Interrupted as e:
        return 128 + e.signum
    return 0


if __name__ == "__main__":
    sys.exit(main())
