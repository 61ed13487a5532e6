# SPDX-License-Identifier: MIT
"""A machine's memory: what it held at first, and each write to it.

memory     each load finds in physical memory what was written there last: in a program, and
           in two vCPUs that boot Debian's kernel, whose disk and network cards write, too; at
           the end memory holds what QEMU's monitor saves; so it does when it is rebuilt by
           tracedump, there and at a place in the middle of the boot
"""
import os
import subprocess
import tempfile
import time

import common
import linux
import machines
import physical
from common import Failure
from monitor import Monitor
from switches import Control

# Memory that is compared at the end: (begin, end)
RANGES = {
    "aarch64-softmmu": [(0x40000000, 0x50000000)],
    "riscv64-softmmu": [(0x80000000, 0x90000000)],
    "x86_64-softmmu": [(0, 0xa0000), (0xc0000, 0x10000000)],
}
NAMES = {target: ["memory"] for target in machines.MACHINES}
# Others than the program write to its memory: a debugger, the processor
OTHERS_WRITE = ("aarch64-softmmu", "armv7m-softmmu", "riscv32-softmmu", "riscv64-softmmu",
                "x86_64-softmmu")
MIDDLE = 100 << 20  # bytes of the trace
OPTIONS = ("--events", "exec,val,phys,dma,ram,io")
DRIVERS = {
    "aarch64-softmmu": "virtio_ring virtio virtio_mmio failover net_failover virtio_net virtio_blk",
    "x86_64-softmmu": "virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci "
                      "failover net_failover virtio_net virtio_blk",
}
# What one card sends the other one gets; a third one is of QEMU's network for users, whose
# answers are late where the guest's clock jumps.
TRAFFIC = """
for m in %s; do busybox insmod /drivers/$m.ko || echo "no driver $m"; done
sha256sum /dev/vda
n=3
for card in eth0 eth1 eth2; do
    case $(cat /sys/class/net/$card/address) in
    *:99) busybox ifconfig $card 10.0.2.15 netmask 255.255.255.0 up ;;
    *) n=$((n + 1)); busybox ifconfig $card 10.0.$n.1 netmask 255.255.255.0 up ;;
    esac
done
busybox ping -c 2 -W 1 10.0.4.2
i=0
until busybox ping -c 1 -W 1 10.0.2.2; do
    i=$((i + 1))
    [ $i -lt 50 ] || { echo "no answer"; break; }
done
busybox dd if=/bin/busybox of=/dev/vda bs=64k 2>/dev/null
busybox dd if=/dev/vda bs=64k count=4 iflag=direct 2>/dev/null | sha256sum
cat /proc/net/dev
"""
DEVICES = {"aarch64-softmmu": ("device", ""), "x86_64-softmmu": ("pci", ",romfile=")}


def drivers(tools, target, names):
    """Modules of the kernel, as files of the archive."""
    top = os.path.join(os.path.dirname(linux.kernel(tools, target)), "..", "lib", "modules")
    found = {}
    for folder, _, files in os.walk(top):
        for name in files:
            found[name] = os.path.join(folder, name)
    for name in names.split():
        with open(found[name + ".ko"], "rb") as f:
            yield "drivers/%s.ko" % name, 0o100644, f.read()


def cards(tools, target):
    if target not in DEVICES:
        return []
    disk = os.path.join(tools.work, "disk-%s.img" % target)
    with open(disk, "wb") as f:
        f.write(bytes(range(256)) * 4096 * 4)
    bus, more = DEVICES[target]
    words = ["-drive", "file=%s,format=raw,if=none,id=d" % disk,
             "-device", "virtio-blk-%s,drive=d,id=disk" % bus]
    for i, net in enumerate(("hubport,hubid=0", "hubport,hubid=0", "user,restrict=on")):
        mac = ",mac=52:54:00:12:34:99" if net.startswith("user") else ""
        words += ["-netdev", "%s,id=n%d" % (net, i),
                  "-device", "virtio-net-%s,netdev=n%d,id=card%d%s%s" % (bus, i, i, mac, more)]
    return words


def save(tools, target, monitor, name):
    """[(address, file with what memory holds from there on)]"""
    images = []
    for begin, end in RANGES[target]:
        image = os.path.join(tools.work, "ram-%s-%s-%x.img" % (target, name, begin))
        monitor.call("pmemsave", val=begin, size=end - begin, filename=image)
        images.append((begin, image))
    return images


def middle(tools, target, trace, recorder, monitor):
    """Stops the machine on its way, and marks where it goes on; returns as save."""
    end = time.monotonic() + common.PATIENCE
    while os.path.getsize(trace) < MIDDLE:
        if recorder.poll() is not None or time.monotonic() > end:
            raise Failure("the trace does not grow")
        time.sleep(0.05)
    monitor.call("stop")
    saved = save(tools, target, monitor, "middle")
    Control(trace + ".ctl").send("mark middle")
    monitor.call("cont")
    return saved


def boot(tools, target):
    """Boots a kernel up to its end; returns the trace and what memory held on the way and then."""
    trace = os.path.join(tools.work, "ram-%s.ctr" % target)
    path = os.path.join(tempfile.mkdtemp(dir=tools.work), "qmp")
    init = linux.INIT
    if target in DRIVERS:
        init = init.replace("echo \"end\"", TRAFFIC % DRIVERS[target] + "echo \"end\"")
    command = linux.command(tools, target, machines.CLOCK, "quiet", init=init,
                            files=drivers(tools, target, DRIVERS.get(target, "")))
    command += ["-no-shutdown", "-qmp", "unix:%s,server=on,wait=off" % path,
                *cards(tools, target)]
    common.remove(trace)
    with tempfile.TemporaryFile() as out:
        recorder = subprocess.Popen([tools.program("cannoli-record"), "-q", "--control", "-o", trace,
                                     *OPTIONS, "--", *command], stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=subprocess.STDOUT)
        try:
            monitor = Monitor(path, recorder)
            moments = [("mark:middle", middle(tools, target, trace, recorder, monitor))]
            monitor.wait("SHUTDOWN")
            moments.append(("end", save(tools, target, monitor, "end")))
            monitor.call("quit")
            recorder.wait(timeout=common.PATIENCE)
        finally:
            recorder.terminate()
            recorder.wait()
        out.seek(0)
        console = out.read()
    if recorder.returncode or b"end\r\n" not in console or b"no driver" in console or b"no answer" in console:
        raise Failure("status %d: %r" % (recorder.returncode, console[-600:]))
    return trace, moments


def follow(tools, trace, *options):
    done = subprocess.run([tools.physical, *options, trace], capture_output=True, text=True,
                          timeout=common.PATIENCE)
    if done.returncode:
        raise Failure(done.stdout.strip() or done.stderr.strip())
    return done.stdout.strip()


def notices(tools, trace, fault):
    """Without one of the writes the check fails: not each one's bytes are loaded."""
    for n in (3 ** i for i in range(12)):
        done = subprocess.run([tools.physical, fault, str(n), trace], capture_output=True, text=True)
        if done.returncode == 1 and ": loads 0x" in done.stdout:
            return
    raise Failure("%s is not noticed: %s" % (fault, done.stdout.strip()))


def memory(tools, target, full):
    """Two of the kernels take a minute each: they are booted in the full run."""
    several = target in ("aarch64-softmmu", "arm-softmmu")
    trace, _, _ = machines.record(tools, target, OPTIONS, ["-smp", "4"] if several else [])
    said = follow(tools, trace)
    notices(tools, trace, "--forget")
    if target in OTHERS_WRITE:
        notices(tools, trace, "--forget-dma")
    common.drop_file(trace)
    if target not in RANGES or not (full or target == "aarch64-softmmu"):
        return said
    trace, moments = boot(tools, target)
    images = moments[-1][1]
    options = [word for begin, image in images for word in ("--image", "%#x:%s" % (begin, image))]
    said += "; kernel: " + follow(tools, trace, *options)
    if full and target in DRIVERS:
        notices(tools, trace, "--forget-dma")
    said += "; rebuilt: %d bytes" % physical.same_pages(tools, trace, moments, 40 if full else 8)
    common.drop_file(trace)
    for _, images in moments:
        for _, image in images:
            common.drop_file(image)
    return said


RUN = {"memory": memory}
