# SPDX-License-Identifier: MIT
"""The guest programs, their targets, and the purpose of each.

A target here is an instruction set (arm and thumb run under the same QEMU).
Kinds of programs:

exact     deterministic, one thread: compared event by event with QEMU's own
          log and its mem plugin
bytes     know which bytes their instructions touched and print them
property  threads, processes, signals: checked by invariants
calls     their system calls are compared with qemu -strace
maps      print their /proc/self/maps at the end
scenario  report what happened to processes, threads and signals
choice    recorded whole and in parts: the parts must be parts of the whole
switch    switches its own recording
turns     threads and processes that run one at a time (--order)
waits     calls that wait, whose results are the same with --order
gate      threads whose recording is paused, resumed and changed while they run
part      needed by another program, or by a machine
moments   stops in a debugger, which reads its memory
contents  changes its memory in all ways, and prints it
session   many commands of a debugger, with the same answers live and on its trace
tree      counts its own calls, for tests/cli/calls-witness.sh; no case of its own

Further cases of the same program (`also'): memory (it ends with a dump of its own
memory, see guest.h), execlog and gdb (registers), description (what gdb is given of them),
coverage (each block once), places (registers and memory at random places), walk (a script
in gdb steps backward), alone (gdb on a trace without the program's file), rewind (steps backward by its protocol), hits (breakpoints and
watchpoints of random places), expand (executed again from a light trace), stops (calls and signals stop it in a debugger),
chosen-registers (the registers of a part).
"""
import shutil

COMMON = "-O1 -g0 -fno-stack-protector -w"
LINK = {"static": "-static -fno-pie -no-pie", "pie": "-fPIE -pie", "shared": "-fPIC -shared"}


class Target:
    def __init__(self, cc, flags="", qemu=None, objdump=None, bits=64, big_endian=False,
                 reserve=None, sigbus=7, libc=True, link=None,
                 page=4096, descriptors=False, clock=False, tier=1, linker=None):
        self.cc = cc
        self.linker = linker        # besides the compiler's own
        self.flags = flags
        self.qemu = qemu
        self.objdump = objdump or cc.replace("gcc", "objdump")
        self.bits = bits
        self.big_endian = big_endian
        # QEMU gives 64-bit guests mappings where the host kernel puts them, unless it
        # reserves a region for them: the plugin's own mappings would move them.
        self.reserve = reserve
        self.sigbus = sigbus        # number of SIGBUS
        self.page = page            # bytes of a page
        self.descriptors = descriptors  # symbols of functions name descriptors
        self.clock = clock          # its loader keeps the value of a cycle counter
        self.link = link            # replaces the options for a static program
        self.libc = libc            # otherwise only freestanding programs
        self.tier = tier            # 2: see TIER2

    def missing(self):
        """A program that compiling needs and that is not installed, or None."""
        return next((p for p in (self.cc, self.linker) if p and not shutil.which(p)), None)

    def tool(self, name):
        """nm and similar tools for its programs."""
        return self.objdump.replace("objdump", name)


GIB = 1 << 30
TARGETS = {
    "arm": Target("arm-linux-gnueabi-gcc",
                  "-marm -march=armv7-a -mfpu=neon -mfloat-abi=softfp", "arm", bits=32),
    "thumb": Target("arm-linux-gnueabihf-gcc", "-mthumb -march=armv7-a -mfpu=neon", "arm", bits=32),
    "aarch64": Target("aarch64-linux-gnu-gcc", "", "aarch64", reserve=256 * GIB),
    "mipsel": Target("mipsel-linux-gnu-gcc", "", "mipsel", bits=32, sigbus=10),
    "mips": Target("mips-linux-gnu-gcc", "", "mips", bits=32, big_endian=True, sigbus=10),
    "riscv64": Target("riscv64-linux-gnu-gcc", "", "riscv64", reserve=256 * GIB),
    "x86_64": Target("gcc", "", "x86_64", objdump="objdump"),
    "i386": Target("i686-linux-gnu-gcc", "", "i386", bits=32),
    "s390x": Target("s390x-linux-gnu-gcc", "-march=z13", "s390x", big_endian=True,
                    reserve=256 * GIB),
    "ppc64le": Target("powerpc64le-linux-gnu-gcc", "", "ppc64le", reserve=256 * GIB),
}
ALL = list(TARGETS)

# The second tier: portable programs only.  scripts/targets has the packages of the
# compilers.
BARE = "-nostdlib -ffreestanding -fno-builtin"
TIER2 = {
    "ppc": Target("powerpc-linux-gnu-gcc", "", "ppc", bits=32, big_endian=True),
    "ppc64": Target("powerpc64-linux-gnu-gcc", "", "ppc64", big_endian=True, reserve=256 * GIB,
                    descriptors=True),
    "m68k": Target("m68k-linux-gnu-gcc", "", "m68k", bits=32, big_endian=True),
    "hppa": Target("hppa-linux-gnu-gcc", "", "hppa", bits=32, big_endian=True, sigbus=10),
    "mips64el": Target("mips64el-linux-gnuabi64-gcc", "", "mips64el", reserve=256 * GIB,
                       sigbus=10),
    "sparc64": Target("sparc64-linux-gnu-gcc", "", "sparc64", big_endian=True,
                      reserve=256 * GIB, sigbus=10, page=8192),
    # Debian 12's static programs for it fault before main().  Without byte stores (ev67)
    # a store to a variable also writes its neighbours.
    "alpha": Target("alpha-linux-gnu-gcc", "-mcpu=ev67", "alpha", reserve=256 * GIB, sigbus=10, page=8192,
                    link="-fno-pie -no-pie", clock=True),
    # Debian 12's gcc for it omits loop conditions when it optimizes, also in the C library
    # (__libc_start_main has "1: bf.s 1b")
    "sh4": Target("sh4-linux-gnu-gcc", BARE + " -matomic-model=soft-gusa -O0", "sh4", bits=32,
                  libc=False),
    "loongarch64": Target("clang-19", "--target=loongarch64-linux-gnu -fuse-ld=lld " + BARE,
                          "loongarch64", objdump="llvm-objdump-19", reserve=256 * GIB, libc=False,
                          linker="ld.lld-19"),
    "riscv32": Target("riscv64-linux-gnu-gcc", "-march=rv32gc -mabi=ilp32d -Wl,-melf32lriscv " + BARE,
                      "riscv32", bits=32, libc=False),
    "armeb": Target("arm-linux-gnueabi-gcc", "-marm -mcpu=cortex-a15 -mfpu=neon-vfpv4 -mfloat-abi=softfp -mbig-endian -Wl,--be8 " + BARE,
                    "armeb", bits=32, big_endian=True, libc=False),
    "aarch64_be": Target("aarch64-linux-gnu-gcc", "-mbig-endian -mno-outline-atomics " + BARE, "aarch64_be",
                         big_endian=True, reserve=256 * GIB, libc=False),
}
for target in TIER2.values():
    target.tier = 2
TARGETS.update(TIER2)
LIBC2 = [name for name, target in TIER2.items() if target.libc]
BARE2 = [name for name, target in TIER2.items() if not target.libc]
EVERY = ALL + LIBC2                 # those with a C library
ARM = ["arm", "thumb"]
MIPS = ["mipsel", "mips"]
X86 = ["x86_64", "i386"]


def is_dynamic(program, target):
    """Does it need a loader and libraries?"""
    return program.link != "static" or TARGETS[target].link is not None


class Program:
    def __init__(self, name, kind, targets=ALL, flags="", cpu=None, args=(), libs="",
                 source=None, expect=0, also=(), link="static", parts=()):
        self.name = name
        self.kind = kind
        self.targets = targets
        self.flags = flags
        self.cpu = cpu              # for qemu -cpu
        self.args = list(args)
        self.libs = libs
        self.source = source or name + ".c"
        self.expect = expect        # exit status of the guest
        self.also = also            # further kinds of cases
        self.link = link
        self.parts = parts          # names of other programs that it needs


PROGRAMS = [
    # Direct calls of ppc64le enter after the address of the symbol.
    Program("moments", "moments", [t for t in ALL if t != "ppc64le"], also=["transcript"]),
    Program("contents", "contents", EVERY),
    Program("debugged", "session", flags="-g -O0", also=("places", "walk", "rewind", "alone")),
    Program("calls", "exact", EVERY, also=("memory", "execlog", "gdb", "places", "expand")),
    Program("bare", "exact", BARE2, also=("calls", "description")),
    Program("bare-threads", "property", BARE2),
    Program("memory", "exact", EVERY, also=("memory", "execlog", "places")),
    Program("atomics", "exact", EVERY, libs="-Wl,--as-needed -latomic", also=("memory",)),
    Program("floats", "exact", EVERY, libs="-lm", also=("execlog", "gdb", "description")),
    Program("floats-O3", "exact", EVERY, source="floats.c", flags="-O3 -ffast-math", libs="-lm"),
    Program("faults", "exact", EVERY, also=("memory", "execlog", "coverage", "stops", "hits", "expand")),
    Program("derived", "exact", EVERY, also=("memory", "execlog")),
    Program("smc", "exact", EVERY, also=("memory", "coverage", "expand")),
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
    # 512 bits: on any host, helpers execute operations on register groups
    Program("riscv-wide", "bytes", ["riscv64"], cpu="max,vlen=512", source="riscv-bytes.c",
            also=("memory",)),
    Program("stale", "bytes"),
    Program("syscalls", "calls", EVERY, args=["{work}"], expect=3),
    Program("mappings", "maps", EVERY, flags="-DDYNAMIC", libs="-ldl", link="pie",
            args=["{work}", "./maplib"], parts=["maplib"], also=("hits",)),
    Program("mappings-static", "maps", EVERY, source="mappings.c", args=["{work}"]),
    Program("maplib", "part", EVERY, link="shared"),
    # for machines, see tests/oracle/linux.py and tasks.py
    Program("marks", "part", EVERY),
    Program("tasks", "part", ["aarch64", "riscv64", "x86_64"], libs="-pthread",
            flags="-Wl,--section-start=.numbers=0x20000000"),
    *[Program("twin-" + name, "part", ["aarch64", "riscv64", "x86_64"], source="twins.c",
              flags="-DWORK=" + name, link=link)
      for name, link in (("alpha", "static"), ("gamma", "static"), ("moved", "pie"))],
    Program("calltree", "tree", flags="-O2 -foptimize-sibling-calls", libs="-pthread",
            also=("gdb",)),
    Program("deaths", "scenario", EVERY, libs="-pthread"),
    Program("strays", "scenario", EVERY),
    Program("handlers", "scenario", EVERY, also=("stops",)),
    Program("family", "scenario", EVERY, libs="-pthread", expect=9),
    Program("follow-exec", "scenario", EVERY, source="family.c", libs="-pthread", expect=9,
            also=("hits", "expand")),
    Program("badinput", "scenario", EVERY),
    # (a loader reads from descriptors with the same numbers)
    Program("pingpong", "scenario", [t for t in EVERY if not TARGETS[t].link], libs="-pthread"),
    Program("choose", "choice", libs="-Wl,--as-needed -latomic", also=("coverage", "chosen-registers")),
    Program("choose-dynamic", "choice", source="choose.c", libs="-Wl,--as-needed -latomic",
            link="pie", also=("expand",)),
    Program("switches", "switch"),
    Program("turns", "turns", EVERY, libs="-pthread"),
    Program("waits", "waits", EVERY, libs="-pthread"),
    Program("gates", "gate", libs="-pthread"),
    Program("crowd", "property", EVERY, libs="-pthread", also=("coverage", "hits", "expand")),
    Program("threads", "property", EVERY, libs="-pthread", also=("expand",)),
    Program("patched", "property", EVERY, libs="-pthread"),
    Program("adds", "property", EVERY, libs="-pthread", args=["20000"]),
    # long enough for many failed attempts; the other targets have the short one
    Program("adds-300000", "property", ["arm", "aarch64", "mips", "riscv64", "x86_64"],
            source="adds.c", libs="-pthread"),
    Program("signals", "property", EVERY, also=("expand",)),
    Program("storm", "property", EVERY, libs="-pthread"),
    Program("forktree", "property", EVERY, also=("coverage", "expand")),
    Program("processes", "property", EVERY, libs="-pthread", also=("hits",)),
    Program("exitgroup", "property", EVERY, libs="-pthread", expect=5),
    Program("closing", "property", EVERY, libs="-pthread"),
    Program("daemon", "property", EVERY, expect=6),
    Program("addresses", "property", EVERY, args=["one", "two"], expect=17, also=("expand",)),
]
BY_NAME = {p.name: p for p in PROGRAMS}
