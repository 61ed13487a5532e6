# SPDX-License-Identifier: MIT
"""vCPUs that come and go.

hotplug    vCPUs are added while firmware runs
unplug     one is added to a Linux, works, and is taken away again
"""
import json
import os
import time

import common
import firmware
import linux
import parallel
from common import Failure, Skip
from monitor import Running
from outside import info, lines

NAMES = {"x86_64-softmmu": ["hotplug", "unplug"]}
INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
echo begin
new=/sys/devices/system/cpu/cpu1
while [ ! -e $new ]; do busybox sleep 0.1; done
echo 1 >$new/online
busybox taskset 2 sha256sum /bin/busybox
echo worked
while [ -e $new ]; do busybox sleep 0.1; done
sha256sum /bin/busybox
echo end
poweroff -f
"""
NEW = {"socket_id": 1, "core_id": 0, "thread_id": 0}


SERIAL_PORTS = 0x400  # where SeaBIOS writes down those that it finds


def wait_until(what, test):
    end = time.monotonic() + common.PATIENCE
    while not test():
        if time.monotonic() > end:
            raise Failure(what)
        time.sleep(0.05)


def has_begun(monitor):
    """SeaBIOS has copied itself to RAM: a reset while it does is its end."""
    return int(monitor.human("xp /1xh 0x%x" % SERIAL_PORTS).split(":")[1], 16) != 0


def others_halt(monitor):
    shown = monitor.human("info registers -a").split("CPU#")[2:]
    return all("HLT=1" in text and "IP=0000fff0" not in text for text in shown)


def hotplug(tools, target, full):
    """SeaBIOS starts the new vCPUs when the machine is reset, and stops them again."""
    trace = os.path.join(tools.work, "hotplug-%s.ctr" % target)
    command = firmware.command(tools, target, firmware.FIRMWARE[target][0])
    command = [w for w in command if w not in ("-no-reboot", "-monitor", "stdio")]
    command += ["-smp", "1,maxcpus=3,sockets=3,cores=1", "-monitor", "none"]
    with Running(tools, trace, command, "--events", "exec,pwr,int") as machine:
        monitor = machine.monitor
        for number in (1, 2):
            monitor.call("device_add", driver="qemu64-x86_64-cpu", id="new%d" % number,
                         **{**NEW, "socket_id": number})
        wait_until("SeaBIOS does not begin", lambda: has_begun(monitor))
        monitor.call("system_reset")
        wait_until("the new vCPUs do not run, or do not halt", lambda: others_halt(monitor))
        machine.quit()
    said = []
    for thread in info(tools, trace)["threads"][1:]:
        number = str(thread["tid"] - thread["pid"])
        events = [json.loads(line) for line in lines(tools, trace, "--events", "exec,pwr", "--cpu", number)]
        pcs = [int(e["pc"], 16) for e in events if e["kind"] == "exec"]
        if not pcs or pcs[0] % 4096 or events[-1].get("op") != "halt":
            raise Failure("vCPU %s: %d instructions, from %r to %r"
                          % (number, len(pcs), pcs[:1], events[-1:]))
        said.append("cpu%s: %d instructions from 0x%x" % (number, len(pcs), pcs[0]))
    if len(said) != 2:
        raise Failure("%d new vCPUs" % len(said))
    common.drop_file(trace)
    return "; ".join(said)


def unplug(tools, target, full):
    """With a thread for each vCPU: with one for all, QEMU waits for itself and aborts."""
    if not full:
        raise Skip("in the full run only")
    trace = os.path.join(tools.work, "unplug-%s.ctr" % target)
    console = trace + ".console"
    common.remove(console)
    command = linux.command(tools, target, parallel.CLOCK, "quiet", 1, INIT)
    command = [w for w in command if w != "-nographic"]
    command[command.index("-smp") + 1] = "1,maxcpus=2,sockets=2,cores=1"
    command += ["-display", "none", "-monitor", "none", "-serial", "file:" + console]

    def said(text):
        if machine.recorder.poll() is not None:
            raise Failure("QEMU has ended: %r" % (machine.end(),))
        if not os.path.exists(console):
            return False
        with open(console, encoding="ascii", errors="replace") as f:
            return text in f.read()

    def wait_for(text):
        wait_until("the console has no %r" % text, lambda: said(text))

    with Running(tools, trace, command, "--events", "exec,pwr,thr") as machine:
        wait_for("begin\n")
        machine.monitor.call("device_add", driver="qemu64-x86_64-cpu", id="new", **NEW)
        wait_for("worked\n")
        machine.monitor.call("device_del", id="new")
        status, error = machine.end()
    if status:
        raise Failure("status %d: %s" % (status, error))
    whole = info(tools, trace)
    if len(whole["threads"]) != 2 or whole["state"] != "complete":
        raise Failure("%d vCPUs, %s" % (len(whole["threads"]), whole["state"]))
    first, other = whole["threads"]
    insns = other["instructions"]
    last = [json.loads(line) for line in lines(tools, trace, "--events", "pwr,thr", "--cpu", "1")][-2:]
    if [(e["ordinal"], e["op"]) for e in last] != [(insns, "halt"), (insns, "end")] or insns < 10000000:
        raise Failure("the vCPU ends, after %d instructions, with %r" % (insns, last))
    if first["end"] <= other["end"]:
        raise Failure("the first vCPU ends before the other one")
    for path in (trace, console):
        common.drop_file(path)
    return "%d instructions of a vCPU" % insns


RUN = {"hotplug": hotplug, "unplug": unplug}
