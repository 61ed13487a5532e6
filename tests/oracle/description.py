# SPDX-License-Identifier: MIT
"""What gdb is given of a target's registers, against QEMU's gdbstub.

description  tools/gdb makes the description and the bytes of registers out of a trace.  A
             program is recorded while it runs in the gdbstub, which reads its registers at
             some first executions of an instruction.  Features, names, numbers, sizes and
             types must be those of the stub's description, and the bytes those of its packets.
loaded       a machine is saved and goes on, and the snapshot is loaded: the trace says so, and the
             registers and the pc before its next instruction are those of the stub
             A machine stops at a store, and there its recording ends
"""
import os
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

import common
import machines
import outside
from common import Failure
from gdbstep import Stub

STOPS = 40
SIGTRAP = 5
# gdb has names of its own for r0 to r31.
RENAMED = {"mips", "mipsel", "mips64el", "mips-softmmu", "mipsel-softmmu"}
MIPS = range(72)  # numbers that gdb knows without a description

# Features of which the trace has a part only; in the first a number is a register's own.
NUMBERED = {"org.gnu.gdb.riscv.csr"}
SHORTENED = NUMBERED | {"org.qemu.gdb.arm.sys.regs", "org.qemu.power.spr"}
# Where QEMU sends no architecture, gdb's name of it
ARCHITECTURE = {"m68k": "m68k"}
# Described, but without a value
X87 = "ftag fiseg fioff foseg fooff fop"
CR = "k_gs_base cr0 cr2 cr3 cr4 cr8 efer"
NO_VALUE = {
    "arm": "fpsid",
    "aarch64": "vg tag_ctl",
    "x86_64": "%s %s orig_rax" % (CR, X87),
    "i386": "%s %s orig_eax" % (CR, X87),
    "mips": "status badvaddr cause",
    "riscv64": "",
    "s390x": "gs_reserved gsd gssm gsepla",
    "ppc64le": "vscr vrsave",
    "ppc": "",
    "m68k": "ps fp0 fp1 fp2 fp3 fp4 fp5 fp6 fp7 fpcontrol fpstatus fpiaddr",
    "sparc64": " ".join(["npc state fsr"] + ["f%d" % i for i in range(32)]
                        + ["f%d" % i for i in range(32, 64, 2)]),
    "alpha": "fpcr unique",
    "hppa": " ".join(["flags pcsqh pcoqt pcsqt eiem iir isr ior goto sr5 sr6 sr7 cr0 cr8 cr9",
                      "ccr cr12 cr13"] + ["cr%d" % i for i in range(24, 31)]
                     + ["fr%d" % i for i in range(64)]),
    "sh4": " ".join(["sr"] + ["fr%d" % i for i in range(16)]),
    "loongarch64": " ".join(["orig_a0 badv fcsr"] + ["f%d" % i for i in range(32)]
                            + ["fcc%d" % i for i in range(8)]
                            + ["%sr%d" % (p, i) for p in "vx" for i in range(32)]),
}
for copy, of in (("thumb", "arm"), ("armeb", "arm"), ("aarch64_be", "aarch64"),
                 ("mipsel", "mips"), ("mips64el", "mips"), ("riscv32", "riscv64"),
                 ("ppc64", "ppc64le")):
    NO_VALUE[copy] = NO_VALUE[of]


# QEMU's helpers for floating point write this one, which they promise not to do; translated
# code, and with it the trace, sees the change later.
NOT_COMPARED = {("sh4", "fpscr")}

NO_VALUE.update({
    "aarch64-softmmu": "", "arm-softmmu": "fpsid", "armv7m-softmmu": "", "mips-softmmu": "",
    "mipsel-softmmu": "",
    "riscv32-softmmu": "", "riscv64-softmmu": "", "x86_64-softmmu": "cr8 " + X87,
    "s390x-softmmu": NO_VALUE["s390x"],
})
NAMES = {target: ["description", "loaded"] for target in outside.NAMES if target in NO_VALUE}


class Register:
    def __init__(self, tag, number):
        self.name = tag.get("name")
        self.number = int(tag.get("regnum", number))
        self.bits = int(tag.get("bitsize"))
        self.kind = (tag.get("type"), tag.get("group"))

    def __repr__(self):
        return "%s %d %d %s" % (self.name, self.number, self.bits, self.kind)

    def __eq__(self, other):
        return repr(self) == repr(other)


class Description:
    """features: {name: [Register]}; types: {name: {id: what it is}}"""

    def __init__(self, main, read):
        self.architecture = None
        self.features, self.types = {}, {}
        self.number = 0
        for tag in ElementTree.fromstring(re.sub("xi:include", "include", main)):
            if tag.tag == "architecture":
                self.architecture = tag.text
            elif tag.tag == "feature":
                self.add(tag)
            elif tag.tag == "include":
                # QEMU's description of m68k has a comma between two tags.
                self.add(ElementTree.fromstring(read(tag.get("href")).decode()))

    def numbers(self):
        return [r.number for registers in self.features.values() for r in registers]

    def add(self, feature):
        name = feature.get("name")
        registers = self.features.setdefault(name, [])
        types = self.types.setdefault(name, {})
        for tag in feature:
            if tag.tag == "reg":
                registers.append(Register(tag, self.number))
                self.number = registers[-1].number + 1
            else:
                # Fields without a name are not shown.
                fields = [tuple(sorted(f.attrib.items())) for f in tag if f.get("name")]
                own = {k: v for k, v in tag.attrib.items() if k != "id"}
                types[tag.get("id")] = (tag.tag, own, sorted(set(fields)) if tag.tag == "flags"
                                        else fields)


def compare_descriptions(target, live, ours):
    """Returns the live number of each of our numbers."""
    architecture = live.architecture or ARCHITECTURE.get(target)
    if ours.architecture != architecture:
        raise Failure("the architecture is %s instead of %s" % (ours.architecture, architecture))
    if list(ours.features) != list(live.features):
        raise Failure("features %s instead of %s" % (list(ours.features), list(live.features)))
    number = {}
    for name, registers in ours.features.items():
        if ours.types[name] != live.types[name]:
            raise Failure("%s: types %s instead of %s" % (name, ours.types[name], live.types[name]))
        theirs = live.features[name]
        if name == "org.gnu.gdb.loongarch.lsx" and theirs[24].name == "vr26":
            theirs[24].name = "vr24"  # QEMU's description has vr26 twice
        if name in SHORTENED:
            named = {r.name: r for r in theirs}
            for r in registers:
                if r.name not in named:
                    raise Failure("%s: the stub has no %s" % (name, r.name))
                other = named[r.name]
                if (r.bits, r.kind) != (other.bits, other.kind) or (
                        name in NUMBERED and r.number != other.number):
                    raise Failure("%s: %s instead of %s" % (name, r, other))
                number[r.number] = other.number
            continue
        for r, other in zip(registers + [None], theirs + [None]):
            if r is not other and (r is None or other is None or r != other):
                raise Failure("%s: %s instead of %s" % (name, r, other))
        number.update((r.number, r.number) for r in registers)
    return number


def output(tools, *args):
    path = os.path.join(tools.build, "tests", "oracle", "oracle-gdbregs")
    if not os.path.exists(path):
        raise common.Skip("no %s" % path)
    done = subprocess.run([path, *args], capture_output=True, text=True)
    if done.returncode:
        raise Failure("gdbregs: %s%s" % (done.stdout[-300:], done.stderr[-300:]))
    return done.stdout


def first_executions(tools, trace):
    """[(ordinal, pc)] of the instructions, each where it is executed for the first time."""
    first = {}
    for line in common.dump_lines(tools, trace, "--events", "exec"):
        m = re.match(r'\{"kind":"exec".*?"ordinal":(\d+).*?"pc":"(0x[0-9a-f]+)"', line)
        if m:
            first.setdefault(int(m[2], 16), int(m[1]))
    return sorted((ordinal, pc) for pc, ordinal in first.items())


def places(tools, trace):
    """pcs to stop at: first executions, from the begin to the end of the run."""
    first = first_executions(tools, trace)
    step = max(1, len(first) // STOPS)
    return [pc for _, pc in first[5::step]]


def is_x(reply):
    return not reply or reply[:1] == b"E"


def stopped_registers(stub, target, pcs, count):
    """[(pc, {number: hex})]: what `p' packets have when each pc is met for the first time."""
    kind = 2 if target == "thumb" else 4
    seen = []
    for pc in pcs:
        if stub.request("Z0,%x,%x" % (pc, kind)) != b"OK":
            raise Failure("no breakpoint")
        stop = stub.request("c")
        while stop[:1] == b"T" and int(stop[1:3], 16) != SIGTRAP:
            stop = stub.request("vCont;C" + stop[1:3].decode())  # it is the program's signal
        if stop[:1] != b"T":
            raise Failure("it ended before 0x%x: %r" % (pc, stop))
        stub.request("z0,%x,%x" % (pc, kind))
        values = {}
        for i in count:
            reply = stub.request("p%x" % i)
            values[i] = None if is_x(reply) else reply.decode()
        seen.append((pc, values))
    return seen


def recorded_live(tools, trace, guest, environment, folder, visit):
    """Records a program that runs in the gdbstub; visit is given the stub."""
    with tempfile.TemporaryDirectory(prefix="gdb.") as temporary:
        path = os.path.join(temporary, "s")
        process = subprocess.Popen(
            [tools.program("cannoli-record"), "-q", "-o", trace, "--events", "exec,reg", "--",
             guest[0], "-g", path, *guest[1:]], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, cwd=folder)
        try:
            stub = Stub(path, process)
            result = visit(stub)
            stop = stub.request("c")
            while stop[:1] == b"T":
                stop = stub.request("vCont;C" + stop[1:3].decode())
            stub.socket.sendall(stub.ack)  # the stub waits for it before the program ends
            stub.socket.close()
            process.wait(common.PATIENCE)
            return result
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def swapped(text):
    return text[len(text) // 2:] + text[:len(text) // 2]


def same(target, name, ours, live):
    # QEMU's stub sends the halves of q registers in the wrong order, see gdb_arm.c.
    return ours == live or (target in ("arm", "thumb", "armeb") and re.fullmatch(r"q\d+", name)
                            and ours == swapped(live))


def parse(text):
    """({number: (bytes, name)}, {"count": n ...}, [(pc, {number: hex})])"""
    table, head, states = {}, {}, []
    for line in text.splitlines():
        word = line.split()
        if word[0] == "reg":
            table[int(word[1])] = (int(word[2]), word[3])
        elif word[0] == "count":
            head = dict(zip(word[::2], map(int, word[1::2])))
        elif word[0] == "at":
            states.append((int(word[2], 16), {}))
        else:
            states[-1][1][int(word[0])] = None if word[1] == "-" else word[1]
    return table, head, states


def compare_values(target, table, number, seen, states):
    without, known, compared = set(), set(), 0
    for (pc, live), (at, ours) in zip(seen, states):
        if pc != at:
            raise Failure("ordinal of 0x%x instead of 0x%x" % (at, pc))
        for i, value in ours.items():
            size, name = table[i]
            there = live[number[i]]
            if value is None:
                without.add(name)
                continue
            if (target, name) in NOT_COMPARED:
                continue
            if there is None:
                raise Failure("the stub has no register %d (%s)" % (number[i], name))
            if not same(target, name, value, there):
                raise Failure("at 0x%x: %s is %s instead of %s" % (pc, name, value, there))
            compared += 1
            if value.strip("0"):
                known.add(name)
    expected = set(NO_VALUE[target].split())
    if without != expected:
        raise Failure("without a value: too many %s, too few %s"
                      % (sorted(without - expected), sorted(expected - without)))
    return compared, known


def accepted(tools, target, text):
    """gdb loads the description without a warning, where there is a gdb for all targets."""
    gdb = shutil.which("gdb-multiarch")
    if not gdb:
        return ""
    path = os.path.join(tools.work, "description-%s.xml" % target)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    done = subprocess.run([gdb, "-nx", "-batch", "-ex", "set tdesc filename " + path,
                           "-ex", "maint print registers"], capture_output=True, text=True)
    common.drop_file(path)
    if "unknown architecture" in done.stderr:
        return ""  # this gdb was built without it
    if done.returncode or done.stderr:
        raise Failure("gdb: %s" % done.stderr[-500:])
    known = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    described = {r.name for f in Description(text, None).features.values() for r in f}
    # gdb joins these halves with others, and does not show them.
    missing = {name for name in described - known if not re.fullmatch(r"v\d+l|vs\d+h", name)}
    if target not in RENAMED and missing:
        raise Failure("gdb has no %s" % sorted(missing))
    return "; gdb has them"


def numbers_of(target, live, text, table):
    """The stub's number of each of ours, once the descriptions are equal."""
    if live:
        return compare_descriptions(target, live, Description(text, None))
    return {i: i for i, (size, _) in table.items() if size}


def run(tools, target, name, guest, folder):
    trace = os.path.join(tools.work, "description-%s-%s.ctr" % (target, name))
    done = common.record(tools, trace, guest, {}, folder, options=("--events", "exec,reg"))
    if done.status:
        raise Failure("the recorded program ended with %d: %s" % (done.status, done.stderr))
    pcs = places(tools, trace)
    table, head, _ = parse(output(tools, trace))
    text = output(tools, "--xml", trace)

    def visit(stub):
        main = stub.read_object("target.xml")
        live = Description(main.decode(), stub.read_object) if main else None
        number = numbers_of(target, live, text, table)
        packet = stub.request("g").decode()
        return number, packet, stopped_registers(stub, target, pcs, sorted(set(number.values())))

    number, packet, seen = recorded_live(tools, trace, guest, {}, folder, visit)
    check_table(table, head, number, text, packet, seen)
    first = {pc: ordinal for ordinal, pc in first_executions(tools, trace)}
    states = parse(output(tools, trace, *[str(first[pc]) for pc, _ in seen]))[2]
    if len(states) != len(seen) or not seen:
        raise Failure("%d states for %d stops" % (len(states), len(seen)))
    compared, known = compare_values(target, table, number, seen, states)
    can_fail(target, table, number, seen, states)
    common.drop_file(trace)
    return "%d registers of %d features, %d values at %d stops equal, %d registers not 0%s" % (
        len(number), len(Description(text, None).features), compared, len(seen), len(known),
        accepted(tools, target, text))


def machine(tools, target, full):
    path = os.path.join(tools.work, "description-" + target)
    r = outside.Rounds(tools, target, "description", "--events", "exec,reg",
                       more=["-gdb", "unix:%s,server=on,wait=off" % path])
    with r.running as running:
        r.wait_until(20)
        stub = Stub(path, running.recorder)  # the machine stops
        stub.request("Z2,%x,%x" % (r.cell, r.size))
        if not stub.request("c").startswith(b"T05"):
            raise Failure("no stop")
        live, values = read_registers(stub)
        packet = stub.request("g").decode()
    table, head, states = parse(output(tools, r.trace, "end"))
    text = output(tools, "--xml", r.trace)
    number = numbers_of(target, live, text, table)
    seen = [(states[0][0], values)]  # after the last instruction there is no pc
    check_table(table, head, number, text, packet, seen)
    states[0][1][head["pc"]] = values[number[head["pc"]]]
    compared, known = compare_values(target, table, number, seen, states)
    can_fail(target, table, number, seen, states)
    common.drop_file(r.trace)
    return "%d registers, %d values equal, %d not 0%s" % (
        len(number), compared, len(known), accepted(tools, target, text))


def read_registers(stub):
    """The stub's description and {number: hex}."""
    main = stub.read_object("target.xml")
    live = Description(main.decode(), stub.read_object) if main else None
    values = {}
    for i in live.numbers() if live else MIPS:
        reply = stub.request("p%x" % i)
        values[i] = None if is_x(reply) else reply.decode()
    return live, values


def loaded(tools, target, full):
    """Registers before the first instruction after a snapshot was loaded."""
    path = os.path.join(tools.work, "loaded-" + target)
    r = outside.Rounds(tools, target, "loaded", "--events", "exec,reg,pwr",
                       more=["-gdb", "unix:%s,server=on,wait=off" % path])
    with r.running as running:
        monitor = running.monitor
        kept = outside.snapshot_disk(running)
        r.wait_until(20)
        monitor.call("stop")
        saved = r.count()
        monitor.job("snapshot-save", **kept)
        stub = Stub(path, running.recorder)
        live, values = read_registers(stub)
        stops = [values]
        for _ in range(2):
            monitor.call("cont")
            r.wait_until(saved + 20)
            monitor.call("stop")
            if read_registers(stub)[1] == values:
                raise Failure("no register has changed")
            monitor.job("snapshot-load", **kept)
            if r.count() != saved:
                raise Failure("the machine is not as it was")
            stops.append(read_registers(stub)[1])  # counters of the host's time go on
        monitor.call("cont")
        r.wait_until(saved + 20)
    done = outside.moments(tools, r.trace)
    if [op for op, _ in done] != ["saved", "loaded", "loaded"]:
        raise Failure("recorded: %r" % done)
    table, head, states = parse(output(tools, r.trace, *[str(at) for _, at in done]))
    number = numbers_of(target, live, output(tools, "--xml", r.trace), table)
    seen = [(at, stop) for (at, _), stop in zip(states, stops)]
    if {at for at, _ in states} != {int.from_bytes(bytes.fromhex(values[number[head["pc"]]]),
                                                   "big" if target in machines.BIG_ENDIAN else "little")}:
        raise Failure("it goes on at %r" % [hex(at) for at, _ in states])
    compared, known = compare_values(target, table, number, seen, states)
    can_fail(target, table, number, seen, states)
    common.drop_file(r.trace)
    return "%d registers, %d values equal, %d not 0" % (len(number), compared, len(known))


RUN = {"description": machine, "loaded": loaded}


def check_table(table, head, number, text, packet, seen):
    described = {r.number: (r.bits // 8, r.name)
                 for registers in Description(text, None).features.values() for r in registers}
    sized = {i: row for i, row in table.items() if row[0]}
    if described and described != sized:
        raise Failure("the description and the table differ")
    if set(number) != set(sized):
        raise Failure("not compared: %s" % sorted(set(number) ^ set(sized)))
    for i, there in number.items():
        value = seen[0][1][there]
        if value is not None and len(value) != 2 * sized[i][0]:
            raise Failure("%s has %d bytes instead of %d" % (sized[i][1], sized[i][0], len(value) // 2))
    bytes_in_g = sum(size for i, (size, _) in sized.items() if i < head["in_g"])
    # QEMU's packet of mips ends with one more register than gdb has.
    if bytes_in_g != len(packet) // 2 and bytes_in_g + sized[0][0] != len(packet) // 2:
        raise Failure("`g' has %d bytes instead of %d" % (bytes_in_g, len(packet) // 2))


def can_fail(target, table, number, seen, states):
    """One bit of one register: the comparison must notice it."""
    pc, ours = states[len(states) // 2]
    i = next(i for i, value in ours.items() if value)
    altered = dict(ours)
    altered[i] = "%x" % (int(ours[i][0], 16) ^ 1) + ours[i][1:]
    changed = list(states)
    changed[len(states) // 2] = (pc, altered)
    try:
        compare_values(target, table, number, seen, changed)
    except Failure:
        return
    raise Failure("a bit of %s was altered, but not noticed" % table[i][1])
