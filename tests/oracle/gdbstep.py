#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Steps through a guest program in QEMU's gdbstub and prints its registers.

  gdbstep.py [--from SYMBOL_ADDRESS] [--limit N] [--out FILE] -- QEMU [OPTION].. PROGRAM [ARG]..

One line an instruction, in the format of QEMU's execlog plugin:

  0, 0xPC, 0xCODE, "", NAME -> 0xVALUE, ..

with the registers that the instruction (and the system after it) changed; the
first line has all.  A repeated x86 string instruction stops after each round;
all rounds are one line.  A step over a system call includes the next instruction
on most targets, and nothing stops between an exclusive load and its store (it would
always fail): oracle-registers --steps handles that.  The remote protocol is that of gdb's
manual, "GDB Remote Serial Protocol"; the printed registers are those of the `g' packet,
named by the target description, or, where QEMU has none, by MIPS_NAMES.
"""
import argparse
import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

import common
from common import TARGETS

# The order of gdb's own description of mips, which QEMU's `g' packet has.
MIPS_NAMES = (["zero", "at", "v0", "v1", "a0", "a1", "a2", "a3"] + ["t%d" % i for i in range(8)]
              + ["s%d" % i for i in range(8)] + ["t8", "t9", "k0", "k1", "gp", "sp", "s8", "ra",
                                                 "sr", "lo", "hi", "badvaddr", "cause", "pc"]
              + ["f%d" % i for i in range(32)] + ["fcsr", "fir"])
PC_NAMES = ("pc", "rip", "eip", "pswa")


class Stub:
    """The needed part of the remote protocol."""

    def __init__(self, path, process, timeout=common.PATIENCE):
        self.data = b""
        self.ack = b""
        deadline = time.monotonic() + timeout
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("no gdbstub at %s" % path)
                time.sleep(0.01)
        self.socket.settimeout(timeout)
        self.request("qSupported")

    def packet(self):
        while True:
            at = self.data.find(b"$")
            end = self.data.find(b"#", at + 1)
            if at >= 0 and end >= 0 and len(self.data) >= end + 3:
                body, self.data = self.data[at + 1:end], self.data[end + 3:]
                self.ack = b"+"
                return body
            more = self.socket.recv(65536)
            if not more:
                raise EOFError
            self.data += more

    def send(self, text):
        body = text.encode()
        self.socket.sendall(self.ack + b"$" + body + b"#%02x" % (sum(body) & 255))

    def request(self, text):
        self.send(text)
        return self.packet()

    def read_object(self, name):
        out = b""
        while True:
            part = self.request("qXfer:features:read:%s:%x,%x" % (name, len(out), 4000))
            if not part or part[:1] not in (b"m", b"l"):
                return None
            plain, escaped = bytearray(), False
            for byte in part[1:]:
                if escaped:
                    plain.append(byte ^ 0x20)
                    escaped = False
                elif byte == 0x7d:
                    escaped = True
                else:
                    plain.append(byte)
            out += plain
            if part[:1] == b"l":
                return out

    def registers(self):
        """[(name, bytes)] in the order of register numbers, or None."""
        numbered = {}
        number = 0
        main = self.read_object("target.xml")
        if not main:
            return None
        parts = [main]
        while parts:
            text = re.sub(r"<!--.*?-->", "", parts.pop(0).decode(), flags=re.S)
            for tag in re.findall(r"<(?:xi:include|reg) [^>]*>", text):
                attribute = dict(re.findall(r'(\w+)="([^"]*)"', tag))
                if "href" in attribute:
                    parts.append(self.read_object(attribute["href"]))
                    continue
                number = int(attribute.get("regnum", number))
                numbered[number] = (attribute["name"].lower(), int(attribute["bitsize"]) // 8)
                number += 1
        return [numbered[i] for i in sorted(numbered)]


def exclusive(machine, word):
    """"load" or "store" if this instruction is one of an exclusive pair, else None."""
    if machine == "aarch64" and word & 0x3f000000 == 0x08000000 and not word >> 23 & 1:
        return "load" if word >> 22 & 1 else "store"
    if machine == "arm" and word & 0x0f800ff0 == 0x01800f90:
        return "load" if word >> 20 & 1 else "store"
    if machine == "riscv64" and word & 0x7f == 0x2f and word >> 28 == 1:
        return "store" if word >> 27 & 1 else "load"
    if machine in ("mips", "mipsel", "mips64el") and word >> 26 in (0x30, 0x38, 0x34, 0x3c):
        return "store" if word >> 29 & 1 else "load"
    if machine in ("ppc64le", "ppc64", "ppc") and word >> 26 == 31:
        return {20: "load", 52: "load", 84: "load", 116: "load",
                150: "store", 214: "store", 694: "store", 726: "store"}.get(word >> 1 & 1023)
    return None


class Stepper:
    def __init__(self, stub, machine):
        self.stub = stub
        self.machine = machine
        self.big_endian = TARGETS[machine].big_endian
        self.repeats = machine in ("x86_64", "i386")
        first = self.read()
        table = stub.registers()
        if table is None:
            size = len(first) // len(MIPS_NAMES)
            table = [(name, size) for name in MIPS_NAMES]
        self.layout = []
        at = 0
        for name, size in table:
            if at + size > len(first):
                break
            self.layout.append((name, at, at + size))
            at += size
        self.pc_at = next(x[1:] for x in self.layout if x[0] in PC_NAMES)
        self.order = "big" if self.big_endian else "little"

    def read(self):
        return bytes.fromhex(self.stub.request("g").decode().replace("x", "0"))

    def number(self, data, at):
        return int.from_bytes(data[at[0]:at[1]], self.order)

    def code(self, pc, size=4):
        got = self.stub.request("m%x,%x" % (pc, size))
        return b"" if got[:1] == b"E" else bytes.fromhex(got.decode())

    def run_to(self, pc):
        if self.stub.request("Z0,%x,4" % pc) != b"OK":
            raise RuntimeError("no breakpoint")
        stop = self.stub.request("c")
        if stop[:1] != b"T":
            return None
        self.stub.request("z0,%x,4" % pc)
        return 0

    def after_exclusive(self, pc, code):
        """The pc after the store that belongs to the exclusive load at pc, or None."""
        if exclusive(self.machine, int.from_bytes(code, self.order)) != "load":
            return None
        for _ in range(16):
            pc += 2 if self.machine == "riscv64" and code[0] & 3 != 3 else 4
            code = self.code(pc)
            if exclusive(self.machine, int.from_bytes(code, self.order)) == "store":
                return pc + 4
        return None

    def step(self, signal):
        """Returns the signal with which it stopped, None at the program's end."""
        stop = self.stub.request("vCont;S%02x" % signal if signal else "s")
        if stop[:1] == b"T":
            number = int(stop[1:3], 16)
            return 0 if number == 5 else number
        return None

    def print_registers(self, out, limit):
        data = self.read()
        known = None
        signal = 0
        for count in range(limit):
            pc = self.number(data, self.pc_at)
            code = self.code(pc)
            again = self.repeats and code[:1] in (b"\xf2", b"\xf3")
            after = self.after_exclusive(pc, code)
            while True:
                if after:
                    signal = self.run_to(after)
                else:
                    signal = self.step(signal)
                if signal is None:
                    out.write('0, 0x%x, 0x0, ""\n' % pc)
                    return count + 1
                data = self.read()
                moved = self.number(data, self.pc_at) != pc
                if signal:
                    continue  # it is delivered with the instruction that it interrupted
                if moved:
                    break
                if not again:
                    signal = 5  # SIGTRAP, with which a step also ends
            changes = [", %s -> 0x%0*x" % (name, 2 * (b - a), self.number(data, (a, b)))
                       for name, a, b in self.layout
                       if name not in PC_NAMES and (known is None or known[a:b] != data[a:b])]
            out.write('0, 0x%x, 0x%s, ""%s\n' % (pc, code[::-1].hex() or "0", "".join(changes)))
            known = data
        return limit


@contextlib.contextmanager
def serving(command, environment=None, cwd=None):
    """The socket where the stub of a program that is stopped at its begin listens, and the
    process, which ends with the block."""
    with tempfile.TemporaryDirectory(prefix="gdb.") as folder:
        path = os.path.join(folder, "s")
        process = subprocess.Popen([common.SETARCH, "-R", command[0], "-g", path, *command[1:]],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=environment or {}, cwd=cwd)
        try:
            yield path, process
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def stopped(command, environment=None, cwd=None):
    """The stub of a program that is stopped at its begin; the program ends with the block."""
    with serving(command, environment, cwd) as (path, process):
        yield Stub(path, process)


@contextlib.contextmanager
def listening(command, trace):
    """The stub of a program's recording: `command' is tracegdb with its options."""
    with tempfile.TemporaryDirectory(prefix="gdb.") as folder:
        path = os.path.join(folder, "s")
        process = subprocess.Popen([*command, "--listen=" + path, trace],
                                   stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield Stub(path, process)
        finally:
            process.terminate()
            process.wait()


def run(command, machine, out, start=None, limit=1 << 62, environment=None, cwd=None):
    """Steps through a program; returns the number of printed lines."""
    with stopped(command, environment, cwd) as stub:
        stepper = Stepper(stub, machine)
        if start is not None:
            if stepper.run_to(start) is None:
                raise RuntimeError("the program does not come to 0x%x" % start)
        return stepper.print_registers(out, limit)


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--from", dest="start", type=lambda s: int(s, 0))
    ap.add_argument("--limit", type=int, default=1 << 62)
    ap.add_argument("--out", default="-")
    ap.add_argument("command", nargs="+")
    args = ap.parse_args()
    machine = os.path.basename(args.command[0]).replace("qemu-", "")
    with (sys.stdout if args.out == "-" else open(args.out, "w")) as out:
        run(args.command, machine, out, args.start, args.limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
