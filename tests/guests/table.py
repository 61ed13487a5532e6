# SPDX-License-Identifier: MIT
"""Which guest programs there are, for which targets, and what each is for.

A target here is an instruction set (arm and thumb run under the same QEMU).
Kinds of programs:

exact     deterministic, one thread: compared event by event with QEMU's own
          log and its mem plugin
bytes     know which bytes their instructions touched and print them
property  threads, processes, signals: checked by what must hold
calls     their system calls are compared with qemu -strace
maps      print their /proc/self/maps in the end
scenario  say what happened to processes, threads and signals
choice    recorded whole and in parts: the parts are those of the whole
switch    switches its own recording
gate      threads that are paused, resumed and chosen anew while they run
part      what another program needs
tree      counts its own calls, for tests/cli/calls-witness.sh

Further cases of the same program (`also'): memory (it ends by a dump of its own
memory, see guest.h), execlog and gdb (registers), coverage (each block once),
chosen-registers (the registers of a part).
"""

COMMON = "-O1 -g0 -fno-stack-protector -w"
LINK = {"static": "-static -fno-pie -no-pie", "pie": "-fPIE -pie", "shared": "-fPIC -shared"}


class Target:
    def __init__(self, cc, flags="", qemu=None, objdump=None):
        self.cc = cc
        self.flags = flags
        self.qemu = qemu
        self.objdump = objdump or cc.replace("gcc", "objdump")


TARGETS = {
    "arm": Target("arm-linux-gnueabi-gcc",
                  "-marm -march=armv7-a -mfpu=neon -mfloat-abi=softfp", "arm"),
    "thumb": Target("arm-linux-gnueabihf-gcc", "-mthumb -march=armv7-a -mfpu=neon", "arm"),
    "aarch64": Target("aarch64-linux-gnu-gcc", "", "aarch64"),
    "mipsel": Target("mipsel-linux-gnu-gcc", "", "mipsel"),
    "mips": Target("mips-linux-gnu-gcc", "", "mips"),
    "riscv64": Target("riscv64-linux-gnu-gcc", "", "riscv64"),
    "x86_64": Target("gcc", "", "x86_64"),
    "i386": Target("i686-linux-gnu-gcc", "", "i386"),
    "s390x": Target("s390x-linux-gnu-gcc", "-march=z13", "s390x"),
    "ppc64le": Target("powerpc64le-linux-gnu-gcc", "", "ppc64le"),
}
ALL = list(TARGETS)
ARM = ["arm", "thumb"]
MIPS = ["mipsel", "mips"]
X86 = ["x86_64", "i386"]


class Program:
    def __init__(self, name, kind, targets=ALL, flags="", cpu=None, args=(), libs="",
                 source=None, expect=0, ci=True, also=(), link="static", parts=()):
        self.name = name
        self.kind = kind
        self.targets = targets
        self.flags = flags
        self.cpu = cpu              # for qemu -cpu
        self.args = list(args)
        self.libs = libs
        self.source = source or name + ".c"
        self.expect = expect        # exit status of the guest
        self.ci = ci                # also without --full: True, or for which targets
        self.also = also            # further kinds of cases
        self.link = link
        self.parts = parts          # names of programs that it needs beside it


PROGRAMS = [
    Program("calls", "exact", also=("memory", "execlog", "gdb")),
    Program("memory", "exact", also=("memory", "execlog")),
    Program("atomics", "exact", libs="-Wl,--as-needed -latomic", also=("memory",)),
    Program("floats", "exact", libs="-lm", also=("execlog", "gdb")),
    Program("floats-O3", "exact", source="floats.c", flags="-O3 -ffast-math", libs="-lm"),
    Program("faults", "exact", also=("memory", "execlog", "coverage")),
    Program("derived", "exact", also=("memory", "execlog")),
    Program("smc", "exact", also=("memory", "coverage")),
    Program("x86", "exact", X86, flags="-msse2", cpu="max",
            also=("memory", "execlog")),
    Program("x86rep", "exact", X86),
    Program("arm", "exact", ARM, also=("memory", "execlog")),
    Program("aarch64", "exact", ["aarch64"], cpu="max", flags="-march=armv8.3-a",
            also=("memory", "execlog")),
    Program("mips", "exact", MIPS, also=("memory", "gdb")),
    Program("riscv", "exact", ["riscv64"], also=("memory", "execlog")),
    Program("s390x", "exact", ["s390x"], cpu="max", also=("memory",)),
    Program("ppc", "exact", ["ppc64le"], also=("memory",)),
    Program("s390x-bytes", "bytes", ["s390x"], cpu="max", also=("memory",)),
    Program("aarch64-bytes", "bytes", ["aarch64"], cpu="max", also=("memory",)),
    Program("x86-bytes", "bytes", X86, flags="-msse2", cpu="max", also=("memory",)),
    Program("ppc-bytes", "bytes", ["ppc64le"], also=("memory",)),
    Program("riscv-bytes", "bytes", ["riscv64"], cpu="max", also=("memory",)),
    # 512 bits: on any host helpers make what is done to a group of registers
    Program("riscv-wide", "bytes", ["riscv64"], cpu="max,vlen=512", source="riscv-bytes.c",
            also=("memory",)),
    Program("stale", "bytes"),
    Program("syscalls", "calls", args=["{work}"], expect=3),
    Program("mappings", "maps", flags="-DDYNAMIC", libs="-ldl", link="pie",
            args=["{work}", "./maplib"], parts=["maplib"]),
    Program("mappings-static", "maps", source="mappings.c", args=["{work}"]),
    Program("maplib", "part", link="shared"),
    Program("calltree", "tree", flags="-O2 -foptimize-sibling-calls", libs="-pthread"),
    Program("deaths", "scenario", libs="-pthread"),
    Program("handlers", "scenario"),
    Program("family", "scenario", libs="-pthread", expect=9),
    Program("follow-exec", "scenario", source="family.c", libs="-pthread", expect=9),
    Program("badinput", "scenario"),
    Program("pingpong", "scenario", libs="-pthread"),
    Program("choose", "choice", libs="-Wl,--as-needed -latomic", also=("coverage", "chosen-registers")),
    Program("choose-dynamic", "choice", source="choose.c", libs="-Wl,--as-needed -latomic",
            link="pie", ci=["arm", "x86_64", "s390x"]),
    Program("switches", "switch"),
    Program("gates", "gate", libs="-pthread", ci=["x86_64", "arm"]),
    Program("crowd", "property", libs="-pthread", also=("coverage",)),
    Program("threads", "property", libs="-pthread"),
    Program("patched", "property", libs="-pthread"),
    Program("adds", "property", libs="-pthread", args=["20000"]),
    Program("adds-300000", "property", source="adds.c", libs="-pthread", ci=["x86_64"]),
    Program("signals", "property"),
    Program("storm", "property", libs="-pthread"),
    Program("forktree", "property", also=("coverage",)),
    Program("processes", "property", libs="-pthread"),
    Program("exitgroup", "property", libs="-pthread", expect=5),
    Program("closing", "property", libs="-pthread"),
    Program("daemon", "property", expect=6),
    Program("addresses", "property", args=["one", "two"], expect=17),
]
BY_NAME = {p.name: p for p in PROGRAMS}
