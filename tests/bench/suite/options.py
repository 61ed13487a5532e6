# SPDX-License-Identifier: MIT
"""The command line of bench.py."""
import argparse
import os

from . import machine, recording, report_text

NAME = "bench.py"
QUICK_RUNS, QUICK_SCALE = 1, 0.25


class Parser(argparse.ArgumentParser):
    """Usage errors look as in our other programs."""

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


def parse(description):
    """Parses the command line and adds defaults."""
    p = Parser(prog=NAME, description=description,
               formatter_class=argparse.RawDescriptionHelpFormatter)
    what = p.add_argument_group("what to measure")
    what.add_argument("--part", type=names(report_text.TABLES), default=["recording"],
                      metavar="LIST",
                      help="of %s (default recording)" % ", ".join(report_text.TABLES))
    what.add_argument("--runs", type=number(int, 1), metavar="N", help="rounds (default 5)")
    what.add_argument("--quick", action="store_true",
                      help="one round of quarter-sized inputs, unless other values are given")
    what.add_argument("--only", default="", metavar="TEXT",
                      help="programs whose name contains TEXT")
    what.add_argument("--sets", type=names(recording.SETS), default=["exec", "mem", "val"],
                      metavar="LIST", help="sets of events, of %s (default exec,mem,val)" %
                      ", ".join(recording.SETS))
    what.add_argument("--no-worst", action="store_true", help="without the worst cases")
    what.add_argument("--no-peers", action="store_true", help="without other recorders")
    what.add_argument("--scale", type=number(float, 0), metavar="X",
                      help="multiply the inputs; 1: about a second each")
    what.add_argument("--trace", metavar="FILE",
                      help="for reading, queries and debugging (default: the first program's)")
    what.add_argument("-j", "--jobs", type=number(int, 1), default=0, metavar="N",
                      help="the recorder's -j (default: its own)")
    what.add_argument("--base", metavar="DIR",
                      help="another build folder: measure its recorder and QEMUs (ours, if "
                      "it has none) in the same rounds, and report how ours differ")
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
