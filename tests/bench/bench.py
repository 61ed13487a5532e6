#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs, and how fast tools read and search traces, as tables.

Each program runs unrecorded, with its events discarded (jit: the cost of the translated
code alone) and recorded to a file, alternately and repeatedly.  Times are shown divided by
those of the same QEMU without recording, just before and after: median, minimum and
maximum; cpu is user and system time of all processes, divided likewise; bits are of the
file.  Installed peers run beside.  Nothing is asserted: machines differ, and
this one may be busy.

Each run appends a line to a history, so that --compare can show the effect of a change.
"""
import json
import os
import sys
import tempfile
from dataclasses import replace
from functools import partial

sys.dont_write_bytecode = True  # into the source tree

from suite import (boots, choices, debugging, encoding, history, machine, options, peers, programs, queries,
                   reading, recording, report_svg, report_text, traces)
from suite.children import BenchError, Children, Interrupted

# Parts that need only a trace
READERS = {"reading": reading.measure, "queries": queries.measure,
           "debugging": debugging.sessions}


def say(lines):
    for line in lines:
        print(line, flush=True)


def remark(line):
    print("%s: %s" % (options.NAME, line), file=sys.stderr, flush=True)


def show_progress(text):
    """Writes to the last line of a terminal; an empty text removes it."""
    sys.stderr.write("\r\033[K" + text)
    sys.stderr.flush()


def measure(args, children, tmp):
    """All requested results, as --json writes them; prints rows as they come."""
    for build in filter(None, (args.build, args.base)):
        recorder = os.path.join(build, "bin/cannoli-record")
        if not os.access(recorder, os.X_OK):
            raise BenchError("no %s: scripts/setup.sh, or cmake --build %s" % (recorder, build))
    needed = set(args.part) - set(READERS if args.trace else ())
    found = programs.Programs()
    if needed - {"boots"}:
        found.add(programs.find(args.qemu_dir, args.sysroot, tmp, args.only, not args.no_worst))
    if "boots" in needed:
        found.add(boots.find(args, tmp))
    there, missing = ({}, []) if args.no_peers else peers.find(args.build, args.plugin_dir)
    if not os.access(os.path.join(args.build, "bin/replay_bench"), os.X_OK):
        missing.append("no replay_bench in %s/bin: cmake --build %s" % (args.build, args.build))
    for line in found.missing + missing:
        remark(line)
    if needed and not found.found:
        raise BenchError("nothing to run%s" % (
            ": no program's name contains '%s'" % args.only if args.only and not found.missing
            else ""))
    context = recording.Context(children, args.build, args.qemu_dir, tmp, args.runs, args.scale,
                                args.jobs)
    if sys.stderr.isatty():
        context = replace(context, progress=show_progress)
    results = {"bench": 1, "about": machine.describe(args.build, args.qemu_dir),
               "runs": args.runs, "scale": args.scale, "missing": found.missing + missing}
    failed = False
    for part in args.part:
        head, lines = report_text.TABLES[part]
        print(head, flush=True)
        results[part] = []
        for name, job in jobs_of(context, part, args, found.found, there):
            try:
                results[part].append(job())
            except BenchError as e:
                # earlier results are worth keeping
                context.progress("")
                remark("%s, %s: %s" % (name, part, e))
                failed = True
            else:
                say(lines(results[part][-1]))
        say(report_text.summary(part, results))
    if args.base:
        results["base"] = args.base
        say(history.base_lines(results))
    say(report_text.foot(results))
    return results, failed


def base_of(context, build):
    """The other build, with its own QEMUs if it has any."""
    qemus = os.path.join(build, "libexec/cannoli")
    return replace(context, build=build,
                   qemu_dir=qemus if os.path.isdir(qemus) else context.qemu_dir)


def jobs_of(context, part, args, found, there):
    """[(name of a program or trace, function that measures it)] of one part."""
    if part == "boots":
        return [(p.name, partial(boots.measure, context, p)) for p in found if p.machine]
    found = [p for p in found if not p.machine]
    ordinary = [p for p in found if not p.only]
    if part == "recording":
        base = base_of(context, args.base) if args.base else None
        chosen = [p for p in found if not p.only or set(p.only) & set(args.sets)]
        return [(p.name, partial(recording.measure, context, p, args.sets, there, base))
                for p in chosen]
    if part == "choices":
        return [(p.name, partial(choices.measure, context, p)) for p in ordinary]
    if args.trace and part in READERS:
        return [(args.trace, lambda: READERS[part](context, traces.given(context, args.trace)))]

    def of_recorded(program):
        if part == "debugging":
            return debugging.measure(context, program)
        with traces.recorded(context, program) as trace:
            if part == "encoding":
                return encoding.measure(context, program, trace)
            return READERS[part](context, trace)
    # the first program is enough, unless --only selects others
    return [(p.name, partial(of_recorded, p)) for p in (ordinary if args.only else ordinary[:1])]


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


def check_outputs(args):
    """Finds out now, not after minutes, which output cannot be written."""
    if args.svg and not args.source and "recording" not in args.part:
        raise BenchError("--svg draws the part 'recording', which is not measured")
    for path in filter(None, (args.json, args.svg)):
        with open(path, "a", encoding="utf-8"):
            pass


def work(args, children):
    """Returns the exit status."""
    failed = False
    if args.table:
        results = load(args.table)
        if not any(not r["worst_case"] for r in results.get("recording", [])):
            raise BenchError("%s: nothing of recording in it" % args.table)
        say(report_text.readme(results))
        return 0
    if args.source:
        results = load(args.source)
        say(report_text.everything(results))
    check_outputs(args)
    if not args.source:
        with tempfile.TemporaryDirectory(prefix="cannoli-bench-", dir=args.tmp) as tmp:
            results, failed = measure(args, children, tmp)
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
    return 1 if failed else 0


def main():
    args = options.parse(__doc__)
    try:
        children = Children()
        children.catch_signals()
        return work(args, children)
    except BenchError as e:
        remark(e)
        return 1
    except BrokenPipeError:
        # `bench.py | head': the reader is gone, also at the end of the interpreter
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as e:
        remark("%s%s" % (e.filename + ": " if e.filename else "", e.strerror))
        return 1
    except Interrupted as e:
        return 128 + e.signum


if __name__ == "__main__":
    sys.exit(main())
