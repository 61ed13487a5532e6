# SPDX-License-Identifier: MIT
"""Jitter libraries in machines.

library    one that decides by the privilege: what is recorded is what a whole recording shows
           with --user; one that decides by the vCPU: what is recorded is what the vCPUs that it
           chooses ran, of code that all of them run, as QEMU's log has it (where a program has
           several)
"""
import json
import os

import common
import machines
from common import Failure

NAMES = {target: ["library"] for target in machines.MACHINES}
# Records what odd vCPUs do; with the argument "shared", without translations of their own; with
# "users" what code without privileges does.
LIBRARY = r"""
#include <string.h>
#include "cannoli/events.h"
#include "cannoli/jitter.h"
static int users;
static int load(const struct cannoli_host *host, const char *args, void **state)
{
    (void)state;
    users = !strcmp(args, "users");
    if (users || !strcmp(args, "shared")) {
        return 0;
    }
    if (host->version < 4 || !host->per_vcpu()) {
        host->error("no translations of each vCPU");
        return 1;
    }
    return 0;
}
static int odd(void *state, const struct cannoli_insn *insn)
{
    (void)state;
    if (users) {
        return CTR_PRIVILEGE_USERS & 1u << insn->privilege ? CANNOLI_ALWAYS : CANNOLI_NEVER;
    }
    return insn->vcpu & 1 ? CANNOLI_ALWAYS : CANNOLI_NEVER;
}
const struct cannoli_jitter cannoli_jitter = {
    CANNOLI_JITTER_HEADER, "odd", .load = load, .hook_inst = odd,
};
"""


def build(tools):
    source = os.path.join(tools.work, "odd.%d.c" % os.getpid())
    with open(source, "w", encoding="ascii") as f:
        f.write(LIBRARY)
    out = source[:-1] + "so"
    common.compile_library(out, source, "-I" + os.path.join(common.ROOT, "include"))
    common.drop_file(source)
    return out


def by_vcpu(ran):
    """The pcs of each vCPU."""
    pcs = {}
    for vcpu, pc in ran:
        pcs.setdefault(vcpu, []).append(pc)
    return pcs


def recorded(tools, target, library):
    trace, command, _ = machines.record(
        tools, target, ("--events", "exec", "--jitter", library), machines.several(target),
        machines.VCPUS_PROGRAM.get(target))
    lines = common.dump_lines(tools, trace, "--events", "exec")
    ran = by_vcpu((o["tid"] - o["pid"], int(o["pc"], 16)) for o in map(json.loads, lines))
    common.drop_file(trace)
    return command, ran


def by_privilege(tools, target, path):
    trace, _, _ = machines.record(tools, target, ("--events", "exec"))
    users, others = (machines.pcs_of(tools, trace, option) for option in ("--user", "--kernel"))
    trace, _, _ = machines.record(tools, target, ("--events", "exec", "--jitter", path + ",users"))
    chosen = machines.pcs_of(tools, trace)
    common.drop_file(trace)
    if chosen != users or len(users) < 100 or len(others) < 1000:
        raise Failure("by privilege: %d instructions, with --user %d, others %d"
                      % (len(chosen), len(users), len(others)))
    return "%d instructions of users" % len(users)


def by_one_vcpu(tools, target, path):
    command, chosen = recorded(tools, target, path)
    _, none = recorded(tools, target, path + ",shared")
    if none:
        raise Failure("with shared translations, these have a vCPU: %r" % list(none))
    log = path + ".log"
    machines.run_witness([*command, *machines.several(target)], ["-d", "exec,nochain"],
                         log).communicate(timeout=common.PATIENCE)
    logged = by_vcpu(machines.order_of_log(log))
    common.drop_file(log)
    if sorted(logged) != [0, 1, 2, 3]:
        raise Failure("the log has the vCPUs %r" % sorted(logged))
    want = {vcpu: pcs for vcpu, pcs in logged.items() if vcpu & 1}
    if chosen != want:
        raise Failure("recorded are %r, in the log %r instructions of each vCPU"
                      % tuple({v: len(p) for v, p in x.items()} for x in (chosen, logged)))
    shared = set(logged[0]) & set(logged[1])
    if len(shared) < 20:
        raise Failure("the vCPUs share %d instructions" % len(shared))
    return "%d instructions of 2 vCPUs, %d of the code are run by others, too" % (
        sum(map(len, chosen.values())), len(shared))


def library(tools, target):
    path = build(tools)
    said = by_privilege(tools, target, path)
    if "vcpus" in machines.NAMES[target]:
        said += "; " + by_one_vcpu(tools, target, path)
    common.drop_file(path)
    return said


RUN = {"library": library}
