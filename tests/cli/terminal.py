#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""terminal.py [--send KEYS FILE]... [--] COMMAND...: runs a command on a terminal of its own.

Writes what the terminal shows to standard output, and ends with the command's status, 128+N
for signal N.  Each KEYS (with Python's escapes) are typed when FILE exists, in that order.
After a minute of no end the command gets SIGKILL, and the status is 99.
"""
import os
import pty
import select
import signal
import sys
import time

SECONDS = 60


def parse(args):
    keys = []
    while args and args[0] == "--send":
        keys.append((args[1].encode().decode("unicode_escape").encode(), args[2]))
        args = args[3:]
    return keys, args[1:] if args and args[0] == "--" else args


def main():
    keys, command = parse(sys.argv[1:])
    pid, terminal = pty.fork()
    if pid == 0:
        # a shell without job control may have made them ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvp(command[0], command)
    end = time.monotonic() + SECONDS
    shown = b""
    while True:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            sys.exit(99)
        if keys and os.path.exists(keys[0][1]):
            os.write(terminal, keys.pop(0)[0])
        if select.select([terminal], [], [], 0.02)[0]:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data
    status = os.waitpid(pid, 0)[1]
    sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
    sys.stdout.flush()
    if os.WIFSIGNALED(status):
        sys.exit(128 + os.WTERMSIG(status))
    sys.exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
