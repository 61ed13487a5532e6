# SPDX-License-Identifier: MIT
"""A recording of a part is the same part of a recording of everything.

A program is recorded whole, and then once for each way of choosing.  What must be
recorded then is computed here from the whole, by nm, objdump and the trace's own map
events; nothing of the library that made the choice is used.  Compared are all
instructions, their bytes, faults and accesses with values, and in between system
calls, signals, mappings and threads, in their order.
"""
import json
import os
import re
import subprocess

import common
import props
from common import Failure, NOTHING, Skip, TARGETS

EVENTS = ("--events", "exec,mem,val,sys,map,thr", "--data-limit", "64")
# Recorded also while nothing else is
ALWAYS = {"map", "thread"}


def always(item):
    """... with what there was before the first instruction."""
    return isinstance(item, System) and (item.kind in ALWAYS
                                         or (item.kind == "memory" and item.ordinal == 0))


OWN = {"gate", "mark", "label", "select"}  # what the way of recording makes
DROP = ("ordinal", "pid", "tid", "time", "pc", "ppid")
CALL_STORES = {"x86_64", "i386"}


class Insn:
    """One that was executed: where, its bytes, [(load or store, address, size, value)]."""
    __slots__ = ("pc", "code", "faulted", "module", "offset", "acc", "ordinal")

    def __init__(self, e):
        self.pc = int(e["pc"], 16)
        self.code = e["bytes"]
        self.faulted = bool(e.get("faulted"))
        self.module = e.get("module", "")
        self.offset = e.get("module_offset", e["pc"])
        self.ordinal = e["ordinal"]
        self.acc = []

    def __str__(self):
        return "%d 0x%x %s%s %s" % (self.ordinal, self.pc, self.code,
                                    " faulted" if self.faulted else "", self.acc)


class System:
    """What the system did between two instructions."""
    __slots__ = ("kind", "text", "ordinal")

    def __init__(self, e):
        self.kind = e["kind"]
        self.ordinal = e["ordinal"]
        self.text = json.dumps({k: v for k, v in e.items() if k not in DROP}, sort_keys=True)

    def __str__(self):
        return "%d %s" % (self.ordinal, self.text[:200])


def events_of(lines):
    """What lines of JSON say.  Most instructions run often: they are parsed once."""
    known = {}
    for line in lines:
        kind, ordinal, rest = line.split(b",", 2)
        if kind != b'{"kind":"exec"':
            yield json.loads(line)
            continue
        e = known.get(rest)
        if e is None:
            e = known[rest] = json.loads(line)
        e["ordinal"] = int(ordinal[len(b'"ordinal":'):])
        yield e


class Recording:
    """A trace of one thread as a list of what happened."""

    def __init__(self, tools, trace, modules=False):
        self.items, self.gates, self.marks, self.pid = [], [], [], 0
        command = [tools.program("tracedump"), "--json", "--no-disas", trace]
        if not modules:
            command.append("--no-modules")
        done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        count, last = 0, None
        for e in events_of(done.stdout):
            kind = e["kind"]
            self.pid = self.pid or e["pid"]
            if kind == "exec":
                last = Insn(e)
                if last.ordinal != count:
                    raise Failure("ordinal %d comes after %d instructions" % (last.ordinal, count))
                count += 1
                self.items.append(last)
            elif kind in ("load", "store"):
                if not last or e["ordinal"] != last.ordinal or int(e["pc"], 16) != last.pc:
                    raise Failure("an access does not come after its instruction: %s" % e)
                last.acc.append((kind, int(e["addr"], 16), e["size"], e.get("value")))
            elif kind in OWN:
                (self.gates if kind == "gate" else self.marks).append(e)
            else:
                self.items.append(System(e))
        error = done.stderr.read().decode()
        if done.wait() not in (0, NOTHING):
            raise Failure("tracedump: status %d: %s" % (done.returncode, error.strip()))

    def insns(self):
        return [i for i in self.items if isinstance(i, Insn)]


def same_value(one, two, pids):
    """Equal, or they differ by the number of the process alone, in lanes of 4 bytes."""
    while one != two:
        x, y = one & 0xffffffff, two & 0xffffffff
        if x != y and (x, y) != pids:
            return False
        one, two = one >> 32, two >> 32
    return True


def same_access(a, b, pids):
    if a == b or a[3] is None or b[3] is None:
        return a == b
    return a[:3] == b[:3] and same_value(int(a[3], 16), int(b[3], 16), pids)


def place_only(item):
    """Of a program that is not quite the same each time: without addresses and values."""
    if isinstance(item, System):
        return item.kind
    return item.module, item.offset, item.code, [(kind, size) for kind, _, size, _ in item.acc]


def same(a, b, pids, clock=False):
    """clock: ld.so stores what it reads from a clock, so its values say nothing."""
    if isinstance(a, Insn):
        places_only = clock and os.path.basename(a.module).startswith("ld")
        return (isinstance(b, Insn) and a.pc == b.pc and a.code == b.code
                and a.faulted == b.faulted and len(a.acc) == len(b.acc)
                and all(x[:3] == y[:3] if places_only else same_access(x, y, pids)
                        for x, y in zip(a.acc, b.acc)))
    if not isinstance(b, System) or a.kind != b.kind:
        return False
    return a.text == b.text or (re.sub(r"\b%d\b" % pids[0], "PID", a.text)
                                == re.sub(r"\b%d\b" % pids[1], "PID", b.text))


def compare(expected, part, pids, what, slides=False, clock=False):
    for i, (a, b) in enumerate(zip(expected, part)):
        if place_only(a) != place_only(b) if slides else not same(a, b, pids, clock):
            raise Failure("%s: number %d: expected\n    %s\n  instead of\n    %s\n  after\n    %s"
                          % (what, i, a, b, part[i - 1] if i else "its begin"))
    if len(expected) != len(part):
        longer = expected if len(expected) > len(part) else part
        raise Failure("%s: %d items expected, %d recorded; the first one %s: %s"
                      % (what, len(expected), len(part),
                         "missing" if longer is expected else "too many",
                         longer[min(len(expected), len(part))]))


class Program:
    """What nm and objdump say of it."""

    def __init__(self, target, path, objdump=None):
        self.target = target
        objdump = objdump or TARGETS[target].objdump
        nm = objdump.replace("objdump", "nm")
        self.functions, self.spans = {}, []
        for line in self.lines(nm, "-S", path):
            word = line.split()
            if len(word) == 4 and word[2] in "tTwW":
                start = int(word[0], 16) & ~(1 if target == "thumb" else 0)
                self.functions.setdefault(word[3], (start, start + int(word[1], 16)))
                self.spans.append((word[3], start, start + int(word[1], 16)))
        self.text = {}  # pc: (mnemonic, operands)
        for line in self.lines(objdump, "-d", "-w", "-z", path):
            m = props.LINE.match(line)
            if m:
                self.text[int(m.group(1), 16)] = (m.group(3), m.group(4) or "")

    @staticmethod
    def lines(*command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Failure("%s: %s" % (command[0], done.stderr))
        return done.stdout.splitlines()

    def inside(self, *names):
        """Is an instruction one of these functions?"""
        spans = [(a, b) for n, a, b in self.spans if n in names]
        return lambda i: any(a <= i.pc < b for a, b in spans)

    def entry(self, name):
        """Its first instruction; of ppc64le functions the one that calls inside a program go to."""
        start, end = self.functions[name]
        if self.target == "ppc64le":
            text = self.text.get(start), self.text.get(start + 4)
            if text[0] and text[0][0] in ("lis", "addis") and "r2" in text[0][1].split(",")[0]:
                return start, start + 8
        return (start,)

    def branches(self):
        """Jumps, calls and returns, conditional or not."""
        kinds = {}

        def is_branch(i):
            if i.pc not in kinds:
                mnemonic, operands = self.text.get(i.pc, ("?", ""))
                kind = props.classify(self.target, mnemonic, operands)
                kinds[i.pc] = kind in "dDaA" and not NO_BRANCH.match(mnemonic + " " + operands)
            return kinds[i.pc]
        return is_branch

    def direct(self, pc):
        """A branch that makes no access."""
        mnemonic, operands = self.text.get(pc, ("?", ""))
        if self.target in CALL_STORES and "call" in mnemonic:
            return False
        return props.classify(self.target, mnemonic, operands) in "dD"

    def mnemonic(self, *names):
        if self.target in ("x86_64", "i386"):  # objdump shows the size here and there
            names = {n + size for n in names for size in ("", "b", "w", "l", "q")}
        return lambda i: self.text.get(i.pc, ("",))[0].split(".")[0] in names


# What may go anywhere, but not by its own decision; of s390x, what goes nowhere
NO_BRANCH = re.compile(r"^(?:svc|udf|bkpt|brk|syscall|sysenter|break|ecall|ebreak|unimp|int\b|int3|hlt|ud2"
                       r"|into|trap|scv? |ex |exrl |br %r0$)")


class Checker:
    def __init__(self, tools, target, program, guest, folder):
        self.tools, self.target, self.folder = tools, target, folder
        self.guest, self.environment = common.equal_runs(tools, guest)
        self.expect = program.expect
        self.name = program.name
        self.modules = program.link != "static"
        self.program = Program(target, os.path.join(folder, program.name))
        # ld.so reads the clock (rdtsc, mftb), and that of x86_64 is elsewhere each time
        self.slides = self.modules and target in ("x86_64", "i386")
        self.clock = self.modules and target == "ppc64le"
        self.said, self.wrong, self.flags = [], [], 0

    def record(self, *options, events=EVENTS):
        trace = os.path.join(self.tools.work, "choice-%s-%s.ctr" % (self.target, self.name))
        run = common.record(self.tools, trace, self.guest, self.environment, self.folder,
                            options=(*events, *options))
        if run.status != self.expect:
            raise Failure("%s: exit status %d: %s%s" % (" ".join(options), run.status,
                                                        run.stdout[-200:], run.stderr[-300:]))
        return trace

    def same_register(self, name, one, two, pids):
        """x86 flags may come from a comparison with the number of the process."""
        if name == "eflags" and not (one ^ two) & ~0x8d5:
            self.flags += one != two
            return True
        return same_value(one, two, pids)

    def recording(self, *options):
        trace = self.record(*options)
        recording = Recording(self.tools, trace, self.modules)
        common.drop_file(trace)
        return recording

    def compare(self, expected, part, what):
        """Notes a difference and goes on."""
        try:
            compare(expected, part.items, (self.full.pid, part.pid), what, self.slides,
                    self.clock)
        except Failure as err:
            self.wrong.append(str(err))

    def part(self, options, expected, gates=None):
        """With options, `expected' is recorded: items of the whole."""
        what = " ".join(options)
        try:
            part = self.recording(*options)
        except Failure as err:
            self.wrong.append("%s: %s" % (what, err))
            return
        self.check(what, expected, part)
        if gates is not None and len(part.gates) != gates:
            self.wrong.append("%s: %d gates: %s" % (what, len(part.gates), part.gates))

    def check(self, what, expected, part):
        """The part is what is expected, neither nothing nor everything."""
        insns = [i for i in expected if isinstance(i, Insn)]
        if not insns or len(insns) == len(self.full.insns()):
            raise Failure("%s: of %d instructions %d are expected" % (
                what, len(self.full.insns()), len(insns)))
        self.compare(expected, part, what)
        self.said.append("%s %d" % (what.replace("--", ""), len(insns)))

    def keep(self, *preds):
        """All that is no instruction, and the instructions of which all preds hold."""
        return [i for i in self.full.items
                if isinstance(i, System) or all(p(i) for p in preds)]

    def nothing(self, *options):
        """These record no instruction at all."""
        self.compare(self.keep(lambda i: False), self.recording(*options), " ".join(options))

    def accesses(self, options, kinds, *preds):
        """Instructions that can make such accesses, and these alone."""
        what = " ".join(options)
        part = self.recording(*options)
        pcs = {i.pc for i in part.insns()}
        making = {i.pc for i in self.full.insns()
                  if all(p(i) for p in preds) and any(a[0] in kinds for a in i.acc)}
        if making - pcs:
            self.wrong.append("%s: it does not record 0x%x" % (what, min(making - pcs)))
        checked = self.entered() if self.target == "aarch64" else set()
        wrong = sorted(pc for pc in pcs - making - checked if self.program.direct(pc))
        if wrong:
            self.wrong.append("%s: it records %d direct branches, as 0x%x: %s"
                              % (what, len(wrong), wrong[0], self.program.text[wrong[0]]))
        if len(pcs) > 2 * len(making) + 20:
            self.wrong.append("%s: of %d recorded instructions only %d make such accesses"
                              % (what, len(pcs), len(making)))
        # which of the others can make some is for the translator to say, each time
        expected, at = [], 0
        for i in self.keep(lambda i: i.pc in pcs, *preds):
            if isinstance(i, Insn):
                j = Insn({"pc": hex(i.pc), "bytes": i.code, "faulted": i.faulted,
                          "ordinal": i.ordinal})
                j.acc = [a for a in i.acc if a[0] in kinds]
                i = j
                if i.pc not in making and not (at < len(part.items) and same(
                        i, part.items[at], (self.full.pid, part.pid))):
                    continue
            expected.append(i)
            at += 1
        self.compare(expected, part, what)
        self.said.append("%s %d" % (what.replace("--", ""), len(part.insns())))

    def entered(self):
        """Where indirect branches went: there QEMU calls a function for the branch target check."""
        out, last = set(), None
        for i in self.full.insns():
            if last and self.program.text.get(last.pc, ("",))[0] in ("br", "blr"):
                out.add(i.pc)
            last = i
        return out

    def first_times(self, *preds):
        """Each instruction until it has run once without a fault."""
        done, out = set(), []
        for i in self.keep(*preds):
            if isinstance(i, Insn):
                key = (i.pc, i.code)
                if key in done:
                    continue
                if not i.faulted:
                    done.add(key)
            out.append(i)
        return out

    def trees(self, name, caller):
        """From each entry of a function that only `caller' calls, until it is back there."""
        entry, back = self.program.entry(name), self.program.inside(caller)
        inside, out = False, []
        for i in self.full.items:
            if isinstance(i, Insn):
                if inside and back(i):
                    inside = False
                if i.pc in entry:
                    inside = True
                if not inside:
                    continue
            elif not inside and not always(i):
                continue
            out.append(i)
        return out

    def window(self, begin, end):
        """Ordinals from begin to below end."""
        return [i for i in self.full.items
                if begin <= i.ordinal < end or always(i)]

    def between(self, starts, stops, *preds):
        """From an entry of one of starts to an entry of one of stops, again and again."""
        opens = {pc for n in starts for pc in self.program.entry(n)}
        closes = {pc for n in stops for pc in self.program.entry(n)}
        is_open, out = not starts, []
        for i in self.full.items:
            if isinstance(i, Insn):
                is_open = (is_open or i.pc in opens) and i.pc not in closes
                if is_open and all(p(i) for p in preds):
                    out.append(i)
            elif is_open or always(i):
                out.append(i)
        return out

    def quiet_place(self, share):
        """An ordinal at which the system does nothing, near that share of the run."""
        busy = {i.ordinal for i in self.full.items if isinstance(i, System)}
        n = int(len(self.full.insns()) * share)
        while n in busy:
            n += 1
        return n

    def result(self):
        if self.wrong:
            raise Failure("%d of %d ways of choosing\n  %s" % (len(self.wrong), len(self.said),
                                                             "\n  ".join(self.wrong)))
        return "%d instructions; %s" % (len(self.full.insns()), ", ".join(self.said))


# Mnemonics that every disassembler writes alike, frequent ones
OPCODES = {"arm": ("ldr", "cmp"), "thumb": ("ldr", "cmp"), "aarch64": ("ldr", "add"),
           "mipsel": ("lw", "sw"), "mips": ("lw", "sw"), "riscv64": ("lw", "sd"), "riscv32": ("lw", "sw"),
           "x86_64": ("lea", "test"), "i386": ("lea", "test"), "s390x": ("lg", "larl"),
           "ppc64le": ("ld", "addi")}


def choose(c):
    """One static program, each way of choosing, and several together."""
    c.full = c.recording()
    p = c.program
    c.part(("--function", "leaf"), c.keep(p.inside("leaf")))
    c.part(("--function", "touch", "--function", "mem*"), c.keep(
        p.inside("touch", *[n for n in p.functions if n.startswith("mem")])))
    c.part(("--not", "--function", "main"), c.keep(lambda i: not p.inside("main")(i)))
    a, b = p.functions["outer"][0] + 8, p.functions["copies"][1] - 8
    c.part(("--range", "0x%x-0x%x" % (a, b)), c.keep(lambda i: a <= i.pc < b))
    c.part(("--range", "%s+0x%x-%s!0x%x" % (c.name, a, c.name, b)),
           c.keep(lambda i: a <= i.pc < b))
    c.part(("--range", "leaf,outer", "--not", "--range", "outer+8+8"), c.keep(
        p.inside("leaf", "outer"), lambda i: not a <= i.pc < a + 8))
    c.nothing("--function", "cold")
    branch = p.branches()
    c.part(("--branches", "--module", c.name, "--function", "main", "--function", "outer"),
           c.keep(branch, p.inside("main", "outer")))
    c.accesses(("--stores",), {"store"})
    c.accesses(("--loads", "--not", "--function", "main"), {"load"},
               lambda i: not p.inside("main")(i))
    c.accesses(("--loads", "--stores", "--function", "touch"), {"load", "store"},
               p.inside("touch"))
    for names in (OPCODES[c.target][:1], OPCODES[c.target]):
        c.part(("--opcode", ",".join(names), "--not", "--range", "0x%x-0x%x" % p.functions["leaf"]),
               c.keep(p.mnemonic(*names), lambda i: not p.inside("leaf")(i)))
    c.part(("--once",), c.first_times())
    c.part(("--once", "--function", "touch", "--function", "leaf", "--function", "copies"),
           c.first_times(p.inside("touch", "leaf", "copies")))
    for name in ("outer", "sorts"):
        c.part(("--function", name, "--callees"), c.trees(name, "main"))
    # longjmp leaves these calls: where exactly depends on when it takes the stack down
    spans = ["0x%x-0x%x" % p.functions[n] for n in ("leave", "main")]
    c.part(("--function", "leave", "--callees", "--range", spans[0], "--range", spans[1]),
           [i for i in c.trees("leave", "main") if isinstance(i, System)
            or p.inside("leave", "main")(i)])
    n = len(c.full.insns())
    for first, last in ((0.3, 0.31), (0.9, 2), (0, 0.7)):
        begin, end = first and c.quiet_place(first), min(c.quiet_place(min(last, 0.99)), n)
        options = ["--after-instructions", str(begin)] if begin else []
        if last < 1:
            options += ["--for-instructions", str(end - begin)]
        else:
            end = n
        c.part(options, c.window(begin, end if end < n else n + 1),
               gates=2 * (begin > 0) + (end < n))
    c.part(("--start-at", "copies", "--stop-at", "adds"), c.between(["copies"], ["adds"]))
    c.part(("--stop-at", "%s!sorts" % c.name), c.between([], ["sorts"]))
    c.part(("--start-at", "0x%x" % p.entry("leave")[-1], "--stop-at", "touch", "--function", "main",
            "--function", "leave"), c.between(["leave"], ["touch"], p.inside("main", "leave")))


def choose_dynamic(c):
    """Modules, and the same places named by them."""
    c.full = c.recording()
    for name, module in ((c.name, c.name), ("libc.so.6", "libc.so.6"), ("ld*", "ld")):
        def inside(i):
            file = os.path.basename(i.module)
            return file.startswith("ld") if module == "ld" else file == module

        c.part(("--module", name), c.keep(inside))
        if module != c.name:
            c.part(("--not", "--module", name), c.keep(lambda i: not inside(i)))


class Registers:
    """The registers of one thread as its trace goes on."""

    def __init__(self, tools, trace):
        done = subprocess.run([tools.program("tracedump"), "--json", "--state", "0", trace],
                              capture_output=True, text=True)
        if done.returncode:
            raise Failure("tracedump --state: %s" % done.stderr)
        self.now = {n: int(v, 16) for n, v in json.loads(done.stdout)["registers"].items()}
        self.lines = common.dump_lines(tools, trace, "--events", "exec,reg")
        self.ahead = None  # an exec event that was read
        self.touched = set()

    def apply(self, e):
        self.now[e["name"]] = int(e["value"], 16)
        self.touched.add(e["name"])

    def next(self):
        """Goes before the next instruction; it, or None."""
        e, self.ahead = self.ahead, None
        while e is None or e["kind"] != "exec":
            if e is not None:
                self.apply(e)
            line = next(self.lines, None)
            if line is None:
                return None
            e = json.loads(line)
        return e

    def step(self):
        """What that instruction itself changed."""
        own = []
        for line in self.lines:
            e = json.loads(line)
            if e["kind"] != "reg" or e.get("outside"):
                self.ahead = e
                break
            own.append((e["name"], e["value"]))
            self.apply(e)
        return own


def run_registers(tools, program, target, guest, folder):
    """Before and after each recorded instruction, the registers are those of the whole."""
    c = Checker(tools, target, program, guest, folder)
    c.slides = False
    said = []
    kinds = ("--events", "exec,reg")
    whole_trace = os.path.join(tools.work, "registers-%s" % target)
    os.rename(c.record(events=kinds), whole_trace)
    for options, pred in (
            (("--function", "leaf", "--function", "touch"), c.program.inside("leaf", "touch")),
            (("--not", "--function", "main", "--not", "--function", "leaf"),
             lambda i: not c.program.inside("main", "leaf")(i))):
        whole, trace = Registers(tools, whole_trace), c.record(*options, events=kinds)
        part = Registers(tools, trace)
        pids, n, changes, where = None, 0, 0, " ".join(options)
        names = set(whole.now) | set(part.now)
        while True:
            a = whole.next()
            while a and not pred(Insn(a)):
                whole.step()
                a = whole.next()
            b = part.next()
            if not a or not b or a["pc"] != b["pc"]:
                if a or b:
                    raise Failure("%s: instruction %d: expected %s instead of %s"
                                  % (where, n, a, b))
                break
            pids = pids or (a["pid"], b["pid"])
            for name in (names if not n else whole.touched | part.touched):
                x, y = whole.now[name], part.now[name]
                if not c.same_register(name, x, y, pids):
                    raise Failure("%s: before instruction %d (%s) %s is 0x%x instead of 0x%x"
                                  % (where, n, b["pc"], name, y, x))
            whole.touched, part.touched = set(), set()
            one, two = whole.step(), part.step()
            if [r for r, _ in one] != [r for r, _ in two] or not all(
                    c.same_register(r, int(x, 16), int(y, 16), pids)
                    for (r, x), (_, y) in zip(one, two)):
                raise Failure("%s: instruction %d (%s) changes %s instead of %s"
                              % (where, n, b["pc"], two, one))
            n += 1
            changes += len(two)
        if c.flags > n // 100:
            raise Failure("%s: the flags differ %d times" % (where, c.flags))
        if n < 100 or not changes:
            raise Failure("%s: only %d instructions, %d changes" % (where, n, changes))
        said.append("%s %d instructions, %d changes" % (where.replace("--", ""), n, changes))
        common.drop_file(trace)
    common.drop_file(whole_trace)
    return "; ".join(said)


COVERAGE = ("--events", "exec,map,thr")


def run_coverage(tools, program, target, guest, folder):
    """Each block the first time: of one thread in the very order, of more never twice."""
    guest, environment = common.equal_runs(tools, guest)
    if target == "s390x" and program.name == "faults":
        raise Skip("an EXECUTE that faulted before is not recorded again when it is done")
    return coverage(tools, target, program.name, guest, environment, folder, program.expect,
                    "--twice" if program.kind == "property" else None)


def coverage(tools, target, name, guest, environment, folder, expect=0, how=None,
             events=COVERAGE):
    traces = [os.path.join(tools.work, "coverage-%s-%s.%s" % (target, name, n))
              for n in ("whole", "part")]
    for trace, options in zip(traces, (events, ("--coverage",))):
        if how != "--twice" or trace == traces[1]:
            run = common.record(tools, trace, guest, environment, folder, options=options)
            if run.status != expect:
                raise Failure("%s: exit status %d: %s%s" % (
                    " ".join(options), run.status, run.stdout[-200:], run.stderr[-300:]))
    command = [tools.coverage] + ([how] if how else []) + traces[how == "--twice":]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.stdout.strip()[-2000:] + done.stderr[-300:])
    for trace in traces:
        common.drop_file(trace)
    return done.stdout.strip()


def run(tools, program, target, guest, folder):
    c = Checker(tools, target, program, guest, folder)
    (choose if program.name == "choose" else choose_dynamic)(c)
    return c.result()
