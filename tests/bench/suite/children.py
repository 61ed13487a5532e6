# SPDX-License-Identifier: MIT
"""Runs the measured programs, and ends them when the user interrupts.

Each child leads a process group of its own, which contains what it starts
(the recorder its QEMU), so that ending the group ends exactly these.
The first SIGINT, SIGTERM or SIGHUP raises Interrupted in the main program; during the
start of a child the signal waits until the child's process id is known.
"""
import os
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class BenchError(Exception):
    """An error; the text is for the user."""


class Interrupted(BaseException):
    def __init__(self, signum):
        super().__init__(signum)
        self.signum = signum


@dataclass(frozen=True)
class Run:
    """Wall-clock seconds, user and system seconds of the child and its children, peak
    resident MiB (0 if not watched), its output (None if not kept)."""
    wall: float
    cpu: float
    peak: float
    output: bytes


class Children:
    """Starts one child at a time; a second one may run beside it."""

    def __init__(self):
        self._starting = False
        self._pending = 0

    def catch_signals(self):
        for signum in SIGNALS:
            signal.signal(signum, self._on_signal)

    def _on_signal(self, signum, _frame):
        # a second signal must not keep us from ending children and removing files
        for other in SIGNALS:
            signal.signal(other, signal.SIG_IGN)
        if self._starting:
            self._pending = signum
        else:
            raise Interrupted(signum)

    def start(self, command, **options):
        """A Popen; pass it to `end` whatever happens."""
        self._starting = True
        try:
            child = subprocess.Popen(command, process_group=0, **options)
        except OSError as e:
            raise BenchError("%s: %s" % (command[0], e.strerror)) from e
        finally:
            self._starting = False
        if self._pending:
            self.end(child)
            raise Interrupted(self._pending)
        return child

    def end(self, child):
        """Ends the child and what it started, if still running."""
        if child.returncode is not None:
            return
        for signum in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(child.pid, signum)
            except ProcessLookupError:
                pass
            try:
                child.wait(3)
                break
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def run(self, command, stdin=None, stdout=None, watch=False, keep_output=False, env=None,
            allowed=(0,)):
        """Runs to the end and measures; stdin and stdout are paths (default /dev/null).

        watch: read the peak of resident memory, every 5 ms.  It is the child's own;
        rusage includes what this process had at the fork.  allowed: statuses that are no
        failure.
        """
        peak = 0
        with (open(stdin or os.devnull, "rb") as source, tempfile.TemporaryFile() as errors,
              tempfile.TemporaryFile() if keep_output else
              open(stdout or os.devnull, "wb") as sink):
            begin = time.monotonic()
            child = self.start(command, stdin=source, stdout=sink, stderr=errors, env=env)
            try:
                if watch:
                    peak = self._watch(child)
                _, status, usage = os.wait4(child.pid, 0)
                wall = time.monotonic() - begin
                child.returncode = os.waitstatus_to_exitcode(status)
            finally:
                self.end(child)
            output = None
            if keep_output:
                sink.seek(0)
                output = sink.read()
            if child.returncode not in allowed:
                errors.seek(0)
                said = errors.read(4000).decode(errors="replace").strip()
                raise BenchError("%s: status %d%s" % (
                    " ".join(command), child.returncode, said and ": " + said))
        return Run(wall, usage.ru_utime + usage.ru_stime, peak, output)

    @staticmethod
    def _watch(child):
        peak = 0
        poll = select.poll()
        pidfd = os.pidfd_open(child.pid)
        try:
            poll.register(pidfd, select.POLLIN)
            while not poll.poll(5):
                with open("/proc/%d/status" % child.pid, encoding="ascii", errors="replace") as f:
                    peak = max([peak] + [int(l.split()[1]) for l in f if l.startswith("VmHWM")])
        finally:
            os.close(pidfd)
        return peak / 1024

    def run_beside(self, neighbour, command, stdin=None):
        """Runs to the end and measures, beside an endless command."""
        other = self.start(neighbour, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        try:
            done = self.run(command, stdin=stdin)
            if other.poll() is not None:
                raise BenchError("%s: it ended" % " ".join(neighbour))
            return done
        finally:
            self.end(other)

    def first_lines(self, command, lines):
        """Runs `command | head`: until that many lines came, and the command has ended."""
        begin = time.monotonic()
        child = self.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
        try:
            for _ in range(lines):
                if not child.stdout.readline():
                    break
            child.stdout.close()
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.monotonic() - begin
            child.returncode = os.waitstatus_to_exitcode(status)
        finally:
            self.end(child)
        return Run(wall, usage.ru_utime + usage.ru_stime, 0, None)
