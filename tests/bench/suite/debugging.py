# SPDX-License-Identifier: MIT
"""What gdb waits for on a trace: the first stop, steps, and places far back; and how long
tracediff takes with recordings that are equal, and with others."""
import os
import random
import re
import subprocess
import sys
import time

from . import traces
from .children import BenchError
from .queries import row

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
from gdbremote import Connection  # noqa: E402

EVENTS = "all"
PLACES, STEPS = 20, 1000
BACK = 300  # more than tracegdb reads at once
COMPARED = "exec,mem,map,thr"


class Gdb:
    """A connection to a tracegdb on a trace."""

    def __init__(self, context, trace):
        self.children = context.children
        self.process = self.children.start([context.tool("tracegdb"), "-q", trace.path],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.connection = Connection(process=self.process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.children.end(self.process)

    def seconds(self, *requests):
        begin = time.monotonic()
        for request in requests:
            self.request(request)
        return time.monotonic() - begin

    def request(self, text):
        try:
            answer = self.connection.request(text)
        except (EOFError, OSError) as e:
            raise BenchError("tracegdb: %s" % e) from e
        if answer.startswith(b"E"):
            raise BenchError("tracegdb: %s: %s" % (text, answer.decode()))
        return answer

    def go_to(self, ordinal):
        self.connection.monitor("goto %d" % ordinal)
        return self.request("?")

    def pc(self, order):
        """The first register that comes with a stop."""
        digits = re.search(rb"(?<=;)[0-9a-f]+:([0-9a-f]+);", self.request("?"))[1]
        return int.from_bytes(bytes.fromhex(digits.decode()), order)


def attach(context, trace):
    begin = time.monotonic()
    with Gdb(context, trace) as gdb:
        gdb.request("qSupported:swbreak+")
        gdb.request("?")
        return time.monotonic() - begin


def sessions(context, trace):
    """Results for one trace, ready for JSON."""
    insns = trace.info["threads"][0]["instructions"]
    chosen, order = random.Random(1), "big" if trace.info["big_endian"] else "little"
    rows = [row("gdb: attach", (attach(context, trace) for _ in range(2 * context.runs)))]
    steps, back, far = [], [], []
    with Gdb(context, trace) as gdb:
        for _ in range(PLACES):
            gdb.go_to(chosen.randrange(insns))
            steps.append(gdb.seconds(*["vCont;s"] * min(STEPS, insns // 2)))
        for _ in range(PLACES):
            gdb.go_to(chosen.randrange(1, insns))
            back.append(max(gdb.seconds("bs", "g") for _ in range(BACK)))
        for _ in range(PLACES):
            begin, end = sorted(chosen.sample(range(insns), 2))
            gdb.go_to(begin)
            point = "0,%x,1" % gdb.pc(order)
            gdb.go_to(end)
            gdb.request("Z" + point)
            far.append(gdb.seconds("bc"))
            gdb.request("z" + point)
    places = "%d places" % PLACES
    rows += [row("gdb: 1,000 steps", steps, note=places),
             row("gdb: reverse-stepi", back, note="the slowest of %d, %s" % (BACK, places)),
             row("gdb: reverse-continue to a breakpoint", far, note=places)]
    return trace.result(rows)


def differences(context, program):
    """The rows of tracediff: a program recorded twice, and once with half the input."""
    paths = [context.trace + end for end in (".a", ".b", ".half")]
    try:
        for path, scale in zip(paths, (context.scale, context.scale, context.scale / 2)):
            command = program.make(scale)
            context.children.run(context.recorder(program, command, "-e", COMPARED, "-o", path),
                                 stdin=command.stdin)
        for what, other in (("tracediff: two recordings", paths[1]),
                            ("tracediff: half the input", paths[2])):
            line = [context.tool("tracediff"), "-q", "--json", paths[0], other]
            took = [context.children.run(line, watch=True, allowed=(0, 1))
                    for _ in range(context.runs)]
            yield row(what, (t.wall for t in took), max(t.peak for t in took))
    finally:
        for path in filter(os.path.exists, paths):
            os.remove(path)


def measure(context, program):
    """Results for one program, ready for JSON."""
    with traces.recorded(context, program, EVENTS) as trace:
        result = sessions(context, trace)
    result["rows"] += differences(context, program)
    return result
