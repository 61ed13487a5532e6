# SPDX-License-Identifier: MIT
"""Exceptions and interrupts of a machine: the events of a trace against QEMU's log (-d int).

What the log of a machine says differs: aarch64 has all of an exception and its return, arm
no pc and returns to user mode only, armv7m no pc, riscv no handler, no return and no call of
semihosting, x86_64 neither handler nor return, and nothing in real mode.
"""
import json
import re

AARCH64 = re.compile(
    r"Taking exception (?P<index>\d+) \[(?P<name>[^]]*)\]|\.\.\.from EL(?P<old>\d) to EL(?P<new>\d)|"
    r"\.\.\.with ESR 0x\w+/0x(?P<esr>\w+)|\.\.\.with FAR 0x(?P<far>\w+)|\.\.\.with ELR 0x(?P<elr>\w+)|"
    r"\.\.\.to EL\d PC 0x(?P<pc>\w+)|(?P<call>\.\.\.handled as|\.\.\.handling as semihosting call)|"
    r"Exception return from AArch\d\d EL(?P<rold>\d) to AArch\d\d EL(?P<rnew>\d) PC 0x(?P<rpc>\w+)")
RISCV = re.compile(r"riscv_cpu_do_interrupt: hart:\d+, async:(\d), cause:(\w+), epc:0x(\w+), "
                   r"tval:0x(\w+), desc=")
X86 = re.compile(r" *\d+: v=(\w\w) e=(\w{4}) i=(\d) cpl=(\d) IP=\w+:\w+ pc=(\w+) SP=\S+ (?:CR2=(\w+))?")
ASYNCHRONOUS = {"IRQ", "FIQ"}
RINGS = {"ring%d" % i: i for i in range(4)}


def of_aarch64(lines):
    """(take, name or None, from, to, syndrome, address, pc, handler), (return, from, to, pc)"""
    taken = None
    for line in lines:
        m = AARCH64.match(line)
        if not m:
            continue
        if m["index"]:
            taken = {"name": m["name"]}
        elif m["rpc"]:
            yield ("return", "EL" + m["rold"], "EL" + m["rnew"], int(m["rpc"], 16))
        elif m["call"]:
            yield ("take", taken["name"].lower(), "EL" + taken["old"], None, None, None, None, None)
        elif m["pc"]:
            sync = taken["name"] not in ASYNCHRONOUS
            yield ("take", None if sync else taken["name"], "EL" + taken["old"], "EL" + taken["new"],
                   int(taken["esr"], 16) if sync else 0,
                   int(taken["far"], 16) if "far" in taken and "Abort" in taken["name"] else None,
                   int(taken["elr"], 16), int(m["pc"], 16))
        else:
            taken.update({k: v for k, v in m.groupdict().items() if v is not None})


def event_of_aarch64(e):
    if e["op"] == "return":
        return ("return", e["from"], e["to"], int(e["pc"], 16))
    if e.get("emulated"):
        name = {"HVC": "hypervisor call", "SMC": "secure monitor call"}.get(e["name"], e["name"])
        return ("take", name, e["from"], None, None, None, None, None)
    return ("take", e["name"].split()[0] if e.get("async") else None, e["from"], e["to"],
            int(e.get("syndrome", "0"), 16), int(e["addr"], 16) if "addr" in e else None,
            int(e["pc"], 16), int(e["handler"], 16))


ARM = re.compile(
    r"Taking exception \d+ \[(?P<name>[^]]*)\]|\.\.\.from (?P<old>EL\d) to (?P<new>EL\d)|"
    r"\.\.\.with ESR 0x\w+/0x(?P<esr>\w+)|\.\.\.with [ID]FSR 0x\w+ [ID]FAR 0x(?P<far>\w+)|"
    r"(?P<call>\.\.\.handled as)|"
    r"Exception return from AArch32 \w+ to usr PC 0x(?P<rpc>\w+)")


def of_arm(lines):
    """(take, name or None, from, to, syndrome, address), (return, pc)"""
    taken = None
    for line in [*lines, "end"]:
        m = ARM.match(line)
        if taken and not line.startswith("..."):
            sync = taken["name"] not in ASYNCHRONOUS
            call = "call" in taken
            yield ("take", taken["name"] if call or not sync else None, taken["old"],
                   None if call else taken["new"],
                   int(taken["esr"], 16) if sync and not call else 0,
                   int(taken["far"], 16) if "far" in taken else None)
            taken = None
        if m and m["rpc"]:
            yield ("return", int(m["rpc"], 16) & ~1)
        elif m and m["name"]:
            taken = {"name": m["name"]}
        elif m and taken:
            taken.update({k: v for k, v in m.groupdict().items() if v is not None})


def event_of_arm(e):
    if e["op"] == "return":
        return ("return", int(e["pc"], 16)) if e["to"] == "EL0" else None
    if e.get("emulated"):
        return ("take", {"HVC": "Hypervisor Call"}[e["name"]], e["from"], None, 0, None)
    return ("take", e["name"].split()[0] if e.get("async") else None, e["from"], e["to"],
            int(e.get("syndrome", "0"), 16), int(e["addr"], 16) if "addr" in e else None)


ARMV7M = re.compile(
    r"Taking exception \d+ \[(?P<name>[^]]*)\]|"
    r"\.\.\.taking pending \w+ exception (?P<number>\d+)|\.\.\.loaded new PC 0x(?P<pc>\w+)|"
    r"(?P<back>\.\.\.successful exception return)|"
    r"(?P<call>\.\.\.handling as semihosting call 0x(?!18\b))")  # 0x18 ends QEMU


def of_armv7m(lines):
    """(take, number, asynchronous, handler), (return,), (call,)"""
    name = number = None
    for line in lines:
        m = ARMV7M.match(line)
        if not m:
            continue
        name, number = m["name"] or name, m["number"] or number
        if m["pc"]:
            yield ("take", int(number), name in ("IRQ", "QEMU v7M exception exit"),
                   int(m["pc"], 16) & ~1)
        elif m["back"]:
            yield ("return",)
        elif m["call"]:
            yield ("call",)


def event_of_armv7m(e):
    if e["op"] == "return":
        return ("return",)
    if e.get("emulated"):
        return ("call",)
    return ("take", e["number"], e.get("async", False), int(e["handler"], 16))


def of_riscv(lines):
    for line in lines:
        m = RISCV.match(line)
        if m:
            cause = int(m[2], 16)
            has_addr = m[1] == "0" and cause in (0, 1, 4, 5, 6, 7, 12, 13, 15)
            yield (m[1] == "1", cause, int(m[3], 16), int(m[4], 16) if has_addr else None)


def event_of_riscv(e):
    if e["op"] == "return" or e.get("emulated"):
        return None
    return (e.get("async", False), e["number"], int(e["pc"], 16),
            int(e["addr"], 16) if "addr" in e else None)


def of_x86(lines):
    for line in lines:
        m = X86.match(line)
        if m:
            requested = m[3] == "1"
            yield (int(m[1], 16), int(m[2], 16), requested, int(m[4]),
                   None if requested else int(m[5], 16), int(m[6], 16) if m[6] else None)


def event_of_x86(e):
    """Real mode is not in the log."""
    if e["op"] == "return" or e["number"] >= 0x100 or int(e["handler"], 16) < 0x100000:
        return None
    requested = e.get("trap", False)
    return (e["number"], int(e.get("syndrome", "0"), 16), requested, RINGS[e["from"]],
            None if requested else int(e["pc"], 16), int(e["addr"], 16) if "addr" in e else None)


S390X = re.compile(r"s390_cpu_do_interrupt: (-?\d+) at psw=\w+:(\w+)|"
                   r"do_program_interrupt: code=0x(\w+) ilen=\d psw: \w+ (\w+)")


def of_s390x(lines):
    """(class, code, from)"""
    for line in lines:
        m = S390X.match(line)
        if m and m[3]:
            yield ("program", int(m[3], 16) & 0xff, int(m[4], 16))
        elif m and m[1] == "2":
            yield ("svc", None, None)
        elif m and m[1] != "3":
            yield ("interrupt", None, int(m[2], 16))


def event_of_s390x(e):
    if e["op"] == "return":
        return None
    if e.get("async"):
        return ("interrupt", None, int(e["pc"], 16))
    return ("svc", None, None) if e.get("trap") else ("program", e["number"] & 0xff, int(e["pc"], 16))


MIPS = re.compile(r"mips_cpu_do_interrupt: PC (\w+) EPC (\w+) cause (\d+)")


def of_mips(lines):
    """(ExcCode, EPC, handler); interrupts are not in the log"""
    for line in lines:
        m = MIPS.match(line)
        if m:
            yield int(m[3]), int(m[2], 16), int(m[1], 16)


def event_of_mips(e):
    if e["op"] == "return" or e.get("async"):
        return None
    return e["number"], int(e["pc"], 16), int(e["handler"], 16)


PPC = re.compile(r"Raise exception at (\w+) => (\w+) \(\d+\)")
VECTORS = {"MCHECK": 0x200, "DSI": 0x300, "DSEG": 0x380, "ISI": 0x400, "ISEG": 0x480,
           "EXTERNAL": 0x500, "ALIGN": 0x600, "PROGRAM": 0x700, "FPU": 0x800, "DECR": 0x900,
           "SYSCALL": 0xc00, "TRACE": 0xd00, "VPU": 0xf20, "VSXU": 0xf40, "FU": 0xf60,
           "SYSCALL_VECTORED": 0x3000, "SDOOR": 0xa00, "SDOOR_HV": 0xa00}


def of_ppc(lines):
    """(vector, where it was)"""
    for line in lines:
        m = PPC.match(line)
        if m:
            yield VECTORS[m[2]], int(m[1], 16)


def event_of_ppc(e):
    if e["op"] == "return":
        return None
    return e["number"], int(e["pc"], 16) - (4 if e.get("trap") else 0)


READERS = {"s390x-softmmu": (of_s390x, event_of_s390x),
           "mips-softmmu": (of_mips, event_of_mips), "mipsel-softmmu": (of_mips, event_of_mips),
           "mips64el-softmmu": (of_mips, event_of_mips),
           "ppc64-softmmu": (of_ppc, event_of_ppc),
           "i386-softmmu": (of_x86, event_of_x86),
           "arm-softmmu": (of_arm, event_of_arm), "armv7m-softmmu": (of_armv7m, event_of_armv7m),
           "aarch64-softmmu": (of_aarch64, event_of_aarch64),
           "riscv32-softmmu": (of_riscv, event_of_riscv), "riscv64-softmmu": (of_riscv, event_of_riscv),
           "x86_64-softmmu": (of_x86, event_of_x86)}


def difference(target, log, dump):
    """(a text or None, how many were compared).  log: lines; dump: lines of JSON."""
    of_log, of_event = READERS[target]
    logged = of_log(log)
    n = 0
    for line in dump:
        event = of_event(json.loads(line))
        if event is None:
            continue
        expected = next(logged, None)
        if event != expected:
            return "number %d: recorded %r, logged %r: %s" % (n, event, expected, line.strip()), n
        n += 1
    rest = next(logged, None)
    return ("number %d: not recorded: %r" % (n, rest) if rest else None), n
