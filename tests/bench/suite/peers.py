# SPDX-License-Identifier: MIT
"""Other ways to get the same events, beside our own in each round.

QEMU's execlog plugin and QEMU's own log of single instructions, and valgrind's lackey
write text.  They are a hundred times slower and write a thousand times more, so each
gets a shortened input, and its time is scaled by the numbers of instructions.  The
reference for size is the raw stream of events, as translated code stores it, compressed
by zstd alone.
"""
import os
import re
import shutil

from .children import BenchError
from .stats import Spread

PEER_ROUNDS = 3
RAW_INSNS = 150000000
RAW_EVENTS = "exec,mem"
ALL_CHUNKS = "1000000"


class LogPeer:
    """A peer that writes a log of a program's shortened run."""

    def __init__(self, context, program, name, what):
        self.context, self.name, self.what = context, name, what
        self.log = os.path.join(context.tmp, "peer.log")
        self.command = program.make(program.short * min(1, 4 * context.scale))
        self.seconds, self.bits, self.insns = [], [], 0

    def argv(self):
        raise NotImplementedError

    def count(self):
        """The number of instructions of the run that wrote the log."""
        raise NotImplementedError

    def run(self, _insns):
        if len(self.seconds) == PEER_ROUNDS:
            return
        took = self.context.children.run(self.argv(), stdin=self.command.stdin)
        self.insns = self.insns or self.count()
        self.seconds.append(took.wall)
        self.bits.append(8 * os.path.getsize(self.log) / self.insns)
        os.remove(self.log)

    def results(self, plain_per_insn):
        pairs = zip(self.seconds, plain_per_insn)
        speed = Spread.of(self.insns / s for s in self.seconds)
        return [{"peer": self.name, "records": self.what, "instructions": self.insns,
                 "file": Spread.of(s / self.insns / p for s, p in pairs).to_json(),
                 "bits_per_instruction": Spread.of(self.bits).to_json(),
                 "instructions_per_second": speed.to_json()}]


class QemuLog(LogPeer):
    """A QEMU with logging options; our recorder counts the instructions."""

    def __init__(self, context, program, name, what, options):
        super().__init__(context, program, name, what)
        self.qemu = [context.qemu(program), *options, "-D", self.log]
        self.recorder = context.recorder(program, self.command, "-e", "exec", "-o", context.trace)

    def argv(self):
        return self.qemu + self.command.argv

    def count(self):
        self.context.children.run(self.recorder, stdin=self.command.stdin)
        return self.context.info(self.context.trace)["instructions"]


class Lackey(LogPeer):
    """valgrind's example tool, on the native program."""

    def argv(self):
        return ["valgrind", "--tool=lackey", "--trace-mem=yes", "--log-file=" + self.log,
                *self.command.argv]

    def count(self):
        with open(self.log, "rb") as f:
            f.seek(max(0, os.path.getsize(self.log) - 4000))
            found = re.search(rb"guest instrs:\s+([\d,]+)", f.read())
        if not found:
            raise BenchError("valgrind's lackey does not report its number of instructions")
        return int(found[1].replace(b",", b""))


class RawStream:
    """zstd, one thread, on the events as translated code stores them: those of some
    instructions in the middle of the run."""
    name = "zstd of raw"

    def __init__(self, context, program, levels=(1, 3)):
        self.context, self.program, self.levels = context, program, levels
        self.command = program.make(context.scale)
        self.raw = os.path.join(context.tmp, "raw")
        self.insns, self.raw_bits, self.packed = 0, 0, []

    def run(self, insns):
        """Runs once: sizes do not vary, and no relevant time depends on it."""
        if self.packed:
            return
        children, context = self.context.children, self.context
        children.run(context.recorder(
            self.program, self.command, "-e", RAW_EVENTS, "-o", context.trace,
            "--after-instructions", str(max(0, insns - RAW_INSNS) // 2),
            "--for-instructions", str(RAW_INSNS)), stdin=self.command.stdin)
        self.insns = context.info(context.trace)["instructions"]
        children.run([context.tool("encode_bench"), "--raw", "-c", ALL_CHUNKS, context.trace],
                     stdout=self.raw)
        self.raw_bits = 8 * os.path.getsize(self.raw) / self.insns
        out = self.raw + ".zst"
        for level in self.levels:
            took = children.run(["zstd", "-q", "-f", "-T1", "-%d" % level, self.raw, "-o", out])
            self.packed.append((level, took.cpu, 8 * os.path.getsize(out) / self.insns))
        os.remove(self.raw)
        os.remove(out)

    def results(self, plain_per_insn):
        return [{"peer": "zstd -%d of raw" % level, "records": "mem", "instructions": self.insns,
                 "compress_cpu": Spread.of(cpu / self.insns / p for p in plain_per_insn).to_json(),
                 "raw_bits_per_instruction": self.raw_bits,
                 "bits_per_instruction": Spread.of([bits]).to_json()}
                for level, cpu, bits in self.packed]


def find(build, plugin_dir):
    """({name of a peer that can run: its requirement}, lines about those that cannot)."""
    there, missing = {}, []
    plugin = os.path.join(plugin_dir, "libexeclog.so")
    if os.path.exists(plugin):
        there["execlog"] = plugin
    else:
        missing.append("no execlog plugin in %s: scripts/qemu.sh --plugins" % plugin_dir)
    there["qemu -d exec"] = None
    if shutil.which("valgrind"):
        there["lackey"] = None
    else:
        missing.append("no valgrind: apt-get install valgrind")
    encode_bench = os.path.join(build, "bin/encode_bench")
    if not os.access(encode_bench, os.X_OK):
        missing.append("no %s: cmake --build %s" % (encode_bench, build))
    elif not shutil.which("zstd"):
        missing.append("no zstd: apt-get install zstd")
    else:
        there["zstd"] = encode_bench
    return there, missing


def prepare(context, program, there):
    """Objects for one program; call run(its instructions) in each round, then results()."""
    if program.only:
        return []
    found = []
    if program.short:
        if "execlog" in there:
            found.append(QemuLog(context, program, "execlog", "mem",
                                 ["-plugin", there["execlog"], "-d", "plugin"]))
        if "qemu -d exec" in there:
            found.append(QemuLog(context, program, "qemu -d exec", "exec",
                                 ["-one-insn-per-tb", "-d", "exec,nochain"]))
        if "lackey" in there and program.native:
            found.append(Lackey(context, program, "lackey", "mem"))
    if "zstd" in there:
        found.append(RawStream(context, program))
    return found
