# SPDX-License-Identifier: MIT
"""QEMU's log of registers before each instruction (-one-insn-per-tb -d exec,cpu,fpu,nochain),
for targets whose registers QEMU's plugins do not see: mips, mipsel, mips64el."""
import itertools
import re

OPTIONS = ["-d", "exec,cpu,fpu,nochain"]
# How a line begins, and the registers in it
LINES = [("pc=", re.compile(r"(HI|LO)=0x(\w+)")), ("GPR", re.compile(r"(\w\w) (\w{8}|\w{16})\b")),
         ("CP0 ", re.compile(r"(Status|Cause) +0x(\w+)")), ("CP1 ", re.compile(r"FC(R31) 0x(\w+)"))]
NAMES = {"r31": "fcsr"}
FLOAT = re.compile(r" ?f(\d+): w:\w+ d:(\w{8})(\w{8})")


def registers_of(line):
    """Of floating-point registers a pair, as they are with Status.FR 0."""
    pair = FLOAT.match(line)
    if pair:
        number = int(pair[1])
        return [("f%d" % number, pair[3]), ("f%d" % (number + 1), pair[2])]
    for begin, pattern in LINES:
        if line.startswith(begin):
            found = ((name.lower(), value) for name, value in pattern.findall(line))
            return [(NAMES.get(name, name), value) for name, value in found if name != "r0"]
    return []


def states(log):
    """The lines of the state before each instruction that is executed, its pc in the first."""
    state = None
    for line in log:
        if line.startswith("Trace"):
            if state:
                yield state
            state = []
        elif line.startswith("Stopped execution"):
            state = None
        elif state is not None:
            state.append(line)
    if state:
        yield state


def as_execlog(log, out, most=None):
    """Writes the lines that the plugin execlog would, with the registers that each
    instruction changed; at most so many."""
    last, known = None, {}
    for state in itertools.islice(states(log), most):
        changes = []
        for line in state if last is None else set(state).difference(last):
            changes += [(name, value) for name, value in registers_of(line) if known.get(name) != value]
        known.update(changes)
        if last is not None:
            out.write("".join(", %s -> 0x%s" % change for change in changes) + "\n")
        out.write('0, %s, 0x0, ""' % state[0].split()[0].replace("pc=", ""))
        last = state
    out.write("\n")
