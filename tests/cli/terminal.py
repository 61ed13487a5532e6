#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""terminal.py [--send KEYS FILE]... [--] COMMAND...: runs a command on a terminal of its own.

Writes what the terminal shows to standard output, and ends with the command's status, 128+N
for signal N.  Each KEYS (with Python's escapes) are typed when FILE exists, in that order.
After a minute of no end the command gets SIGKILL, and the status is 99.

The command is not the leader of the terminal's session: when a leader ends, the kernel throws
away what nobody has read yet.  The leader marks the end of the command's output instead.
"""
import os
import pty
import select
import signal
import sys
import time

SECONDS = 60
END = b"\x1cend of the command\x1c"


def parse(args):
    keys = []
    while args and args[0] == "--send":
        keys.append((args[1].encode().decode("unicode_escape").encode(), args[2]))
        args = args[3:]
    return keys, args[1:] if args and args[0] == "--" else args


def lead(report, read):
    """Forks a leader of the session from the process whose terminal this is, and returns in its
    child, which is to execute the command.  The leader writes the child's process id and its
    wait status, a line each, to the pipe `report', and stays until the pipe `read' ends."""
    pid = os.fork()
    if pid == 0:
        # a shell without job control may have made them ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        return
    for ignored in signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTOU, signal.SIGHUP:
        signal.signal(ignored, signal.SIG_IGN)
    terminal = os.open("/dev/tty", os.O_WRONLY)
    own = sorted([report, read, terminal])
    for first, after in zip([-1, *own], [*own, os.sysconf("SC_OPEN_MAX")]):
        os.closerange(first + 1, after)
    os.write(report, b"%d\n" % pid)
    status = os.waitpid(pid, 0)[1]
    os.write(terminal, END)
    os.write(report, b"%d\n" % status)
    os.read(read, 1)
    os._exit(0)


def main():
    keys, command = parse(sys.argv[1:])
    from_leader, report = os.pipe()
    read, to_leader = os.pipe()
    leader, terminal = pty.fork()
    if leader == 0:
        lead(report, read)
        os.execvp(command[0], command)
    os.close(report)
    os.close(read)
    with os.fdopen(from_leader) as reports:
        pid = int(reports.readline())
        end = time.monotonic() + SECONDS
        shown = b""
        while END not in shown:
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
                sys.exit(99)
            if keys and os.path.exists(keys[0][1]):
                os.write(terminal, keys.pop(0)[0])
            if select.select([terminal], [], [], 0.02)[0]:
                shown += os.read(terminal, 65536)
        status = int(reports.readline())
    os.close(to_leader)
    os.waitpid(leader, 0)
    sys.stdout.buffer.write(shown.split(END)[0].replace(b"\r\n", b"\n"))
    sys.stdout.flush()
    if os.WIFSIGNALED(status):
        sys.exit(128 + os.WTERMSIG(status))
    sys.exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
