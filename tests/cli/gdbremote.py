# SPDX-License-Identifier: MIT
"""A client of gdb's remote protocol, for tests of tracegdb."""
import os
import subprocess

BIN = os.environ.get("BIN", "")


def packet(data):
    return b"$%s#%02x" % (data, sum(data) & 0xff)


class Connection:
    """Packets to a tracegdb of its own, or to a process with pipes."""

    def __init__(self, *args, process=None):
        self.process = process or subprocess.Popen([BIN + "/tracegdb", *args], stdin=subprocess.PIPE,
                                                   stdout=subprocess.PIPE)
        self.rest = b""

    def byte(self):
        if not self.rest:
            self.rest = os.read(self.process.stdout.fileno(), 65536)
            if not self.rest:
                raise EOFError("tracegdb ended: %r" % self.process.wait())
        first, self.rest = self.rest[:1], self.rest[1:]
        return first

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self):
        while self.byte() != b"$":
            pass
        data = b""
        while (c := self.byte()) != b"#":
            data += bytes([self.byte()[0] ^ 0x20]) if c == b"}" else c
        self.byte(), self.byte()
        self.send(b"+")
        return data

    def request(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        self.send(packet(data))
        return self.receive()

    def monitor(self, command):
        return bytes.fromhex(self.request("qRcmd," + command.encode().hex()).decode()).decode()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait()


def place(gdb):
    """(tid, ordinal)"""
    words = gdb.monitor("where").replace(",", "").split()
    return int(words[1]), int(words[3])
