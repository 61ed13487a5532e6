# SPDX-License-Identifier: MIT
"""What a recording prints on a terminal, see record-terminal.sh.

usage: record_terminal.py CANNOLI-RECORD QEMU-DIR

Each case runs `talk' on a pseudo terminal.  What arrives there is compared with what the
program alone prints, and what a user then sees with what a small terminal makes of it.  All
cases run at the same time, because most of them have to wait for more than the second that
passes before the first progress.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from terminal import END, lead

RECORD, QEMU_DIR = sys.argv[1:]
QEMU = os.path.join(QEMU_DIR, "qemu-x86_64")
ROWS, COLUMNS = 8, 70
PATIENCE = 300
SUMMARY = rb"cannoli-record: [0-9,]+ instructions[^\r\n]*; [^\r\n]*\r\n"
DRAWN = rb".* M instructions, .*\x1b8"


class Screen:
    """A terminal of few lines, with the functions that the recorder uses."""

    def __init__(self):
        self.rows = [[" "] * COLUMNS for _ in range(ROWS)]
        self.y = self.x = 0
        self.saved = (0, 0)

    def down(self):
        if self.y == ROWS - 1:
            self.rows = self.rows[1:] + [[" "] * COLUMNS]
        else:
            self.y += 1

    def put(self, char):
        if self.x == COLUMNS:
            self.x = 0
            self.down()
        self.rows[self.y][self.x] = char
        self.x += 1

    def escape(self, code):
        if code == "D":
            self.down()
        elif code == "M":
            assert self.y > 0, "a reverse line feed at the top"
            self.y -= 1
        elif code == "7":
            self.saved = (self.y, self.x)
        elif code == "8":
            self.y, self.x = self.saved
        elif code == "[G":
            self.x = 0
        elif code == "[J":
            self.rows[self.y][self.x:] = [" "] * (COLUMNS - self.x)
            for y in range(self.y + 1, ROWS):
                self.rows[y] = [" "] * COLUMNS
        else:
            raise AssertionError("an unknown escape sequence: %r" % code)

    def feed(self, data):
        for code, char in re.findall(r"\x1b(\[?.)|([^\x1b])", data.decode(), re.S):
            if code:
                self.escape(code)
            elif char == "\r":
                self.x = 0
            elif char == "\n":
                self.down()
            elif char == "\b":
                self.x = max(0, min(self.x, COLUMNS - 1) - 1)
            else:
                self.put(char)
        return self

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.rows).rstrip("\n")


class Case:
    """One run of talk with these steps, without a recorder if options is None.

    The streams named in `elsewhere' are not the terminal: stdin and stderr are pipes then,
    stdout is a file.  `dialogue' are pairs: when what arrived matches the first of them, the
    second is typed, or called.
    """

    def __init__(self, name, steps, options=None, elsewhere="", dialogue=()):
        self.name, self.out, self.err = name, b"", b""
        self.dialogue = list(dialogue)
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        command = [QEMU, "talk", *steps]
        if options is not None:
            trace = [] if "-o" in options else ["-o", name + ".ctr"]
            command = [RECORD, *trace, "-e", "exec", *options, "--", *command]

        from_leader, report = os.pipe()
        read, self.to_leader = os.pipe()

        def terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            lead(report, read)

        self.process = subprocess.Popen(
            command, preexec_fn=terminal, env={**os.environ, "TERM": "xterm"},
            stdin=subprocess.PIPE if "stdin" in elsewhere else slave,
            stdout=open(name + ".out", "wb") if "stdout" in elsewhere else slave,
            stderr=subprocess.PIPE if "stderr" in elsewhere else slave)
        for fd in slave, report, read:
            os.close(fd)
        self.reports = os.fdopen(from_leader)
        self.pid = int(self.reports.readline())
        self.inputs = {self.master: "out"}
        if self.process.stderr:
            self.inputs[self.process.stderr.fileno()] = "err"

    def respond(self):
        if not self.dialogue or not re.search(self.dialogue[0][0], self.out + self.err, re.S):
            return
        reply = self.dialogue.pop(0)[1]
        if callable(reply):
            reply(self)
            return
        self.at_reply = self.out
        os.write(self.process.stdin.fileno() if self.process.stdin else self.master, reply)

    def feed(self, fd):
        data = os.read(fd, 65536)
        if not data:
            del self.inputs[fd]
        elif self.inputs[fd] == "out":
            self.out += data
            if self.out.endswith(END):
                self.out = self.out[:-len(END)]
                del self.inputs[fd]
        else:
            self.err += data
        self.respond()


def run(cases):
    end = time.monotonic() + PATIENCE
    while any(c.inputs for c in cases):
        fds = {fd: c for c in cases for fd in c.inputs}
        ready = select.select(list(fds), [], [], max(0, end - time.monotonic()))[0]
        if not ready:
            for c in cases:
                if c.inputs:
                    os.kill(c.pid, signal.SIGKILL)
            sys.exit("no end: %s" % [(c.name, c.out, c.err) for c in cases if c.inputs])
        for fd in ready:
            fds[fd].feed(fd)
    for c in cases:
        c.status = int(c.reports.readline())
        os.close(c.to_leader)
        c.process.wait()


FAILED = []


def check(case, ok, what):
    if not ok or case.status:
        FAILED.append(case.name)
        print("%s: %s: status %d, %r %r" % (case.name, what, case.status, case.out, case.err),
              file=sys.stderr)


def is_own_line(case, text):
    """The program's text as it is, then, on a line of its own, the one that sums up."""
    between = b"" if not text or text.endswith(b"\n") else b"\n\r"
    check(case, re.fullmatch(re.escape(text + between) + SUMMARY, case.out, re.S),
          "not the program's text and the last line")


# Lines that the program printed first, with what they left of the progress before them
ABOVE = r"(?:[0-9][^\n]*\n)*"


def is_drawn_below(case, before):
    """With the progress below the text, which is the end of what was on the screen."""
    text = Screen().feed(case.at_reply).text()
    check(case, re.fullmatch(ABOVE + re.escape(before) + r"\n\[[0-9.]+ s, [^\n]*", text),
          "not below the program's text: %r" % text)


def leaves(case, pattern):
    """What remains on the screen; the last line has several rows."""
    text = Screen().feed(case.out).text()
    check(case, re.fullmatch(ABOVE + pattern + r"cannoli-record: [0-9,]+ instr.*", text,
                             re.S), "left on the screen: %r" % text)


def quiet_cases():
    """Nothing is printed before the end."""
    steps = ["name? ", "1300", "read", "half ", "300", "end\n"]
    anna = [(rb"name\? ", b"anna\n")]
    text = b"name? anna\r\ngot anna\r\nhalf end\r\n"
    plain = Case("plain", steps, None, "", anna)
    recorded = Case("recorded", steps, [], "", anna)
    quiet = [Case("quiet", steps, ["-q"], "", anna),
             Case("quiet-wins", steps, ["--progress", "-q"], "", anna)]
    half_quiet = Case("half-quiet", ["no end"], ["-q"])
    half_failed = Case("half-failed", ["no end"], ["--range", "0x1-0x2"])
    others = [
        (Case("half", ["no end"], []), b"no end"),
        (Case("input", ["!name? ", "1300", "read"], [], "stdout", anna), b"name? anna\r\n"),
        (Case("output", ["half ", "1300", "end\n"], [], "stdin"), b"half end\r\n"),
        (Case("to-stderr", ["half ", "1300", "end\n"], ["-o", "-"], "stdin stdout"),
         b"half end\r\n")]
    password = Case("password", ["noecho", "name? ", "1300", "read"], ["--progress"], "", anna)

    def verify():
        check(plain, plain.out == text, "the program alone")
        for case, want in [(recorded, text), *others]:
            is_own_line(case, want)
        for case in quiet:
            check(case, case.out == text, "not silent")
        check(half_quiet, half_quiet.out == b"no end", "not silent")
        check(half_failed, re.fullmatch(rb"no end\n\rcannoli-record: no instruction [^\n]*\n",
                                        half_failed.out), "not on a line of its own")
        # before that there may be progress
        check(password, re.search(rb"name\? got anna\r\n *\r?" + SUMMARY + rb"$", password.out),
              "progress while a password is typed")
    return ([plain, recorded, *quiet, half_quiet, half_failed, password, *(c for c, _ in others)],
            verify)


def drawn_cases():
    """There is progress."""
    go = [(DRAWN, b"go\n")]
    default = Case("default", ["!1\n", "!working ", "typed"], [], "stdin stdout",
                   [(rb"working " + DRAWN, b"go\n")])
    nothing = Case("nothing", ["typed"], [], "stdin stdout", go)
    bottom = Case("bottom", ["1\n2\n3\n4\n5\n6\n7\n8\n9\n", "name? ", "typed", "read"],
                  ["--progress"], "", [(rb"name\? " + DRAWN, b"go\n")])
    lines = Case("lines", ["typed"], ["--progress"], "stdin stderr",
                 [(rb" M instructions, [^\n]*\n", b"go\n")])

    def verify():
        is_drawn_below(default, "working")
        is_drawn_below(nothing, "")
        is_drawn_below(bottom, "9\nname?")
        leaves(default, "working\n")
        leaves(nothing, "")
        # What the program prints onto the progress's line leaves a part of that.
        leaves(bottom, r"9\nname\? go\ngot go[^\n]*\n")
        check(lines, lines.out == b"" and re.fullmatch(
            rb"(cannoli-record: \[[0-9.]+ s, [^\n]* M instructions, [^\n]*\]\n)+" +
            SUMMARY.replace(rb"\r\n", rb"\n"), lines.err), "not lines")
    return [default, nothing, bottom, lines], verify


def message_cases():
    """A message in the middle, which a signal requests."""
    dump = Case("dump", ["name? ", "read"], ["--ring", "1M"], "", [
        (rb"name\? ", lambda c: os.kill(c.pid, signal.SIGUSR2)),
        (rb"dump\.ctr\.1'\r\n", b"anna\n")])

    def verify():
        check(dump, re.fullmatch(
            rb"name\? \n\rcannoli-record: what was kept is in 'dump\.ctr\.1'\r\n"
            rb"anna\r\ngot anna\r\n" + SUMMARY, dump.out), "a message in between")
    return [dump], verify


def main():
    groups = [quiet_cases(), drawn_cases(), message_cases()]
    run([case for cases, _ in groups for case in cases])
    for _, verify in groups:
        verify()
    sys.exit(bool(FAILED))


main()
