# SPDX-License-Identifier: MIT
"""The benefit of workers: the encoder alone, on recorded events, and whole
recordings, with one worker and with one for each processor."""
import os
import re

from .children import BenchError
from .reading import Rows, jobs_here

# Few enough chunks to encode each many times in that time
SECONDS, CHUNKS = "0.5", "16"


def encoder(context, trace, rows):
    """One round of encode_bench: threads with an encoder and chunks of their own."""
    jobs = jobs_here()
    done = context.children.run([context.tool("encode_bench"), "-s", SECONDS, "-c", CHUNKS,
                                 "-t", str(jobs[-1]), trace.path], keep_output=True)
    found = re.findall(r"(\d+) thread\S* +([\d.]+) M instructions a second of a core, ([\d.]+) "
                       r"cores", done.output.decode())
    if not found:
        raise BenchError("encode_bench printed something else than was expected")
    for threads, speed, cores in found:
        if int(threads) in jobs and float(speed) > 0 and float(cores) > 0:
            cpu = trace.insns / 1e6 / float(speed)
            rows.add("encoder alone, exec,mem", int(threads), trace.insns, cpu / float(cores), cpu)


def measure(context, program, trace):
    """Results for one program, ready for JSON."""
    rows = Rows()
    command = program.make(context.scale)
    out = os.path.join(context.tmp, "again.ctr")
    for _ in range(context.runs):
        if os.access(context.tool("encode_bench"), os.X_OK):
            encoder(context, trace, rows)
        for events in "exec", "exec,mem", "exec,mem,val":
            for jobs in jobs_here():
                took = context.children.run(
                    context.recorder(program, command, "-j", str(jobs), "-e", events, "-o", out),
                    stdin=command.stdin)
                rows.add("recording, " + events, jobs, trace.insns, took.wall, took.cpu)
    os.remove(out)
    return trace.result(rows.to_json())
