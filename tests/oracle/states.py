# SPDX-License-Identifier: MIT
"""Memory and registers: does the trace contain every change?

memory     oracle-memory follows a run from its image through every store and
           every system call's write; memory must then hold what is read later, and
           the dump that the guest makes of itself at the end
execlog    registers after each instruction, from QEMU's execlog plugin
gdb        the same from single steps in QEMU's gdbstub
replay     the state at each chunk's begin is the result of the changes before it
"""
import json
import os
import re
import subprocess

import common
import gdbstep
from common import Failure, TARGETS

ALL = ("--events", "all", "--data-limit", "all")
DUMP_FD = "900"

# eflags: QEMU shows them without the flags that it computes only when needed;
# oracle-replay checks the branches instead.
X86 = ["eflags", "ymm*", "k_gs_base", "cr*", "efer", "ftag", "fiseg", "fioff", "foseg", "fooff",
       "fop", "orig_rax"]
# Registers that QEMU's debugger has and a trace does not, or whose meaning differs
# from the program's state, by target.
NOT_REPORTED = {
    "arm": ["pc", "q*"],  # q: two of d
    "thumb": ["pc", "q*"],
    "aarch64": ["pc"],
    "riscv64": ["pc", "zero", "cycle*", "time*", "instret*", "seed"],
    "x86_64": ["rip", *X86],
    "i386": ["eip", *X86],
    "s390x": ["pswa"],
    "ppc64le": ["pc", "msr"],
    # only its kernel sees these
    "mipsel": ["pc", "zero", "sr", "badvaddr", "cause", "fir"],
    "mips": ["pc", "zero", "sr", "badvaddr", "cause", "fir"],
}
# Bits that the witness does not report: QEMU keeps the state of an IT block elsewhere
# when a block of one instruction begins.
IGNORED = {"thumb": ["--ignore", "cpsr=0x0600fc00"]}
# The witness must have reported changes of these registers: proof of the comparison.
MUST_BE_REPORTED = {
    "arm": "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 sp lr cpsr",
    "thumb": "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 sp lr cpsr",
    "aarch64": "x0 x1 x2 x3 x4 x5 x19 x20 x29 x30 sp cpsr",
    "riscv64": "ra sp gp tp t0 t1 fp s1 a0 a1 a2 a3 a4 a5 a7",
    "x86_64": "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 xmm0",
    "i386": "eax ecx edx ebx esp ebp esi edi xmm0",
    "s390x": "pswm r0 r1 r2 r3 r4 r5 r15",
    "ppc64le": "r0 r1 r2 r3 r4 r5 r9 r31 cr lr ctr",
    "mipsel": "at v0 v1 a0 a1 a2 a3 t0 s0 s1 gp sp ra",
    "mips": "at v0 v1 a0 a1 a2 a3 t0 s0 s1 gp sp ra",
}


def output_of(command, what):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                          timeout=common.PATIENCE)
    if done.returncode:
        raise Failure("%s: %s%s" % (what, done.stdout.strip()[-2500:], done.stderr.strip()[-500:]))
    return done.stdout.strip()


def replay(tools, trace):
    return output_of([tools.replay, trace], "replay")


def replay_can_fail(tools, trace):
    """Without the last change of a register the replay must not end in the trace's state."""
    changes = int(replay(tools, trace).split(" changes")[0].split()[-1])
    try:
        output_of([tools.replay, "--forget", str(changes - 1), trace], "replay")
    except Failure:
        return
    raise Failure("a register change was left out, but not noticed")


def memory(tools, trace, dump=None, forget=None):
    command = [tools.memory]
    if dump:
        command += ["--dump", dump, "--fd", DUMP_FD]
    if forget is not None:
        command += ["--forget", str(forget)]
    return output_of(command + [trace], "memory")


def run_memory(tools, target, name, guest, folder, expect):
    trace = os.path.join(tools.work, "memory-%s-%s.ctr" % (target, name))
    dump = trace + ".dump"
    recorded = common.record(tools, trace, guest, {"GUEST_DUMP": dump}, folder, options=ALL)
    if recorded.status != expect:
        raise Failure("exit status %d instead of %d: %s"
                      % (recorded.status, expect, recorded.stderr.strip()[-300:]))
    if not os.path.exists(dump):
        raise Failure("the program wrote no dump")
    said = memory(tools, trace, dump)
    missed = forgotten(tools, trace, dump) if name == "memory" else ""
    replay(tools, trace)
    common.drop_file(trace)
    common.drop_file(dump)
    return said + missed


def forgotten(tools, trace, dump):
    """Without one of its stores the trace must not pass: proof that the check can fail."""
    noticed = 0
    places = [3, 50, 500, 1000, 2000, 3000, 4000, 5000]
    for n in places:
        try:
            memory(tools, trace, dump, n)
        except Failure:
            noticed += 1
    if noticed < len(places) // 2:
        raise Failure("of %d stores left out only %d were noticed" % (len(places), noticed))
    return "; %d of %d stores left out were noticed" % (noticed, len(places))


def compare_registers(tools, target, trace, log, *options):
    skips = [w for name in NOT_REPORTED[target] for w in ("--skip", name)]
    skips += IGNORED.get(target, [])
    said = output_of([tools.registers, *skips, *options, "--witness", log, trace], "registers")
    reported = set(said.split("reported:")[1].split(";")[0].split())
    missing = set(MUST_BE_REPORTED[target].split()) - reported
    if missing:
        raise Failure("the witness did not report %s: %s" % (" ".join(sorted(missing)), said))
    alone = said.split("not in the trace:")[1].split()
    if alone != ["none"]:
        raise Failure("registers that only the witness has: %s" % " ".join(alone))
    return said.split("; not in")[0]


def run_execlog(tools, target, name, guest, folder):
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "execlog-%s-%s.ctr" % (target, name))
    log = trace + ".log"
    recorded = common.record(tools, trace, guest, environment, folder,
                             options=("--events", "reg"),
                             idle=tools.plugin("execlog") + ",ifilter=none" if
                             target in common.SLIDE else None)
    qemu, rest = common.split_guest(guest)
    done = subprocess.run([common.SETARCH, "-R", qemu, "-one-insn-per-tb", "-d", "plugin",
                           "-D", log, "-plugin", tools.plugin("execlog") + ",reg=*", *rest],
                          stdin=subprocess.DEVNULL, capture_output=True, env=environment,
                          cwd=folder, timeout=common.PATIENCE, preexec_fn=common.as_alone)
    if (common.status_of(done.returncode), done.stdout) != (recorded.status, recorded.stdout):
        raise Failure("recorded it printed %r (%d), unrecorded %r (%d)"
                      % (recorded.stdout[-200:], recorded.status, done.stdout[-200:],
                         done.returncode))
    said = compare_registers(tools, target, trace, log)
    if name == "calls":
        state_dumps(tools, trace)
        replay_can_fail(tools, trace)
        said += altered(tools, target, trace, log)
    replay(tools, trace)
    common.drop_file(trace)
    common.drop_file(log)
    return said


def state_dumps(tools, trace):
    """tracedump --state at some places is the result of the register changes."""
    def state(ordinal):
        done = subprocess.run([tools.program("tracedump"), "--json", "--state", str(ordinal),
                               trace], capture_output=True, text=True)
        if done.returncode:
            raise Failure("tracedump --state %d: %s" % (ordinal, done.stderr))
        return json.loads(done.stdout)["registers"]

    now = state(0)
    places = [1, 2, 999, 10000, 54321]
    for line in common.dump_lines(tools, trace, "--events", "reg"):
        e = json.loads(line)
        if e["kind"] != "reg":
            continue
        while places and e["ordinal"] >= places[0]:
            compare_states(now, state(places[0]), places.pop(0))
        now[e["name"]] = e["value"]
    if places:
        raise Failure("the trace ends before ordinal %d" % places[0])


def compare_states(folded, found, ordinal):
    for name, value in found.items():
        if int(folded[name], 16) != int(value, 16):
            raise Failure("--state %d: %s is %s, after the changes %s"
                          % (ordinal, name, value, folded[name]))


def altered(tools, target, trace, log):
    """Alters one bit of one register of the witness: the comparison must notice it."""
    with open(log) as f:
        lines = f.readlines()
    # of a register that is compared: others (counters, clocks) may have any value
    names = "|".join(map(re.escape, MUST_BE_REPORTED[target].split()))
    change = re.compile(r"\b(?:%s) -> 0x[0-9a-f]*([0-9a-f])" % names)
    at = [i for i, line in enumerate(lines[1000:-1000], 1000) if change.search(line)]
    i = at[len(at) // 2]
    m = change.search(lines[i]).start(1)
    changed = lines[:]
    changed[i] = lines[i][:m] + "%x" % (int(lines[i][m], 16) ^ 1) + lines[i][m + 1:]
    without = lines[:i] + [re.sub(", [^,]+ -> 0x.*", "", lines[i])] + lines[i + 1:]
    for other in (changed, without, lines[:i] + lines[i + 1:]):
        with open(log, "w") as f:
            f.writelines(other)
        try:
            compare_registers(tools, target, trace, log)
        except Failure:
            continue
        raise Failure("line %d of the witness was altered, but not noticed: %s" % (i, lines[i]))
    return "; alterations were noticed"


def address_of(target, path, symbol):
    nm = TARGETS[target].tool("nm")
    for line in subprocess.run([nm, path], capture_output=True, text=True).stdout.splitlines():
        word = line.split()
        if len(word) == 3 and word[2] == symbol:
            return int(word[0], 16)
    raise Failure("%s has no symbol %s" % (path, symbol))


def run_gdb(tools, target, name, guest, folder, path, steps):
    """The first steps of a run, and as many from main on."""
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "gdb-%s-%s.ctr" % (target, name))
    log = trace + ".log"
    common.record(tools, trace, guest, environment, folder, options=("--events", "reg"))
    main = address_of(target, path, "main")
    said = []
    for start, options in ((None, ()), (main, ("--from", hex(main)))):
        with open(log, "w") as out:
            n = gdbstep.run(guest, target, out, start, steps, environment, folder)
        if n < min(steps, 1000):
            raise Failure("the debugger found %d steps only" % n)
        said.append(compare_registers(tools, target, trace, log, "--steps", "--limit", str(n),
                                      *options))
    common.drop_file(trace)
    common.drop_file(log)
    return "; ".join(re.sub(r"; found.*", "", s) for s in said)
