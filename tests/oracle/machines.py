# SPDX-License-Identifier: MIT
"""Recordings of machines against witnesses.

exact      instructions and accesses with their values: QEMU's log with -one-insn-per-tb,
           and the plugin mem.  Neither sees what QEMU writes for a semihosting call, but in
           later loads: where it writes and the bytes of its file follow from the program
registers  registers after each instruction: QEMU's plugin execlog, or cpulog.py
vcpus      exact, for each of four vCPUs
order      all that four vCPUs did, one after the other: QEMU's log; what each load of shared
           memory finds
calls      exceptions in the call tree, with all that their handlers executed: QEMU's log
privileges code without privileges alone, recorded (--user) or shown, and all other code: the
           log of what runs, with QEMU's log of exceptions or its flags of each block
linux      Debian's kernel boots, works and ends as unrecorded: as untouched, on two vCPUs
untouched  the machine does the same: its console, QEMU's log of exceptions, its end; and the
           trace has these exceptions

The machines are deterministic: their clock counts instructions (-icount).  QEMU knows the
code of a page that is mapped twice by its physical address (CF_PCREL), so its plugins report the
address at which such code was translated first: a witness's pc may be of another page.
"""
import collections
import json
import os
import re
import subprocess
import tempfile

import common
import cpulog
import exceptions
import execlog
import linux
import states
from common import Failure, Skip

FOLDER = os.path.join(common.GUESTS, "machine")
# source: the program's files; script: the linker's; a program that is not loaded as a kernel is
# the machine's firmware
Machine = collections.namedtuple("Machine", "qemu source cc flags options script load")
CFLAGS = ("-O1 -ffreestanding -fno-builtin -nostdlib -static -no-pie -fno-pie "
          "-fno-stack-protector -Wl,--build-id=none,--no-warn-rwx-segments,-z,noexecstack").split()
CLOCK = "-icount shift=0,sleep=off -rtc clock=vm,base=2026-01-01 -nic none -nographic -no-reboot"
DEBUGGER = "-semihosting-config enable=on,target=native "
MIPS = ("-march=mips32r2 -mabi=32 -msoft-float -mno-abicalls -G0 "
        "-Wl,--defsym=BASE=0x100000,-e0x80100000")
MACHINES = {
    "aarch64-softmmu": Machine(
        "qemu-system-aarch64", "aarch64", "aarch64-linux-gnu-gcc",
        "-mgeneral-regs-only -mno-outline-atomics -Wl,--defsym=BASE=0x40100000",
        "-M virt,dtb-randomness=off -cpu cortex-a76 -m 128 " + DEBUGGER + CLOCK, "machine.ld", "-kernel"),
    "riscv64-softmmu": Machine(
        "qemu-system-riscv64", "riscv", "riscv64-linux-gnu-gcc",
        "-march=rv64ima_zicsr_zifencei -mabi=lp64 -mcmodel=medany -Wl,--defsym=BASE=0x80000000",
        "-M virt -bios none -m 128 " + DEBUGGER + CLOCK, "machine.ld", "-kernel"),
    "riscv32-softmmu": Machine(
        "qemu-system-riscv32", "riscv", "riscv64-linux-gnu-gcc",
        "-march=rv32ima_zicsr_zifencei -mabi=ilp32 -Wl,-melf32lriscv,--defsym=BASE=0x80000000",
        "-M virt -bios none -m 128 " + DEBUGGER + CLOCK, "machine.ld", "-kernel"),
    "mips-softmmu": Machine(
        "qemu-system-mips", "mips", "mips-linux-gnu-gcc", MIPS,
        "-M malta -vga none -m 128 " + CLOCK, "machine.ld", "-kernel"),
    "mipsel-softmmu": Machine(
        "qemu-system-mipsel", "mips", "mipsel-linux-gnu-gcc", MIPS,
        "-M malta -vga none -m 128 " + CLOCK, "machine.ld", "-kernel"),
    "arm-softmmu": Machine(
        "qemu-system-arm", "arm", "arm-linux-gnueabihf-gcc",
        "-march=armv7ve -marm -mfloat-abi=soft -Wl,--defsym=BASE=0x40100000",
        "-M virt,dtb-randomness=off -cpu cortex-a15 -m 128 " + CLOCK, "machine.ld", "-kernel"),
    "armv7m-softmmu": Machine(
        "qemu-system-arm", "armv7m", "arm-linux-gnueabihf-gcc",
        "-mcpu=cortex-m3 -mthumb -mfloat-abi=soft -Wl,--defsym=BASE=0",
        "-M mps2-an385 " + DEBUGGER + CLOCK, "machine.ld", "-kernel"),
    "x86_64-softmmu": Machine(
        "qemu-system-x86_64", "x86_64", "gcc", "-mgeneral-regs-only -mno-red-zone -fcf-protection=none",
        "-M pc,vmport=off -cpu qemu64,+cx16,-apic -vga none -m 128 " + CLOCK, "x86_64.ld", "-bios"),
    "s390x-softmmu": Machine(
        "qemu-system-s390x", "s390x", "s390x-linux-gnu-gcc",
        "-march=z13 -msoft-float -Wl,--defsym=BASE=0x100000",
        "-M s390-ccw-virtio -m 128 -L /usr/share/qemu " + CLOCK, "machine.ld", "-kernel"),
}
BIG_ENDIAN = {"mips-softmmu", "s390x-softmmu"}
QEMU = {"armv7m-softmmu": "arm-softmmu"}  # where the target is not that of the emulator
NAMES = {
    "aarch64-softmmu": ["exact", "requests", "registers", "untouched", "vcpus", "order", "privileges",
                        "calls", "linux"],
    "riscv64-softmmu": ["exact", "requests", "registers", "untouched", "vcpus", "order", "privileges",
                        "linux"],
    "riscv32-softmmu": ["exact", "requests", "registers", "untouched", "vcpus", "order", "privileges"],
    "mips-softmmu": ["exact", "requests", "registers", "untouched", "privileges"],
    "mipsel-softmmu": ["exact", "requests", "registers", "untouched", "privileges", "linux"],
    "x86_64-softmmu": ["exact", "requests", "registers", "untouched", "vcpus", "order", "privileges",
                       "linux"],
    "arm-softmmu": ["exact", "requests", "registers", "untouched", "vcpus", "order", "privileges",
                    "linux"],
    "armv7m-softmmu": ["exact", "requests", "registers", "untouched", "privileges"],
    "s390x-softmmu": ["exact", "requests", "registers", "untouched", "vcpus", "order", "privileges",
                      "linux"],
    **{target: ["linux"] for target in ("i386-softmmu", "mips64el-softmmu", "ppc64-softmmu")},
}
# What the plugin reports and a recording does not have, the machine's own registers; of mips, what
# the log does not have; of s390x pp, which gdb's description has under KVM only.
NOT_RECORDED = {
    "aarch64-softmmu": ["pc"],
    "riscv64-softmmu": ["pc"],
    "riscv32-softmmu": ["pc"],
    "mips-softmmu": ["badvaddr", "w*"],
    "mipsel-softmmu": ["badvaddr", "w*"],
    "arm-softmmu": ["pc"],
    "armv7m-softmmu": ["pc", "cpsr"],
    "x86_64-softmmu": ["eflags", "cs_base", "ds_base", "es_base", "ss_base"],
    "s390x-softmmu": ["pswa", "pp"],
}
# Of what several vCPUs do, where that is not in the machine's own program
VCPUS_PROGRAM = {"riscv32-softmmu": "riscv-vcpus", "riscv64-softmmu": "riscv-vcpus",
                 "x86_64-softmmu": "x86_64-vcpus"}
VCPUS_OPTIONS = {"x86_64-softmmu": ["-cpu", "qemu64,+cx16"]}  # with a local APIC
# Another program, for instructions that make accesses without a physical address
SECOND = {"s390x-softmmu": "s390x-branches"}
SEMIHOSTING = {"aarch64-softmmu", "riscv32-softmmu", "riscv64-softmmu"}  # by semihosting.h
LOGGED = {"mips-softmmu", "mipsel-softmmu"}  # the plugin sees no registers of theirs
# QEMU computes these when they are read.  Any other one that the plugin reports is recorded.
RISCV_COMPUTED = {"cycle", "instret", "mcycle", "minstret", "time"}
COMPUTED = {
    "aarch64-softmmu": {"none"},
    "riscv64-softmmu": RISCV_COMPUTED,
    "riscv32-softmmu": RISCV_COMPUTED,
    "arm-softmmu": {"none"},
    "armv7m-softmmu": {"none"},
    "mips-softmmu": {"none"},
    "mipsel-softmmu": {"none"},
    "x86_64-softmmu": {"rip"},
    "s390x-softmmu": {"none"},
}
# Bits that the plugin does not see: the state of an IT block, see states.py
IGNORED = {"arm-softmmu": states.IGNORED["thumb"],
           "armv7m-softmmu": ["--ignore", "xpsr=0x0600fc00"]}


def word_size(target):
    return 8 if target in ("aarch64-softmmu", "riscv64-softmmu", "s390x-softmmu", "x86_64-softmmu") else 4


def architecture(target):
    return QEMU.get(target, target).split("-")[0]


def objects_of(m, main, folder):
    """The files to link: `main' has the program, in place of that of the machine's own."""
    objects = []
    for source in dict.fromkeys((m.source + ".S", m.source + ".c", main + ".c")):
        out = os.path.join(folder, "%s.%d.o" % (source, os.getpid()))
        other = ["-Dmachine_main=other_main"] if source == m.source + ".c" != main + ".c" else []
        subprocess.run([m.cc, *CFLAGS, *m.flags.split(), *other, "-c", "-o", out,
                        os.path.join(FOLDER, source)], capture_output=True, text=True, check=True)
        objects.append(out)
    return objects


def program_of(tools, target, main=None):
    """The machine's program, or another one, built."""
    m = MACHINES[target]
    folder = os.path.join(tools.guests, target)
    out = os.path.join(folder, main or "machine")
    script = os.path.join(FOLDER, m.script)
    inputs = [os.path.join(FOLDER, f) for f in os.listdir(FOLDER)]
    if os.path.exists(out) and all(os.path.getmtime(f) < os.path.getmtime(out) for f in inputs):
        return out
    os.makedirs(folder, exist_ok=True)
    part = "%s.%d" % (out, os.getpid())
    try:
        objects = objects_of(m, main or m.source, folder)
        subprocess.run([m.cc, *CFLAGS, *m.flags.split(), "-T", script, "-o", part, *objects],
                       capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise Skip("no %s" % m.cc) from None
    except subprocess.CalledProcessError as e:
        raise Failure("%s: %s" % (m.cc, e.stderr.strip())) from None
    for path in objects:
        os.remove(path)
    os.rename(part, out)
    return out


def symbol(tools, target, name, main=None):
    nm = MACHINES[target].cc.replace("gcc", "nm")
    out = subprocess.run([nm, program_of(tools, target, main)], capture_output=True, text=True, check=True)
    return next(int(line.split()[0], 16) for line in out.stdout.splitlines()
                if line.split()[-1] == name)


def end_of(tools, target, main=None):
    """The instruction that switches the machine off: it runs on until QEMU notices."""
    return ["--until", "0x%x" % symbol(tools, target, "machine_ends", main)]


def command_of(tools, target, main=None):
    m = MACHINES[target]
    qemu = os.path.join(tools.qemu_dir, m.qemu)
    if not os.path.exists(qemu):
        raise Skip("no %s" % qemu)
    program = program_of(tools, target, main)
    if m.load == "-bios":
        image = "%s.%d.bin" % (program, os.getpid())
        subprocess.run([m.cc.replace("gcc", "objcopy"), "-O", "binary", program, image], check=True)
        os.rename(image, program + ".bin")
        program += ".bin"
    return [qemu, *m.options.split(), m.load, program]


def record(tools, target, options, more=(), main=None):
    trace = os.path.join(tools.work, "machine-%s.ctr" % target)
    command = command_of(tools, target, main)
    recorded = common.record(tools, trace, [*command, *more], options=options)
    if recorded.status:
        raise Failure("exit status %d: %s" % (recorded.status, recorded.stderr.strip()[-300:]))
    if b"calls 1010" not in recorded.stdout:
        raise Failure("the program did not end: %r" % recorded.stdout[-300:])
    return trace, command, recorded


def run_witness(command, options, log):
    """Starts the witness, which writes `log'."""
    return subprocess.Popen([*command, "-accel", "tcg,one-insn-per-tb=on", *options, "-D", log],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def same_console(witness, recorded):
    seen = witness.stdout.read()
    witness.wait()
    if seen != recorded.stdout:
        raise Failure("recorded it printed %r, unrecorded %r" % (recorded.stdout[-300:], seen[-300:]))


def compare(tools, target, trace, log, options, dump_options=()):
    with common.dump(tools, trace, *dump_options) as dump:
        order = ["--big-endian"] if target in BIG_ENDIAN else []
        done = subprocess.run([tools.compare, "--machine", *order, *options, "--values", "--target",
                               architecture(target), "--witness", log,
                               "--trace", "/dev/fd/%d" % dump.stdout.fileno()],
                              pass_fds=[dump.stdout.fileno()], capture_output=True, text=True,
                              timeout=common.PATIENCE)
    if done.returncode:
        raise Failure(" ".join(options) + ": " + done.stdout.strip())
    return done.stdout.strip()


def witnessed(tools, target, command, recorded, trace, comparisons):
    """A trace of pcs and accesses with values, against another run of the command."""
    log = trace + ".log"
    witness = run_witness(command, ["-d", "in_asm,exec,nochain,plugin", "-plugin",
                                    tools.plugin() + ",print-accesses=true"], log)
    same_console(witness, recorded)
    said = [compare(tools, target, trace, log, *c) for c in comparisons]
    common.drop_file(log)
    return "; ".join(said)


def exactly(tools, target, more, comparisons, main=None):
    trace, command, recorded = record(tools, target, ("--events", "exec,mem,val"), more, main)
    said = witnessed(tools, target, [*command, *more], recorded, trace, comparisons)
    common.drop_file(trace)
    return said


def programs(target):
    return [None, SECOND[target]] if target in SECOND else [None]


def beside_plugin(tools, target):
    """A plugin in the recorded machine: its calls are no instructions of the program."""
    events = ("--events", "exec,mem,val,reg")
    seen = []
    for more in ([], ["-plugin", tools.plugin("execlog")]):
        trace, _, recorded = record(tools, target, events, more)
        if "CRITICAL" in recorded.stderr:
            raise Failure("with a plugin: " + recorded.stderr.strip()[-300:])
        lines = map(json.loads, common.dump_lines(tools, trace, "--events", "exec,mem,val,reg",
                                                  "--to", "10000", "--thread", "cpu0"))
        seen.append([{k: v for k, v in o.items() if k not in ("pid", "tid")} for o in lines])
        common.drop_file(trace)
    for a, b in zip(*seen):
        if a != b:
            raise Failure("with a plugin %r, without %r" % (b, a))
    if len(seen[0]) != len(seen[1]) or len(seen[0]) < 10000:
        raise Failure("with a plugin %d events, without %d" % (len(seen[1]), len(seen[0])))
    return "%d events beside a plugin" % len(seen[0])


def debugger_writes(tools, target):
    """What QEMU writes for the calls of semihosting.h: its file, in two pages, and four words."""
    trace, _, _ = record(tools, target, ("--events", "exec,val,dma"))
    seen = [(int(o["addr"], 16), o["data"])
            for o in map(json.loads, common.dump_lines(tools, trace, "--events", "dma"))
            if o["source"] == "host"]
    frames, heap = symbol(tools, target, "frames"), symbol(tools, target, "heap")
    want = [(frames + 5 * 4096 + 4094, "5348"), (frames + 3 * 4096, "464203"),
            *((heap + i * word_size(target), data) for i, (_, data) in enumerate(seen[2:6]))]
    if len(want) != 6 or seen != want:
        raise Failure("QEMU wrote %r, not %r" % (seen, want))
    common.drop_file(trace)
    return "%d writes by QEMU" % len(seen)


def exact(tools, target):
    said = [exactly(tools, target, [], [(end_of(tools, target, main),)], main)
            for main in programs(target)]
    if target in SEMIHOSTING:
        said.append(debugger_writes(tools, target))
    return "; ".join([*said, beside_plugin(tools, target)])


def several(target):
    """QEMU's options for four vCPUs"""
    return ["-smp", "4", *VCPUS_OPTIONS.get(target, [])]


def vcpus(tools, target):
    """The first one ends where it switches the machine off, the others are off or wait then."""
    main = VCPUS_PROGRAM.get(target)
    return exactly(tools, target, several(target), [
        (["--cpu", str(i), *(end_of(tools, target, main) if i == 0 else [])],
         ("--events", "exec,mem,val", "--thread", "cpu%d" % i)) for i in range(4)], main)


def order_of_log(path):
    """Each instruction's vCPU and pc."""
    ran = []
    with open(path, encoding="ascii", errors="replace") as f:
        for line in f:
            trace = TRACE.match(line)
            if trace:
                ran.append((int(line.split(":")[0].split()[1]), int(trace[1], 16)))
            elif line.startswith("Stopped execution"):
                ran.pop()
    return ran


def order(tools, target):
    main = VCPUS_PROGRAM.get(target)
    more = several(target)
    trace, command, _ = record(tools, target, ("--events", "exec,mem,val"), more, main)
    log = trace + ".log"
    run_witness([*command, *more], ["-d", "exec,nochain"], log).communicate(timeout=common.PATIENCE)
    logged = order_of_log(log)
    common.drop_file(log)
    seen = [(o["tid"] - o["pid"], int(o["pc"], 16))
            for o in map(json.loads, common.dump_lines(tools, trace, "--events", "exec"))]
    end = seen.index((0, symbol(tools, target, "machine_ends", main)))
    if seen[:end] != logged[:end]:
        n = next(i for i in range(end) if seen[i] != logged[i])
        raise Failure("instruction %d: %r, in the log %r" % (n, seen[n], logged[n]))
    turns = sum(1 for i in range(1, end) if seen[i][0] != seen[i - 1][0])
    slices = [json.loads(line)["number"] for line in common.dump_lines(tools, trace, "--events", "order")]
    if turns < 200 or slices != list(range(1, len(slices) + 1)):
        raise Failure("%d turns, %d slices" % (turns, len(slices)))
    shared = symbol(tools, target, "shared", main)
    followed = ["0x%x-0x%x" % (shared, shared + 4096), trace]
    done = subprocess.run([tools.order, *followed], capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.stdout.strip())
    for n in ("1", "2"):  # of the first one nobody may have loaded a byte
        less = subprocess.run([tools.order, "--forget", n, *followed], capture_output=True, text=True)
        if less.returncode == 1 and ": loads 0x" in less.stdout:
            break
    else:
        raise Failure("a missing store is not noticed: " + less.stdout.strip())
    common.drop_file(trace)
    return "%d instructions in %d turns; %s" % (end, turns, done.stdout.strip())


def log_registers(tools, target, command, recorded, log):
    """Writes what the plugin says, or what QEMU's own log does."""
    if target not in LOGGED:
        same_console(run_witness(command, ["-d", "plugin", "-plugin", tools.plugin("execlog") + ",reg=*"],
                                 log), recorded)
        if target == "s390x-softmmu":
            execlog.convert(log, target)
        return
    pipe = log + ".pipe"
    os.mkfifo(pipe)
    try:
        witness = run_witness(command, cpulog.OPTIONS, pipe)
        with open(pipe, encoding="ascii") as logged, open(log, "w", encoding="ascii") as out:
            cpulog.as_execlog(logged, out)
        same_console(witness, recorded)
    finally:
        os.unlink(pipe)


def same_registers(tools, trace, log, not_recorded, options, computed):
    """The registers of a trace are those that the witness reported, but for some."""
    skips = [w for name in not_recorded for w in ("--skip", name)]
    done = subprocess.run([tools.registers, "--machine", *options, *skips, "--witness", log, trace],
                          capture_output=True, text=True, timeout=common.PATIENCE)
    if done.returncode:
        raise Failure(done.stdout.strip())
    missing = set(done.stdout.rpartition("not in the trace:")[2].split())
    if missing != computed:
        raise Failure("not in the trace: %r, not %r" % (missing, computed))
    return done.stdout.strip()


def registers_of(tools, target, computed, more=(), main=None):
    trace, command, recorded = record(tools, target, ("--events", "reg"), more, main)
    log = trace + ".log"
    log_registers(tools, target, [*command, *more], recorded, log)
    said = same_registers(tools, trace, log, NOT_RECORDED[target],
                          [*end_of(tools, target, main), *IGNORED.get(target, [])], computed)
    for path in (trace, log):
        common.drop_file(path)
    return said


# Programs for machines with more registers, and what those are: a local APIC; all levels of privileges.
# A register of both worlds has two names in the plugin's list, and one in the trace.
WORLDS = ["-M", "virt,secure=on,virtualization=on,dtb-randomness=off", "-cpu", "max"]
MORE_REGISTERS = {
    "x86_64-softmmu": ("x86-priority", ["-cpu", "qemu64"], COMPUTED["x86_64-softmmu"]),
    "aarch64-softmmu": ("aarch64-levels", WORLDS, {"none"}),
    "arm-softmmu": ("arm-levels", WORLDS,
                    {name + "_s" for name in (
                        "cpacr cptr_el2 dbgdscrint disr_el1 esr_el2 hcr mdscr_el1 mvbar nsacr "
                        "pmccfiltr pmevtyper1 scr vbar_el2 vdisr_el2").split()}),
}


def registers(tools, target):
    said = "; ".join(registers_of(tools, target, COMPUTED[target], main=main) for main in programs(target))
    if target in MORE_REGISTERS:
        main, more, computed = MORE_REGISTERS[target]
        said += "; " + registers_of(tools, target, computed, more, main)
    return said


# Of these, two boots are never the same.  The log of the recorded one is the witness.
VARY = {"mipsel-softmmu", "mips64el-softmmu", "ppc64-softmmu", "s390x-softmmu"}


def check_unrecorded(command, recorded, recorded_log, log):
    """The same machine, unrecorded."""
    done = subprocess.run([*command, "-d", "int", "-D", log], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=common.PATIENCE)
    if (done.stdout, done.returncode) != (recorded.stdout, recorded.status):
        raise Failure("recorded it printed %r (%d), unrecorded %r (%d)"
                      % (recorded.stdout[-300:], recorded.status, done.stdout[-300:],
                         done.returncode))
    if lines_of(log) != lines_of(recorded_log):
        raise Failure("recorded and unrecorded the log of -d int differs")


def lines_of(log):
    """Of a log of exceptions, without the pc that QEMU shows where arm code changes its mode:
    that of another instruction, in recorded blocks and in others not the same."""
    with open(log, encoding="ascii", errors="replace") as f:
        return [re.sub(r"(AArch32 mode switch .*) PC \w+", r"\1", line) for line in f]


def same_twice(tools, target, command, make_trace, varies=False):
    """Recorded and, unless the machine varies, unrecorded: the console, the end, and QEMU's log
    of exceptions and interrupts, which are the events of the trace.  make_trace: from more
    options of QEMU's."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "recorded")
        trace, recorded = make_trace(["-d", "int", "-D", log])
        if not varies:
            check_unrecorded(command, recorded, log, os.path.join(folder, "plain"))
        lines = lines_of(log)
    said = "%d lines of -d int" % len(lines)
    if target in exceptions.READERS:
        events = common.dump_lines(tools, trace, "--events", "int")
        wrong, n = exceptions.difference(target, lines, events)
        if wrong or not n:
            raise Failure(wrong or "no exceptions in the trace")
        said += ", %d exceptions" % n
    if not lines:
        raise Failure("the log is empty")
    return trace, recorded, said


def untouched(tools, target):
    return "; ".join(untouched_program(tools, target, main) for main in programs(target))


def untouched_program(tools, target, main):
    def make_trace(more):
        trace, _, recorded = record(tools, target, ("--events", "exec,mem,int"), more, main)
        return trace, recorded

    trace, _, said = same_twice(tools, target, command_of(tools, target, main), make_trace)
    if target in ("mips-softmmu", "mipsel-softmmu"):
        said += ", %d interrupts" % mips_interrupts(tools, target, trace)
    if target in RETURNS:
        said += ", %d returns" % returns(tools, target, trace)
    if target.startswith("riscv"):
        said += ", %d calls of semihosting" % semihosting_calls(tools, trace)
    names_of_vcpus(tools, trace)
    common.drop_file(trace)
    return said


def mips_interrupts(tools, target, trace):
    """They are not in the log: one comes before each instruction at their vector."""
    vector = "0x%x" % (symbol(tools, target, "vectors") + 0x80000200)
    ran = [json.loads(line)["ordinal"]
           for line in common.dump_lines(tools, trace, "--events", "exec", "--pc", vector)]
    events = [json.loads(line) for line in common.dump_lines(tools, trace, "--events", "int")]
    taken = [e["ordinal"] for e in events if e.get("async")]
    if taken != ran or len(ran) < 20:
        raise Failure("%d interrupts, their vector ran %d times" % (len(taken), len(ran)))
    return len(ran)


# Instructions that return from an exception, as tracedump shows the bytes
RETURNS = {"mips-softmmu": ["42000018"], "mipsel-softmmu": ["18000042"],
           "riscv32-softmmu": ["73002010", "73002030"], "riscv64-softmmu": ["73002010", "73002030"]}


def returns(tools, target, trace):
    """They are not in the log: one comes after each such instruction, to the next one."""
    expected, seen, back = [], [], False
    for o in map(json.loads, common.dump_lines(tools, trace, "--events", "exec,int")):
        if o.get("op") == "return":
            seen.append((o["ordinal"], o["pc"]))
            continue
        if back:  # an exception says where it was
            expected.append((o["ordinal"], o["pc"]))
        back = o.get("bytes") in RETURNS[target]
    if seen != expected or len(seen) < 100:
        n = next((i for i, (a, b) in enumerate(zip(seen, expected)) if a != b), len(expected))
        raise Failure("return %d is %r, not %r" % (n, seen[n:n + 1], expected[n:n + 1]))
    return len(seen)


# Instructions that are a semihosting call
SEMIHOSTING_CALL = ["1310f001", "73001000"]


def semihosting_calls(tools, trace):
    """They are not in riscv's log: one comes after each such pair of instructions."""
    expected, seen, last = [], [], [None, None]
    for o in map(json.loads, common.dump_lines(tools, trace, "--events", "exec,int")):
        if o["kind"] == "exec":
            last = [last[1], o["bytes"]]
            if last == SEMIHOSTING_CALL:
                expected.append((o["ordinal"] + 1, "0x%x" % (int(o["pc"], 16) + 4)))
        elif o.get("emulated"):
            seen.append((o["ordinal"], o["pc"]))
    if seen != expected or len(seen) != 5:
        raise Failure("semihosting calls are %r, not %r" % (seen, expected))
    return len(seen)


# Functions by kallsyms; of a kernel whose byte order is not its firmware's, too.
NAMED = {"aarch64-softmmu", "ppc64-softmmu", "riscv64-softmmu", "x86_64-softmmu"}
REMEMBERED = {"aarch64-softmmu", "riscv64-softmmu", "x86_64-softmmu"}  # accesses: see ram.py


def boot(tools, target):
    """The log of exceptions is in the order in which the vCPUs took them."""
    path = os.path.join(tools.work, "linux-%s.ctr" % target)
    marks = linux.marks(tools, target)
    events = "exec,int,ctx" if target in REMEMBERED else "exec,mem,int,ctx"
    command = linux.command(tools, target, CLOCK, "quiet", files=marks)
    trace, recorded, said = same_twice(
        tools, target, command,
        lambda more: (path, common.record(tools, path, [*command, *more],
                                          options=("--events", events))), varies=target in VARY)
    for text in (b"begin\r\n", b"  /bin/busybox", b"end\r\n"):
        if text not in recorded.stdout:
            raise Failure("the console has no %r: %r" % (text, recorded.stdout[-300:]))
    if marks:
        made = [json.loads(line) for line in common.dump_lines(tools, trace, "--events", "mark")]
        if [(m.get("text"), m.get("value")) for m in made] != [("a program of its Linux", "0x12345678")]:
            raise Failure("its marks are %r" % made)
    if target not in NAMED:
        common.drop_file(trace)
        return said
    done = subprocess.run([tools.program("tracesym"), "--functions", "--format", "json", "--kernel",
                           "--kallsyms", linux.kernel(tools, target), trace],
                          capture_output=True, text=True, check=True)
    functions = {f["function"]: f for f in map(json.loads, done.stdout.splitlines())}
    if functions["__schedule"]["calls"] < 100 or functions["start_kernel"]["calls"] != 1:
        raise Failure("__schedule %r, start_kernel %r"
                      % (functions["__schedule"], functions["start_kernel"]))
    if target == "aarch64-softmmu":
        said += ", " + tasks(tools, target, trace)
    common.drop_file(trace)
    return "%s, %d functions" % (said, len(functions))


def tasks(tools, target, trace):
    """Trees by task: as many instructions as between the kernel's changes of the id; where
    tasks begin."""
    done = subprocess.run([tools.program("tracesym"), "--calls", "--by=task", "--format", "json",
                           "--kallsyms", linux.kernel(tools, target), trace],
                          capture_output=True, text=True, check=True)
    nodes = {n["node"]: n for n in map(json.loads, done.stdout.splitlines())}
    seen = {n["function"]: n["inclusive"] for n in nodes.values() if n["parent"] is None}
    info = subprocess.run([tools.program("tracedump"), "--info", "--json", trace],
                          capture_output=True, text=True, check=True)
    for c in json.loads(info.stdout)["contexts"]:
        name = "task %d" % c["id"]
        if c["id"] and seen[name] != c["instructions"]:
            raise Failure("%s: %d instructions, %d by its id" % (name, seen[name], c["instructions"]))
    for function, caller in (("kthread", "ret_from_fork"), ("do_idle", "cpu_startup_entry"),
                             ("el0_svc", "el0t_64_sync_handler")):
        callers = {nodes[n["parent"]]["function"] for n in nodes.values() if n["function"] == function}
        if callers != {caller}:
            raise Failure("%s is called by %r" % (function, callers))
    return "%d tasks, %s" % (len(seen), sleeps(tools, target, trace, len(seen)))


def sleeps(tools, target, trace, most):
    """Each call of schedule returns where it was called, on whatever vCPU the task goes on;
    but for tasks that sleep at the end."""
    done = subprocess.run([tools.program("tracesym"), "--trace-calls", "schedule", "--json",
                           "--kallsyms", linux.kernel(tools, target), trace],
                          capture_output=True, text=True, check=True)
    ended = [c["returned"] for c in map(json.loads, done.stdout.splitlines())]
    if len(ended) < 500 or ended.count(False) > most:
        raise Failure("%d calls of schedule, %d do not return" % (len(ended), ended.count(False)))
    return "%d calls of schedule, %d of them at the end" % (len(ended), ended.count(False))


def names_of_vcpus(tools, trace):
    """What text calls a vCPU is taken as the name of a thread, recorded (-e thr) or not."""
    first = common.dump_text(tools, trace, "--events", "exec", "--to", "1")
    if len(first) != 1 or first[0].split()[1] != "cpu0":
        raise Failure("the first line is %r" % first)
    for name, status in (("cpu0", 0), ("cpu1", common.NOTHING)):
        done = subprocess.run([tools.program("tracedump"), "--summary", "--thread", name, trace],
                              capture_output=True, text=True)
        if done.returncode != status:
            raise Failure("--thread %s: status %d: %s" % (name, done.returncode, done.stderr))


TRACE = re.compile(r"Trace \d+: \S+ \[\w+/(\w+)/(\w+)/")
# Of s390x: what EXECUTE executes, a second line of one instruction
EXECUTED = re.compile(r"Trace \d+: \S+ \[0*[1-9a-f]\w*/")
AARCH64_LEVEL = re.compile(r"\.\.\.to EL(\d) PC|Exception return from AArch64 EL\d to AArch64 EL(\d)")


# By QEMU's flags of the block: arm's TBFLAG_ANY.MMUIDX, riscv's TB_FLAGS.PRIV, mips'
# MIPS_HFLAG_KSU, x86's HF_CPL, s390x' FLAG_MASK_PSTATE
USER = {
    "arm-softmmu": lambda flags, level: flags >> 4 & 15 == 0,
    "armv7m-softmmu": lambda flags, level: not flags >> 4 & 1,
    "aarch64-softmmu": lambda flags, level: level == 0,
    "riscv64-softmmu": lambda flags, level: not flags >> 22 & 3,
    "riscv32-softmmu": lambda flags, level: not flags >> 22 & 3,
    "mips-softmmu": lambda flags, level: flags & 3 == 2,
    "mipsel-softmmu": lambda flags, level: flags & 3 == 2,
    "x86_64-softmmu": lambda flags, level: flags & 3 == 3,
    "s390x-softmmu": lambda flags, level: flags >> 17 & 1,
}


def user_of_log(target, lines, end):
    """The pcs of user code, and how many other instructions ran up to `end', inclusive."""
    user, others, level, last = [], 0, 1, None
    for line in lines:
        change = AARCH64_LEVEL.match(line)
        ran = TRACE.match(line)
        if change:
            level = int(change[1] or change[2])
        elif line.startswith("Stopped execution"):
            if last:
                user.pop()
            else:
                others -= 1
        elif ran and not (target == "s390x-softmmu" and EXECUTED.match(line)):
            pc = int(ran[1], 16)
            last = USER[target](int(ran[2], 16), level)
            if last:
                user.append(pc)
            else:
                others += 1
            if pc == end:
                break
    return user, others


def pcs_of(tools, trace, *options):
    return [int(json.loads(line)["pc"], 16)
            for line in common.dump_lines(tools, trace, "--events", "exec", *options)]


def privileges(tools, target):
    end = int(end_of(tools, target)[1], 16)
    trace, command, _ = record(tools, target, ("--events", "exec"))
    log = trace + ".log"
    run_witness(command, ["-d", "exec,int,nochain"], log).communicate(timeout=common.PATIENCE)
    with open(log, encoding="ascii", errors="replace") as f:
        user, others = user_of_log(target, f, end)
    common.drop_file(log)
    if len(user) < 1000 or others < 50000:
        raise Failure("the log has %d and %d instructions" % (len(user), others))
    seen = [pcs_of(tools, trace, "--user"), pcs_of(tools, trace, "--kernel")]
    for option in ("--user", "--kernel"):
        trace, _, _ = record(tools, target, ("--events", "exec", option))
        seen.append(pcs_of(tools, trace))
    common.drop_file(trace)
    for option, i in (("shown", 0), ("recorded", 2)):
        if seen[i] != user:
            raise Failure("%s with --user: %d instructions, not the %d of the log"
                          % (option, len(seen[i]), len(user)))
        n = seen[i + 1].index(end) + 1
        if n != others:
            raise Failure("%s with --kernel: %d instructions, %d in the log" % (option, n, others))
    return "%d instructions of user code, %d of other code" % (len(user), others)


TAKEN = re.compile(r"Taking exception \d+ \[([^]]*)\]")
NAME_OF_LOG = {"IRQ": "IRQ 27 (virtual timer)", "Hypervisor Call": "HVC"}


def handlers_of_log(lines, end):
    """By exception: how many, and the instructions from its handler's first to the return."""
    total, stack, last = {}, [], None
    for line in lines:
        taken = TAKEN.match(line)
        if taken:
            name = NAME_OF_LOG.get(taken[1], taken[1])
            stack.append(name)
            total.setdefault(name, [0, 0])[0] += 1
        elif line.startswith(("...handled as", "...handling as semihosting call")):
            total.pop(stack.pop())
        elif line.startswith("Exception return") and stack:  # else: it enters user code
            stack.pop()
        elif line.startswith("Stopped execution"):
            for name in last:
                total[name][1] -= 1
        elif TRACE.match(line):
            last = list(stack)
            for name in last:
                total[name][1] += 1
            if int(TRACE.match(line)[1], 16) == end:
                break
    return total


def calls(tools, target):
    end = int(end_of(tools, target)[1], 16)
    trace, command, _ = record(tools, target, ("--events", "exec,int"))
    log = trace + ".log"
    run_witness(command, ["-d", "exec,int,nochain"], log).communicate(timeout=common.PATIENCE)
    with open(log, encoding="ascii", errors="replace") as f:
        logged = handlers_of_log(f, end)
    common.drop_file(log)
    done = subprocess.run([tools.program("tracesym"), "--calls", "--format", "json", "--elf",
                           program_of(tools, target), trace], capture_output=True, text=True,
                          check=True)
    shown, nodes = {}, [json.loads(line) for line in done.stdout.splitlines()]
    for n in nodes:
        if n["kind"] == "exception":
            total = shown.setdefault(n["function"], [0, 0])
            total[0] += n["calls"]
            total[1] += n["inclusive"]
    functions = {n["function"]: n for n in nodes}
    common.drop_file(trace)
    if shown != logged or len(shown) < 4:
        raise Failure("%r, in the log %r" % (shown, logged))
    if functions["user_main"]["calls"] or nodes[functions["SVC"]["parent"]]["function"] not in (
            "user_main", "machine_main"):
        raise Failure("no user code, or SVC elsewhere")
    return "%d exceptions of %d names" % (sum(n for n, _ in shown.values()), len(shown))


def requests(tools, target):
    """A program pauses, resumes, marks and labels; the trace has that and no more."""
    trace, command, recorded = record(tools, target, ("--events", "exec,val,reg"), main="requests")
    said = recorded.stdout.decode().replace("\r", "").splitlines()
    if said[-5:] != ["recorded 2", "paused 1", "wrong 1", "no scope 1", "calls 1010"]:
        raise Failure("the program printed %r" % said)
    plain = common.plain(command)
    if not {"recorded 0", "paused 0"} <= set(plain.stdout.decode().replace("\r", "").splitlines()):
        raise Failure("unrecorded it printed %r" % plain.stdout)
    done = subprocess.run([MACHINES[target].cc.replace("gcc", "nm"), "-S",
                           program_of(tools, target, "requests")],
                          capture_output=True, text=True, check=True)
    symbols = {f[3]: (int(f[0], 16), int(f[1], 16)) for f in map(str.split, done.stdout.splitlines())
               if len(f) == 4}
    ran, events = collections.Counter(), []
    for o in map(json.loads, common.dump_lines(tools, trace, "--events", "exec,mark")):
        if o["kind"] == "exec":
            for name, (at, size) in symbols.items():
                ran[name] += at <= int(o["pc"], 16) < at + size
        elif o["kind"] != "select":
            events.append({k: v for k, v in o.items() if k not in ("pid", "tid", "ordinal", "time")})
    at, size = symbols["cells"]
    gates = [{"kind": "gate", "open": False, "why": "guest"}, {"kind": "gate", "open": True, "why": "guest"}]
    bits = 8 * word_size(target)
    mark = {"kind": "mark", "source": "guest", "number": 0}
    label = {"kind": "label", "start": "0x%x" % at}
    want = [{**mark, "text": 'begin, "of" it', "value": "0x3039"},
            {**label, "op": "set", "size": size, "type": "uint64_t [16]", "name": "cells"},
            gates[0], {**mark, "text": "in between", "value": "%#x" % (2 ** bits - 1)}, gates[1], *gates,
            {**label, "op": "remove", "size": 0, "type": "", "name": ""},
            {**mark, "text": "end", "value": "0x0"}]
    if events != want:
        raise Failure("the events are %r, not %r" % (events, want))
    if ran["not_recorded"] or ran["recorded"] < 5000:
        raise Failure("%r" % ran)
    common.drop_file(trace)
    return "%d instructions, %d events" % (ran.total(), len(events))


RUN = {"exact": exact, "requests": requests, "registers": registers,
       "untouched": untouched, "vcpus": vcpus, "order": order,
       "privileges": privileges, "calls": calls, "linux": boot}
