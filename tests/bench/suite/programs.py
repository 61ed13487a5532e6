# SPDX-License-Identifier: MIT
"""The measured programs, how they are made, and their inputs.

A program returns a command for a scale: 1 is about a second under QEMU without recording
(somewhat less for the worst cases), so that start-up does not matter; peers that are a
hundred times slower get a small fraction of it.  Everything is made from fixed seeds: the
same in each run, on each machine that has the same compiler.
"""
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Callable

from .children import BenchError

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = {
    "arm-linux-gnueabihf-gcc": "gcc-arm-linux-gnueabihf",
    "mipsel-linux-gnu-gcc": "gcc-mipsel-linux-gnu",
    "gcc": "gcc",
}

PYTHON = """
import json, re
words = {}
for i in range(%d):
    w = "%%x" %% (i * 7919 %% 10007)
    words[w] = words.get(w, 0) + len(re.sub("[0-4]", "", w))
text = json.dumps(sorted(words.items()))
print(len(text), sum(n for _, n in json.loads(text)))
"""

SQL = """create table t(a integer primary key, b integer, c text);
with recursive n(i) as (select 1 union all select i+1 from n where i<%d)
insert into t select i, (i*7919)%%10007, 'row '||i from n;
create index tb on t(b);
select count(*), sum(length(c)) from t where b between 100 and 5000;
select b, count(*) from t group by b order by 2 desc, 1 limit 5;
update t set c=upper(c) where b%%3=0;
select sum(a) from t where c like 'ROW 1%%';
"""


@dataclass(frozen=True)
class Command:
    """The arguments after the name of a QEMU, and a file for standard input or None."""
    argv: list
    stdin: str = None


@dataclass(frozen=True)
class Program:
    """make(scale) is a Command.

    only: the sets of events for which this program is the worst case; empty for programs
    that do ordinary work.  short: scale for slow peers, 0: its start is too long for
    them.  native: the same command runs on this machine without QEMU.  cold: a function
    that runs sometimes.  sysroot: where tools find its files, or None.  machine: it boots.
    """
    name: str
    qemu: str
    make: Callable
    only: tuple = ()
    short: float = 0
    native: bool = False
    cold: str = None
    sysroot: str = None
    machine: bool = False


@dataclass
class Programs:
    """The programs that can run here, and one line for each missing item."""
    found: list = field(default_factory=list)
    missing: list = field(default_factory=list)

    def add(self, other):
        self.found += other.found
        self.missing += other.missing


class Maker:
    """Builds and finds programs, and writes their inputs into the folder `tmp`; only those
    whose name contains `only`."""

    def __init__(self, sysroot, tmp, only, worst):
        self.sysroot, self.tmp, self.only, self.with_worst = sysroot, tmp, only, worst
        self.missing = []

    def wants(self, *names):
        return any(self.only in name for name in names)

    def miss(self, what, command):
        line = "no %s: %s" % (what, command)
        if line not in self.missing:
            self.missing.append(line)

    def compile_with(self, cc, out, *flags):
        """The path of a static program, or None."""
        out = os.path.join(self.tmp, out)
        if os.path.exists(out):
            return out
        if not shutil.which(cc):
            self.miss(cc, "apt-get install " + PACKAGES[cc])
            return None
        done = subprocess.run([cc, "-O2", "-static", *flags, "-o", out], capture_output=True,
                              text=True)
        if done.returncode != 0:
            raise BenchError("%s: %s" % (cc, done.stderr.strip()))
        return out

    def data(self, lines):
        """A file of hexadecimal and decimal numbers, one of each per line."""
        path = os.path.join(self.tmp, "data-%d" % lines)
        if not os.path.exists(path):
            seed, text = 1, []
            for i in range(lines):
                seed = (seed * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
                text.append("%x %d\n" % (seed >> (40 + i % 20), i))
            self.text(os.path.basename(path), "".join(text))
        return path

    def text(self, name, text):
        path = os.path.join(self.tmp, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    def mixed(self, name, cc, qemu, rounds, native):
        if not self.wants(name):
            return []
        program = self.compile_with(cc, name.replace(" ", "-"), os.path.join(HERE, "mixed.c"))
        if not program:
            return []

        def make(scale):
            if rounds * scale >= 1:
                return Command([program, str(round(rounds * scale))])
            return Command([program, "1", str(min(1000, round(1 / (rounds * scale))))])
        return [Program(name, qemu, make, short=0.0017, native=native, cold="exit")]

    def foreign(self):
        """Debian's own programs for armhf."""
        root = os.path.join(self.sysroot, "armhf")
        busybox = os.path.join(root, "bin/busybox")
        sqlite = os.path.join(root, "usr/bin/sqlite3")
        if not self.wants("gzip armhf", "sha256sum armhf", "sqlite3 armhf"):
            return []
        if not (os.path.exists(busybox) and os.path.exists(sqlite)):
            self.miss("busybox and sqlite3 in " + root,
                      "scripts/sysroot.sh --dir %s armhf" % self.sysroot)
            return []
        prefix = ["-L", root]

        def gzip(scale):
            lines = max(1, round(440000 * scale))
            return Command(prefix + [busybox, "gzip", "-c", self.data(lines)])

        def sha256sum(scale):
            files = max(1, round(22 * scale))
            lines = max(1, round(440000 * min(1, 22 * scale)))
            return Command(prefix + [busybox, "sha256sum"] + [self.data(lines)] * files)

        def sqlite3(scale):
            rows = max(1, round(50000 * scale))
            return Command(prefix + [sqlite, ":memory:"],
                           self.text("input-%d.sql" % rows, SQL % rows))
        return [Program("gzip armhf", "qemu-arm", gzip, short=0.002, sysroot=root),
                Program("sha256sum armhf", "qemu-arm", sha256sum, short=0.0004, sysroot=root),
                Program("sqlite3 armhf", "qemu-arm", sqlite3, short=0.001, sysroot=root,
                        cold="sqlite3_finalize")]

    def python(self):
        """Debian's python3 for armhf, or else this machine's."""
        # The compiled modules of this machine are neither read nor, with -L, replaced
        options = ["-S", "-B", "-X", "pycache_prefix=" + os.path.join(self.tmp, "no-cache")]

        def command(prefix):
            def make(scale):
                rounds = max(1, round(25000 * scale))
                return Command(prefix + options + [self.text("words-%d.py" % rounds,
                                                             PYTHON % rounds)])
            return make

        if not self.wants("python3 armhf", "python3 x86_64"):
            return []
        root = os.path.join(self.sysroot, "python/armhf")
        program = os.path.join(root, "usr/bin/python3")
        if os.path.exists(program):
            return [Program("python3 armhf", "qemu-arm", command(["-L", root, program]),
                            cold="PyErr_Clear", sysroot=root)]
        self.miss("python3 in " + root,
                  "scripts/sysroot.sh --dir %s/python --packages python3 armhf" % self.sysroot)
        if platform.machine() == "x86_64" and os.path.exists("/usr/bin/python3"):
            return [Program("python3 x86_64", "qemu-x86_64", command(["/usr/bin/python3"]),
                            cold="PyErr_Clear")]
        return []

    def worst(self):
        """One kind of event each, as hard as possible."""
        found, cc = [], "arm-linux-gnueabihf-gcc"
        wanted = self.wants("branches arm", "addresses arm", "values arm")
        program = wanted and self.compile_with(cc, "worst-arm", os.path.join(HERE, "worst.c"))
        if program:
            for kind, only, rounds in (("branches", ("exec",), 14), ("addresses", ("mem",), 20),
                                       ("values", ("val",), 240)):
                def make(scale, kind=kind, rounds=rounds):
                    return Command([program, kind, "%g" % (rounds * scale)])
                found.append(Program(kind + " arm", "qemu-arm", make, only=only))
        calls = self.wants("calls arm") and self.compile_with(cc, "calls-arm",
                                                              os.path.join(HERE, "calls.c"))
        if calls:
            found.append(Program("calls arm", "qemu-arm", only=("sys",), make=lambda scale:
                                 Command([calls, str(max(1, round(600000 * scale)))])))

        def nops(scale):
            rounds = max(1, round(1e9 * scale))
            return Command([self.compile_with(
                "mipsel-linux-gnu-gcc", "nops-%d" % rounds, "-nostdlib", "-DROUNDS=%d" % rounds,
                os.path.join(HERE, "nops.S"))])
        if self.wants("nops mipsel") and nops(1e-9).argv[0]:
            found.append(Program("nops mipsel", "qemu-mipsel", nops, only=("exec",)))
        return found

    def all(self):
        found = self.mixed("mixed arm", "arm-linux-gnueabihf-gcc", "qemu-arm", 8, False)
        if platform.machine() == "x86_64":
            found += self.mixed("mixed x86_64", "gcc", "qemu-x86_64", 10, True)
        found += self.foreign() + self.python()
        if self.with_worst:
            found += self.worst()
        return [p for p in found if self.wants(p.name)]


def find(qemu_dir, sysroot, tmp, only="", worst=True):
    """Programs whose name contains `only`, and the reasons why others cannot run."""
    maker = Maker(sysroot, tmp, only, worst)
    result = Programs()
    no_qemu = set()
    for p in maker.all():
        if os.access(os.path.join(qemu_dir, p.qemu), os.X_OK):
            result.found.append(p)
        else:
            no_qemu.add(p.qemu)
    result.missing = maker.missing
    if no_qemu:
        result.missing.append("no %s in %s: scripts/setup.sh --targets %s" % (
            ", ".join(sorted(no_qemu)), qemu_dir,
            ",".join(sorted(q.removeprefix("qemu-") for q in no_qemu))))
    return result
