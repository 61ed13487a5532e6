# SPDX-License-Identifier: MIT
"""Properties of traces that no second run can confirm.

The program prints what must be found ("stores ADDR N", "adds ADDR N",
"threads N", "processes N"); oracle-flow counts, and checks that in each thread
every instruction is a possible successor of the one before.  Where branches may go
comes from objdump's text, so that no decoder of ours checks itself.
"""
import json
import os
import re
import subprocess
import tempfile

import common
from common import Failure, TARGETS

HANDLERS = {"tick", "repeat", "leave", "fault", "skip", "fix", "sigcancel_handler",
            "sighandler_setxid", "__nptl_setxid_sighandler"}
# Here an atomic addition is a loop, which may run more than once.
LOOPS = {"arm", "thumb", "mips", "mipsel", "ppc64le", "ppc", "ppc64", "mips64el", "alpha", "m68k",
         "sparc64", "loongarch64", "armeb", "aarch64_be"}
# Here the kernel adds, in a light-weight system call: the trace has a write by the system.
GATES = {"hppa"}
# The output of these must be the same without a recorder.
SAME_OUTPUT = {"addresses", "closing", "threads", "forktree", "processes", "daemon"}
# A thread that exit_group or a signal stopped may be marked as incomplete.
MAY_BE_CUT = {"exitgroup", "processes"}

LINE = re.compile(r"^\s*([0-9a-f]+):\s((?:[0-9a-f]+ )+)\s*\t(\S+)(?:\s+(.*))?$")
FUNCTION = re.compile(r"^([0-9a-f]+) <\.?(\w+)>:$")
ADDRESS = re.compile(r"(-?\b[0-9a-f]+) <")
CONDITION = "(?:eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al)?"


class Branches:
    """A target's branches as objdump names them, as far as patterns can show them.

    direct: to the address among the operands, or past it; anywhere: to any place, or
    into the system; with slot, the instruction after it runs first, except after those
    of `at_once'.  relative: objdump prints targets as distances.
    """

    def __init__(self, direct, anywhere, slot=False, at_once="(?!)", relative=False):
        self.relative = relative
        self.direct = re.compile(direct)
        self.anywhere = re.compile(anywhere)
        self.at_once = re.compile(at_once)
        self.slot = slot

    def classify(self, mnemonic, operands):
        if self.direct.match(mnemonic) and ADDRESS.search(operands):
            kind = "d"
        elif self.anywhere.match(mnemonic) or self.direct.match(mnemonic):
            kind = "a"
        else:
            return "-"
        return kind.upper() if self.slot and not self.at_once.match(mnemonic) else kind


MIPS = Branches(r"^(?:b|bal|j|jal|jalx|beq|bne|beqz|bnez|bgtz|blez|bltz|bgez|bltzal|bgezal"
                r"|bc1[tf])l?$", r"^(?:jr|jalr|syscall|break)", slot=True, at_once="^(?:syscall|break)$")
PPC = Branches(r"^b(?!.*(?:lr|ctr)l?[+-]?$)", r"^b.*(?:lr|ctr)l?[+-]?$|^scv?$|^trap$")
BRANCHES = {
    "aarch64": Branches(r"^(?:b|bl|b\.\w+|cbn?z|tbn?z)$", r"^(?:br|blr|ret|svc|brk|udf|bra|blra|reta)"),
    "mips": MIPS,
    "mipsel": MIPS,
    "mips64el": MIPS,
    "riscv64": Branches(r"^(?:c\.)?(?:j|jal|b(?:eq|ne|lt|ge|le|gt)(?:z|u)?)$",
                        r"^(?:c\.)?(?:jr|jalr|ret|ecall|ebreak|unimp)$"),
    "loongarch64": Branches(r"^(?:b|bl|b(?:eq|ne|lt|ge|ltu|geu)z?|bc(?:eq|ne)z)$",
                            r"^(?:jr|jirl|ret|syscall|break)$", relative=True),
    "ppc64le": PPC,
    "ppc64": PPC,
    "ppc": PPC,
    "m68k": Branches(r"^(?:b(?:ra|sr|hi|ls|cc|cs|ne|eq|vc|vs|pl|mi|ge|lt|gt|le)|db\w+|fb\w+)[swl]?$",
                     r"^(?:jsr|jmp|rts|rtd|rtr|rte|trap|illegal)"),
    # any of them may nullify the next: a conditional branch its slot, others what follows
    "hppa": Branches(r"^(?:b|b,\S*|bl|bb|bb,\S*|bvb\S*|addi?b\S*|cmpi?b\S*|movi?b\S*|be|be,\S*|ble)$",
                     r"^(?:bv|bve|be|ble|blr|break|rfi)", slot=True, at_once="^break"),
    "sparc64": Branches(r"^(?:f?b\w*(?:,a)?(?:,p[tn])?|call)$",
                        r"^(?:jmp|jmpl|ret|retl|return|call|t[agnlecvp]\w*|done|retry|unimp|illtrap)",
                        slot=True, at_once=r"^(?:t[agnlecvp]\w*|ba,a.*|b,a.*|bn,a.*|unimp|illtrap)$"),
    "alpha": Branches(r"^(?:br|bsr|f?b(?:eq|ne|lt|le|gt|ge|lbc|lbs))$",
                      r"^(?:jmp|jsr|ret|call_pal|callsys|bpt|gentrap|rduniq|wruniq|imb)"),
    "sh4": Branches(r"^(?:b[tf](?:[./]s)?|bra|bsr)$", r"^(?:jmp|jsr|rts|braf|bsrf|rte|trapa)", slot=True,
                    at_once="^(?:b[tf]|trapa)$"),
}
BRANCHES["riscv32"], BRANCHES["aarch64_be"] = BRANCHES["riscv64"], BRANCHES["aarch64"]
# They only request a register window from the system, and begin again.
WINDOWS = re.compile(r"^(?:save|restore|return|rett|flushw)$")
ARM_DIRECT = re.compile(r"^(?:b|bl|blx)%s(?:\.[nw])?$|^cbn?z$" % CONDITION)
ARM_ANY = re.compile(r"^(?:bx|blx|bxj)%s(?:\.[nw])?$|^tb[bh]$|^svc|^udf|^bkpt" % CONDITION)
X86_ANY = re.compile(r"^(?:ret|iret|syscall|sysenter|int|hlt|ud2|lret|into)")


def classify(target, mnemonic, operands):
    """The KIND letter of oracle-flow and whether the operand is a target."""
    if target in BRANCHES:
        return BRANCHES[target].classify(mnemonic, operands)
    if target in ("arm", "thumb", "armeb"):
        if ARM_DIRECT.match(mnemonic) and ADDRESS.search(operands):
            return "d"
        if (ARM_ANY.match(mnemonic) or operands.startswith("pc,")
                or (re.search(r"\bpc\}", operands) and re.match("pop|ldm", mnemonic))):
            return "a"
    elif target in ("x86_64", "i386"):
        words = (mnemonic + " " + operands).split()
        while words and re.match(
                r"(?:notrack|bnd|lock|data16|addr32|[cd]s|rex(?:\.[WRXB]+)?)$", words[0]):
            words = words[1:]
        if words and words[0] in ("rep", "repz", "repnz", "repe", "repne"):
            return "a" if len(words) > 1 and words[1].startswith("ret") else "r"
        name = words[0] if words else ""
        if X86_ANY.match(name) or (name.startswith(("call", "jmp")) and "*" in words[1]):
            return "a"
        if name.startswith(("call", "j", "loop")):
            return "d"
    elif target == "s390x":
        relative = ADDRESS.search(operands) and not mnemonic.endswith("rl")
        if mnemonic[0] in "jc" and relative and mnemonic not in ("clfhsi",):
            return "d"
        if mnemonic.startswith("b"):
            return "d" if relative else "a"
        if mnemonic in ("ex", "exrl", "svc", "trap") or mnemonic.startswith("trap"):
            return "a"
    return "-"


VARYING = {
    "arm": re.compile(r"^(?:ld|st|push|pop|v|swp).*(?:eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)"
                      r"(?:\.\w+)?$|^strex"),
    "aarch64": re.compile(r"^st?l?xr|^stl?x[rp]|^cas|^cpy|^set[pmeg]"),
    "mips": re.compile(r"^sc|^s[wd][lr]$"),
    "riscv64": re.compile(r"^sc\.|^amocas|^v"),
    "x86_64": re.compile(r"^rep|^v?p?maskmov|^v.?gather|^xsave|^xrstor"),
    "s390x": re.compile(r"^cd?sg?y?$|^csst$|^ex|^stoc|^loc|^[mc][vl]|^srst|^trt?$|^tr[to]|^[on]c$|^xc$|^cu|^cksm"),
    "ppc64le": re.compile(r"^st[bhwdq]cx|^l?st?xvll?$|^lxvll?$"),
    "m68k": re.compile(r"^cas|^f?movem"),
    "hppa": re.compile(r""),  # the instruction before may nullify it
    "sparc64": re.compile(r"^cas"),
    "alpha": re.compile(r"^st[lq]_c"),
    "sh4": re.compile(r"(?!)"),
    "loongarch64": re.compile(r"^sc\."),
}
for name, like in (("thumb", "arm"), ("mipsel", "mips"), ("mips64el", "mips"), ("i386", "x86_64"),
                   ("ppc", "ppc64le"), ("ppc64", "ppc64le"), ("armeb", "arm"),
                   ("aarch64_be", "aarch64"), ("riscv32", "riscv64")):
    VARYING[name] = VARYING[like]


def varies(target, mnemonic, operands):
    """May its accesses differ the next time (a condition, a mask, a length)?"""
    if target == "aarch64" and re.search(r"\bp\d+/|, p\d+, \[", operands):
        return True
    return bool(VARYING[target].match(mnemonic))


def code_table(target, path, watched, out):
    """Writes the description of a program for oracle-flow."""
    instructions(target, path, out, handlers=HANDLERS)
    for addr in watched:
        out.write("w %x\n" % addr)
    out.flush()


def instructions(target, path, out, place=lambda pc: pc, handlers=()):
    """Writes the instructions of a file; place: where one runs, or None; and where
    the handlers of signals with these names begin.  (In ppc64's symbol table they have
    the addresses of their descriptors.)"""
    objdump = TARGETS[target].objdump
    process = subprocess.Popen([objdump, "-d", "-w", "-z", path], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        m = LINE.match(line)
        if not m:
            m = handlers and FUNCTION.match(line)
            if m and m.group(2) in handlers:
                out.write("h %x\n" % int(m.group(1), 16))
            continue
        pc, code, mnemonic, operands = m.groups()
        operands = operands or ""
        at = place(int(pc, 16))
        if at is None:
            continue
        bias = at - int(pc, 16)
        kind = classify(target, mnemonic, operands)
        targets = []
        if kind in "dD":
            found = ADDRESS.findall(operands)
            targets = found[-1:]
            if target in BRANCHES and BRANCHES[target].relative:
                targets = ["%x" % (int(pc, 16) + int(t)) for t in targets]
        elif kind == "r":
            kind, targets = "d", [pc]
        targets = ["%x" % (int(t, 16) + bias & (1 << 64) - 1) for t in targets]
        if varies(target, mnemonic, operands):
            kind += "v"
        if target == "sparc64" and WINDOWS.match(mnemonic):
            kind += "r"
        if target == "hppa" and kind[0] in "DA" and mnemonic.endswith(",n"):
            kind += "n"
        out.write("i %x %x %s %s\n" % (at, len(code.replace(" ", "")) // 2, kind,
                                       " ".join(targets)))
    if process.wait():
        raise Failure("objdump failed")


def statements(text):
    said = {"stores": {}, "adds": {}, "threads": None, "processes": None}
    for line in text.splitlines():
        word = line.split()
        if len(word) == 3 and word[0] in ("stores", "adds"):
            said[word[0]][int(word[1], 16)] = int(word[2])
        elif len(word) == 2 and word[0] in ("threads", "processes"):
            said[word[0]] = int(word[1])
    return said


def flow(tools, target, path, watched, trace, may_be_cut):
    """Runs oracle-flow; returns (threads, {addr: (loads, stores)})."""
    with tempfile.NamedTemporaryFile("w", dir=tools.work, suffix=".code") as code:
        code_table(target, path, watched, code)
        return run_flow(tools, code.name, trace, may_be_cut)


def run_flow(tools, code, trace, may_be_cut, *options):
    threads, counts = [], {}
    d = common.dump(tools, trace, *options)
    done = subprocess.run([tools.flow, "--code", code, "--trace",
                           "/dev/fd/%d" % d.stdout.fileno()],
                          pass_fds=(d.stdout.fileno(),), capture_output=True, text=True)
    d.stdout.close()
    error = d.stderr.read().decode()
    d.wait()
    if done.returncode:
        raise Failure("\n".join(line for line in done.stdout.splitlines()
                                if line.startswith("violation"))[:4000] + done.stderr)
    if d.returncode not in ((0, 3) if may_be_cut else (0,)):
        raise Failure("tracedump: status %d: %s" % (d.returncode, error))
    for line in done.stdout.splitlines():
        word = line.split()
        if word[0] == "thread":
            threads.append(tuple(int(w) for w in word[1:]))
        elif word[0] == "watch":
            counts[int(word[1], 16)] = (int(word[2]), int(word[3]))
    return threads, counts


def check_info(tools, trace, threads, processes):
    done = subprocess.run([tools.program("tracedump"), "--info", "--json", trace],
                          capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise Failure("tracedump --info: status %d: %s" % (done.returncode, done.stderr))
    info = json.loads(done.stdout)
    for name, column in (("instructions", 2), ("loads", 3), ("stores", 4)):
        total = sum(t[column] for t in threads)
        if info[name] != total:
            raise Failure("--info says %d %s, the events are %d" % (info[name], name, total))
    if len(info["threads"]) != len(threads) or len(info["processes"]) != processes:
        raise Failure("--info lists %d threads and %d processes, the events have %d and %d"
                      % (len(info["threads"]), len(info["processes"]), len(threads), processes))


def run(tools, program, target, guest, folder):
    trace = os.path.join(tools.work, "property-%s-%s.ctr" % (target, program.name))
    environment = {"HOME": "/", "GUEST_TEST": "1"}
    if program.name == "addresses":
        guest = [w for i, w in enumerate(guest)
                 if w != "-R" and (i == 0 or guest[i - 1] != "-R")]
        guest, equal = common.equal_runs(tools, guest)
        environment.update(equal)
    recorded = common.record(tools, trace, guest, environment, folder)
    text = recorded.stdout.decode(errors="replace")
    if recorded.status != program.expect:
        raise Failure("exit status %d instead of %d: %s%s"
                      % (recorded.status, program.expect, text[-200:],
                         recorded.stderr.strip()[-300:]))
    if program.name in SAME_OUTPUT:
        unrecorded = common.plain(guest, environment, folder)
        if unrecorded.stdout != recorded.stdout:
            a = unrecorded.stdout.decode(errors="replace").splitlines()
            b = text.splitlines()
            other = ["%s -> %s" % (x, y) for x, y in zip(a, b) if x != y]
            raise Failure("it prints other things when recorded: %s (%d lines, %d)"
                          % ("; ".join(other[:5]), len(a), len(b)))
    said = statements(text)
    watched = list(said["stores"]) + list(said["adds"])
    threads, counts = flow(tools, target, os.path.join(folder, program.name), watched, trace,
                           program.name in MAY_BE_CUT)
    wrong = []
    for addr, n in said["stores"].items():
        if counts[addr][1] != n:
            wrong.append("0x%x: %d stores, the trace has %d" % (addr, n, counts[addr][1]))
    shared = max(said["adds"].values(), default=0)
    for addr, n in said["adds"].items() if target not in GATES else ():
        loads, stores = counts[addr]
        if target in LOOPS:
            good = stores >= n if n == shared else stores == n
            good = good and loads >= stores
        else:
            good = stores == n and n <= loads <= n + 4
        if not good:
            wrong.append("0x%x: %d additions, the trace has %d loads, %d stores"
                         % (addr, n, loads, stores))
    processes = len({t[0] for t in threads})
    if said["threads"] is not None and len(threads) != said["threads"]:
        wrong.append("%d threads, the trace has %d" % (said["threads"], len(threads)))
    if said["processes"] is not None and processes != said["processes"]:
        wrong.append("%d processes, the trace has %d" % (said["processes"], processes))
    if wrong:
        raise Failure("%d differences: %s" % (len(wrong), "; ".join(wrong[:8])))
    check_info(tools, trace, threads, processes)
    common.drop_file(trace)
    return "%d threads, %d processes, %d instructions" % (len(threads), processes,
                                                          sum(t[2] for t in threads))
