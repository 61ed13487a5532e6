# SPDX-License-Identifier: MIT
"""A run's states, backward and forward.

rewind  by gdb's protocol, tracegdb makes 100,000 steps forward and all of them backward, to the
        begin: the registers after each are those of the way forward, in reverse order.  The
        pcs are tracedump's, and at random places all registers are those of --state
"""
import json
import os
import random
import re
import subprocess
import time

import common
import gdbstep
import walks
from common import Failure, TARGETS

STEPS = 100000
STATES, FULL = 8, 60  # places where all registers are compared with tracedump's
LEAST = 8  # of them are compared
AT_ONCE = 200  # requests on their way
ANSWER = re.compile(rb"\$([^#]*)#..", re.S)


class Pipeline:
    """Requests that are sent before the answers to those before are there."""

    def __init__(self, stub):
        stub.request("QStartNoAckMode")
        self.socket = stub.socket
        self.socket.sendall(b"+")
        self.data = b""

    def answers(self, requests):
        """The answers, of which none has an escaped byte."""
        packets = b"".join(b"$%s#%02x" % (r, sum(r) & 255) for r in requests)
        self.socket.sendall(packets)
        out = []
        while len(out) < len(requests):
            end = 0
            for answer in ANSWER.finditer(self.data):
                out.append(answer[1])
                end = answer.end()
            self.data = self.data[end:]
            if len(out) < len(requests):
                more = self.socket.recv(1 << 20)
                if not more:
                    raise Failure("tracegdb ended")
                self.data += more
        return out

    def walk(self, request, steps):
        """Stop and registers after each of the steps."""
        seen = []
        while len(seen) < steps:
            n = min(AT_ONCE, steps - len(seen))
            answers = self.answers([request, b"g"] * n)
            seen += zip(answers[::2], answers[1::2])
        return seen


def pc_of(state, pc_at, order):
    return int.from_bytes(bytes.fromhex(state[2 * pc_at[0]:2 * pc_at[1]].decode()), order)


def check_pcs(tools, trace, states, pc_at, order):
    done = subprocess.run([tools.program("tracedump"), "--json", "--no-disas", "--no-modules",
                           "--events=exec", "--to=%d" % len(states), trace], stdout=subprocess.PIPE)
    pcs = [int(pc, 16) for pc in re.findall(rb'"pc":"(0x[0-9a-f]+)"', done.stdout)]
    if len(pcs) != len(states):
        raise Failure("tracedump has %d instructions, tracegdb %d" % (len(pcs), len(states)))
    for i, (pc, state) in enumerate(zip(pcs, states)):
        seen = pc_of(state, pc_at, order)
        if seen != pc:
            raise Failure("the pc of ordinal %d is 0x%x, of tracedump 0x%x" % (i, seen, pc))


def check_registers(tools, trace, states, layout, order, ordinals):
    """At these ordinals; the number of registers compared at the last one."""
    compared = 0
    for at in ordinals:
        done = subprocess.run([tools.program("tracedump"), "--json", "--state=%d" % at, trace],
                              stdout=subprocess.PIPE)
        values = json.loads(done.stdout.splitlines()[0])["registers"]
        compared = 0
        for name, begin, end in layout:
            text = states[at][2 * begin:2 * end].decode()
            if name not in values or "x" in text or name in gdbstep.PC_NAMES or end - begin > 8:
                continue
            compared += 1
            wide = int(values[name], 16) % (1 << 8 * (end - begin))  # of mips gdb has half of some
            if int.from_bytes(bytes.fromhex(text), order) != wide:
                raise Failure("at ordinal %d %s is %s, of tracedump %s" % (at, name, text, values[name]))
        if compared < LEAST:
            raise Failure("only %d registers are compared: %s" % (compared, sorted(values)))
    return compared


def check_reverse(forward, backward):
    for i, (state, (stop, seen)) in enumerate(zip(forward[-2::-1], backward)):
        if state != seen or b"replaylog" in stop:
            raise Failure("after %d steps backward: %r, registers %r, forward %r" % (
                i + 1, stop, seen, state))


def run(tools, target, name, guest, folder, full):
    guest, environment = common.equal_runs(tools, guest)
    trace = os.path.join(tools.work, "rewind-%s-%s.ctr" % (target, name))
    common.record(tools, trace, guest, environment, folder, options=("--events", "all"))
    order = "big" if TARGETS[target].big_endian else "little"
    with gdbstep.listening([tools.program("tracegdb"), "-q"], trace) as stub:
        stepper = gdbstep.Stepper(stub, TARGETS[target].qemu)
        pipeline = Pipeline(stub)
        begin = time.monotonic()
        first, = pipeline.answers([b"g"])
        ahead = pipeline.walk(b"vCont;s", STEPS)
        states = [first, *(state for _, state in ahead)]
        met = states
        if target in ("mips", "mipsel"):
            met = [state for _, state in walks.without_slots(
                [(pc_of(state, stepper.pc_at, order), state) for state in states])]
        middle = time.monotonic()
        back = pipeline.walk(b"bs", len(met) - 1)
        end = time.monotonic()
        beyond, = pipeline.answers([b"bs"])
    ends = [stop for stop, _ in ahead if b"replaylog" in stop or not stop.startswith(b"T")]
    if ends:
        raise Failure("the run is too short: %r" % ends[0])
    check_reverse(met, back)
    if b"replaylog:begin" not in beyond:
        raise Failure("before the first instruction: %r" % beyond)
    check_pcs(tools, trace, states, stepper.pc_at, order)
    rng = random.Random(name + target)
    compared = check_registers(tools, trace, states, stepper.layout, order,
                               sorted(rng.sample(range(STEPS), FULL if full else STATES)))
    common.drop_file(trace)
    return "%d steps forward (%.0f a second) and backward (%.0f); %d registers are tracedump's" % (
        STEPS, STEPS / (middle - begin), len(back) / (end - middle), compared)
