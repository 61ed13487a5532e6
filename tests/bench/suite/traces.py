# SPDX-License-Identifier: MIT
"""The trace for reading and queries: recorded from a program, or the user's own."""
import os
from contextlib import contextmanager
from dataclasses import dataclass

EVENTS = "exec,mem,map,thr"


@dataclass(frozen=True)
class Trace:
    """options: what tools need to find the trace's programs."""
    name: str
    path: str
    info: dict
    options: tuple = ()

    @property
    def insns(self):
        return self.info["instructions"]

    def result(self, rows):
        """The results of the reading parts, ready for JSON."""
        return {"program": self.name, "instructions": self.insns, "chunks": self.info["chunks"],
                "bytes": os.path.getsize(self.path), "events": ",".join(self.info["events"]),
                "rows": rows}


def given(context, path):
    return Trace(os.path.basename(path), path, context.info(path))


@contextmanager
def recorded(context, program, events=EVENTS):
    """The trace of a program, removed at the end."""
    command, path = program.make(context.scale), context.trace
    context.children.run(context.recorder(program, command, "-e", events, "-o", path),
                         stdin=command.stdin)
    try:
        yield Trace(program.name, path, context.info(path),
                    ("--sysroot", program.sysroot) if program.sysroot else ())
    finally:
        os.remove(path)
